#include "elf_facts.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mcapi/note.h"

/* The sonames of the libraries whose binary interface our adapters are built for. */
static const struct {
    const char *soname, *mpi;
} libraries[] = {
    {"libmpi.so.40", "openmpi"},
    {"libmpi_mpifh.so.40", "openmpi"},
    {"libmpi_usempif08.so.40", "openmpi"},
    {"libmpi_cxx.so.40", "openmpi"},
    {"libmpich.so.12", "mpich"},
    {"libmpi.so.12", "mpich"},
    {"libmpichfort.so.12", "mpich"},
    {"libmpifort.so.12", "mpich"},
    {"libmpichcxx.so.12", "mpich"},
    {"libmpicxx.so.12", "mpich"},
    {"libmcapi.so.2", "mcapi"},
};

static void look_at_needed(const char *name, struct rf_elf_facts *facts) {
    facts->openmp = facts->openmp || strcmp(name, "libgomp.so.1") == 0;
    facts->other_openmp = facts->other_openmp || strncmp(name, "libomp", strlen("libomp")) == 0 ||
                          strncmp(name, "libiomp5", strlen("libiomp5")) == 0;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && !facts->mpi; i++)
        if (strcmp(name, libraries[i].soname) == 0) {
            facts->mpi = libraries[i].mpi;
            snprintf(facts->library, sizeof facts->library, "%s", name);
        }
}

static void look_at_dynamic(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                            struct rf_elf_facts *facts) {
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Dyn entry;
        if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag != DT_NEEDED)
            continue;
        const char *name = elf_strptr(elf, header->sh_link, entry.d_un.d_val);
        if (name)
            look_at_needed(name, facts);
    }
}

static void look_at_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                            struct rf_elf_facts *facts) {
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            continue;
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        /* Called by all that is built so, wherever it comes from. */
        if (name && strcmp(name, "__tsan_init") == 0) {
            facts->tsan = true;
            facts->embeds_tsan = facts->embeds_tsan || symbol.st_shndx != SHN_UNDEF;
        }
        facts->calls_mcapi =
            facts->calls_mcapi || (name && strcmp(name, "mcapi_endpoint_create") == 0);
        if (symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
            continue;
        facts->embeds_mpi = facts->embeds_mpi || (name && strcmp(name, "PMPI_Init") == 0);
        facts->defines_renamed =
            facts->defines_renamed || (name && strcmp(name, "refrain_mcapi_initialize") == 0);
        facts->embeds_mcapi =
            facts->embeds_mcapi || (name && strcmp(name, "mcapi_initialize") == 0);
    }
}

/* Segments, not sections: these are there in any program that can be run. */
static void look_at_notes(Elf *elf, const GElf_Phdr *header, struct rf_elf_facts *facts) {
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz,
                                          header->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    size_t name, description;
    for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &description)) > 0;)
        if (note.n_type == RF_NOTE_ADAPTER && note.n_namesz == sizeof RF_NOTE_NAME &&
            memcmp((const char *)data->d_buf + name, RF_NOTE_NAME, sizeof RF_NOTE_NAME) == 0)
            facts->instrumented = true;
}

bool rf_elf_facts(const char *path, struct rf_elf_facts *facts) {
    *facts = (struct rf_elf_facts){0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
    bool good = elf && elf_kind(elf) == ELF_K_ELF;
    size_t segments = 0;
    if (good)
        elf_getphdrnum(elf, &segments);
    for (size_t i = 0; i < segments; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header))
            continue;
        if (header.p_type == PT_INTERP)
            facts->dynamic = true;
        else if (header.p_type == PT_NOTE)
            look_at_notes(elf, &header, facts);
    }
    for (Elf_Scn *section = NULL; good && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        if (header.sh_type == SHT_DYNAMIC)
            look_at_dynamic(elf, section, &header, facts);
        else if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
            look_at_symbols(elf, section, &header, facts);
    }
    if (facts->instrumented) {
        facts->mpi = "mcapi";
        snprintf(facts->library, sizeof facts->library, "Refrain's adapter for MCAPI");
    }
    elf_end(elf);
    close(file);
    return good;
}

unsigned rf_elf_build_id(const char *path, uint8_t id[20]) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
    const void *found = NULL;
    ssize_t length = elf ? dwelf_elf_gnu_build_id(elf, &found) : -1;
    if (length < 0)
        length = 0;
    if (length > 20)
        length = 20;
    if (length > 0)
        memcpy(id, found, (size_t)length);
    elf_end(elf);
    close(file);
    return (unsigned)length;
}
