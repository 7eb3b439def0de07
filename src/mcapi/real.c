#include "mcapi/real.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mcapi/note.h"
#include "trace/error.h"

struct rf_real rf_reals;
int rf_reals_ready;

static void *find(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

/* Not every library has all functions, nor does every program need them. If one is called all the
   same nothing can go on, and nobody could say what was recorded. */
static _Noreturn void miss(const char *name) {
    fprintf(stderr, "refrain: the MCAPI library of this program has no %s\n", name);
    _exit(RF_EXIT_ENVIRONMENT);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define RF_FUNCTION(result, name, parameters, arguments)                                           \
    static result missing_##name parameters {                                                      \
        miss("mcapi_" #name);                                                                      \
    }
#include "mcapi/functions.def"
#undef RF_FUNCTION
#pragma GCC diagnostic pop

static mcapi_domain_t missing_domain_id_get(mcapi_status_t *status) {
    (void)status;
    miss("mcapi_domain_id_get");
}

static mcapi_node_t missing_node_id_get(mcapi_status_t *status) {
    (void)status;
    miss("mcapi_node_id_get");
}

#define RF_SET(field, address)                                                                     \
    do {                                                                                           \
        void *function = address;                                                                  \
        memcpy(&rf_reals.field, &function, sizeof function);                                       \
    } while (0)

/* Several threads may do it at once: each is set to what it will be. */
#define RF_SET_OR_MISS(field)                                                                      \
    do {                                                                                           \
        if (find("mcapi_" #field))                                                                 \
            RF_SET(field, find("mcapi_" #field));                                                  \
        else                                                                                       \
            rf_reals.field = missing_##field;                                                      \
    } while (0)

void rf_reals_find(void) {
#define RF_FUNCTION(result, name, parameters, arguments) RF_SET_OR_MISS(name);
#include "mcapi/functions.def"
#undef RF_FUNCTION
    rf_reals.attributes = find("mcapi_endpoint_get_attribute") != NULL;
    RF_SET_OR_MISS(domain_id_get);
    RF_SET_OR_MISS(node_id_get);
    RF_SET(watch_sends, find("mcapix_watch_sends"));
    RF_SET(origin, find("mcapix_origin"));
    RF_SET(stamp_matches, find("mcapix_stamp_matches"));
    RF_SET(endpoint_name, find("mcapix_endpoint_name"));
    RF_SET(life, find("mcapix_life"));
    RF_SET(lives, find("mcapix_lives"));
    RF_SET(taken, find("mcapix_taken"));
    RF_SET(requests, find("mcapix_requests"));
    RF_SET(expect, find("mcapix_expect"));
    RF_SET(expect_all, find("mcapix_expect_all"));
    RF_SET(retire, find("mcapix_node_retire"));
    __atomic_store_n(&rf_reals_ready, 1, __ATOMIC_RELEASE);
}

/* ---- is it linked into the program as well? ---- */

static bool has_mark(const uint8_t *notes, size_t size) {
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) header;
        memcpy(&header, notes, sizeof header);
        size_t name = (header.n_namesz + 3u) & ~3u;
        size_t whole = sizeof header + name + ((header.n_descsz + 3u) & ~3u);
        if (whole > size)
            return false;
        if (header.n_type == RF_NOTE_ADAPTER && header.n_namesz == sizeof RF_NOTE_NAME &&
            memcmp(notes + sizeof header, RF_NOTE_NAME, sizeof RF_NOTE_NAME) == 0)
            return true;
        notes += whole;
        size -= whole;
    }
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && !*(bool *)found; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_NOTE)
            *(bool *)found =
                has_mark((const uint8_t *)(info->dlpi_addr + header->p_vaddr), header->p_memsz);
    }
    return *(bool *)found;
}

bool rf_stands_back(void) {
    bool found = false;
    dl_iterate_phdr(visit, &found);
    return found;
}
