#include "engine/callsite.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/session.h"

struct search {
    uintptr_t address;
    uintptr_t base;
    struct rf_module *module;
    bool found;
};

static void copy_build_id(const uint8_t *notes, size_t size, struct rf_module *module) {
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) header;
        memcpy(&header, notes, sizeof header);
        size_t name = (header.n_namesz + 3u) & ~3u;
        size_t description = (header.n_descsz + 3u) & ~3u;
        size_t whole = sizeof header + name + description;
        if (whole > size)
            return;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
            memcmp(notes + sizeof header, "GNU", 4) == 0) {
            size_t length = header.n_descsz;
            if (length > sizeof module->build_id)
                length = sizeof module->build_id;
            memcpy(module->build_id, notes + sizeof header + name, length);
            module->build_id_length = (uint8_t)length;
            return;
        }
        notes += whole;
        size -= whole;
    }
}

/* Threads of the program may have small stacks, and in the heap detectors of data races would see
   what one thread frees and another one gets. */
static __attribute__((noinline)) void copy_path(const char *name, struct rf_module *module) {
    char resolved[PATH_MAX];
    if (!name || !*name) /* the program itself */
        name = "/proc/self/exe";
    snprintf(module->path, sizeof module->path, "%.255s",
             realpath(name, resolved) ? resolved : name);
}

static int visit(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct search *search = data;
    bool inside = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        inside = inside || (header->p_type == PT_LOAD && search->address >= start &&
                            search->address - start < header->p_memsz);
    }
    if (!inside)
        return 0;
    search->found = true;
    search->base = info->dlpi_addr;
    copy_path(info->dlpi_name, search->module);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_NOTE && !search->module->build_id_length)
            copy_build_id((const uint8_t *)(info->dlpi_addr + header->p_vaddr), header->p_memsz,
                          search->module);
    }
    return 1;
}

/* A call that comes from the library's own code is the library talking to itself. The language
   bindings (libmpi_mpifh, libmpichfort …) speak for the program and do not count. */
static bool is_internal(const char *path) {
    static const char *const prefixes[] = {
        "libmpi.so", "libmpich.so", "libopen-pal.so", "libopen-rte.", "mca_", "librefrain-",
        "libmcapi.so",
        /* the unwinder, for threads that are cancelled */
        "libgcc_s.so",
        /* what MPI libraries are made of */
        "libpmix.so", "libucm.so", "libucp.so", "libucs.so", "libuct.so", "libuct_", "libucm_",
        "libucx_", "libucs_", "libfabric.so", "libhwloc.so", "libevent", "libpsm", "libibverbs.so",
        "librdmacm.so", "libnl-", "libmunge.so",
        /* what hwloc looks for graphics cards with, in a process that nobody tells of the machine
         */
        "hwloc_", "libOpenCL.so", "libMesaOpenCL.so", "libpocl", "libLLVM", "libclang-cpp.so",
        "libcuda.so", "libnvidia-", "libXNVCtrl.so"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void look_up(uintptr_t address, struct rf_address *entry) {
    struct search search = {.address = address, .module = &entry->module};
    int before = errno; /* of a call that is being recorded */
    dl_iterate_phdr(visit, &search);
    errno = before;
    entry->address = address;
    entry->offset = address - search.base;
    entry->found = search.found;
    entry->internal = search.found && is_internal(entry->module.path);
}

/* Threads may ask at the same time, so what was answered once is never changed. */
const struct rf_address *rf_address_of(uintptr_t address) {
    static const struct rf_address *known[256];
    static const struct rf_address nowhere;
    const struct rf_address **bucket = &known[address * 0x9e3779b97f4a7c15u >> 56];
    const struct rf_address *first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    for (const struct rf_address *entry = first; entry; entry = entry->next)
        if (entry->address == address)
            return entry;
    struct rf_address *entry = calloc(1, sizeof *entry);
    if (!entry)
        return &nowhere;
    look_up(address, entry);
    entry->next = first;
    while (!__atomic_compare_exchange_n(bucket, &entry->next, entry, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
        ;
    return entry;
}

static bool same_module(const struct rf_module *one, const struct rf_module *other) {
    if (one->build_id_length || other->build_id_length)
        return one->build_id_length == other->build_id_length &&
               memcmp(one->build_id, other->build_id, one->build_id_length) == 0;
    return strcmp(one->path, other->path) == 0;
}

/* Replay: the recorded number of a site, if the module is the very one that was recorded. */
static uint32_t find_recorded(const struct rf_reader *reader, const char *name,
                              const struct rf_module *module, uint64_t offset) {
    bool known = false;
    for (uint32_t i = 1; i < rf_reader_site_count(reader); i++) {
        const struct rf_site *site = rf_reader_site(reader, i);
        const struct rf_module *recorded = rf_reader_module(reader, site->module);
        if (!recorded || !same_module(recorded, module))
            continue;
        known = true;
        if (site->offset == offset && strcmp(site->function, name) == 0)
            return i;
    }
    return known ? RF_SITE_FRESH : RF_SITE_ANY;
}

static uint32_t learn(struct rf_session *session, uintptr_t address, uint32_t function,
                      const char *name) {
    /* Two addresses that fall into one slot of the table would take turns in it; a second look at
       the neighbours keeps their numbers, and only a new site goes through the linker's tables. */
    struct rf_callsites *sites = &session->sites;
    uint64_t key = rf_callsite_key(address, function);
    uint32_t first = rf_callsite_slot(key);
    struct rf_callsite *slot = NULL;
    for (uint32_t i = 0; i < 64 && !slot; i++) {
        struct rf_callsite *candidate = &sites->slots[(first + i) % RF_CALLSITE_SLOTS];
        if (candidate->key == key)
            return candidate->site;
        if (!candidate->key)
            slot = candidate;
    }
    /* Without room the site is "elsewhere", which is never compared: a second number for one place
       would look like two places. */
    if (!slot && rf_mode_records(session->mode))
        return 0;
    const struct rf_address *where = rf_address_of(address);
    struct rf_site site = {.number = (uint16_t)function, .offset = where->offset};
    strncpy(site.function, name, sizeof site.function - 1);
    uint32_t number = RF_SITE_ANY;
    if (rf_mode_records(session->mode))
        number = rf_recorder_site(&session->recorder, &site, &where->module);
    else if (where->found)
        number = find_recorded(session->replayer.reader, name, &where->module, site.offset);
    if (slot) {
        slot->site = number;
        __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
    }
    return number;
}

/* Two threads that come to one place at the same time must not give it two numbers. */
uint32_t rf_callsite_learn(struct rf_session *session, uintptr_t address, uint32_t function,
                           const char *name) {
    if (!session->concurrent)
        return learn(session, address, function, name);
    rf_lock(&session->sites.lock);
    uint32_t number = learn(session, address, function, name);
    rf_unlock(&session->sites.lock);
    return number;
}
