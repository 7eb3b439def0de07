#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

static Elf_Scn *find_symbols(Elf *elf, GElf_Shdr *header) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, header) && header->sh_type == SHT_SYMTAB)
            return section;
    return NULL;
}

/* What a symbol is to us: the place of an undefined function, or that plus the number of all if it
   is renamed, or -1. */
static int undefined_place(Elf *elf, const GElf_Shdr *table, const GElf_Sym *symbol) {
    const char *name = elf_strptr(elf, table->sh_link, symbol->st_name);
    if (!name || symbol->st_shndx != SHN_UNDEF)
        return -1;
    bool renamed = rf_starts_with(name, RF_RENAMED_PREFIX);
    size_t place = rf_mcapi_find(renamed ? name + strlen(RF_RENAMED_PREFIX) : name);
    if (place == RF_MCAPI_NAMES)
        return -1;
    return (int)(renamed ? place + RF_MCAPI_NAMES : place);
}

static void look_at_symbols(Elf *elf, Elf_Data *symbols, const GElf_Shdr *table,
                            struct rf_object_facts *facts) {
    size_t count = table->sh_entsize ? table->sh_size / table->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(symbols, (int)i, &symbol))
            continue;
        int place = undefined_place(elf, table, &symbol);
        if (place >= 0 && (size_t)place < RF_MCAPI_NAMES)
            facts->called[place] = true;
        const char *name = elf_strptr(elf, table->sh_link, symbol.st_name);
        if (!name || symbol.st_shndx == SHN_UNDEF || GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
            continue;
        size_t own = rf_mcapi_find(name);
        if (own < RF_MCAPI_NAMES)
            facts->defined = rf_mcapi_names[own];
        facts->defines_renamed = facts->defines_renamed ||
                                 (rf_starts_with(name, RF_RENAMED_PREFIX) &&
                                  rf_mcapi_find(name + strlen(RF_RENAMED_PREFIX)) < RF_MCAPI_NAMES);
    }
}

static uint64_t symbol_of(Elf_Data *data, const GElf_Shdr *header, size_t i) {
    GElf_Rela with;
    GElf_Rel without;
    if (header->sh_type == SHT_RELA)
        return gelf_getrela(data, (int)i, &with) ? GELF_R_SYM(with.r_info) : 0;
    return gelf_getrel(data, (int)i, &without) ? GELF_R_SYM(without.r_info) : 0;
}

static void count_references(Elf *elf, Elf_Data *symbols, const GElf_Shdr *table,
                             struct rf_object_facts *facts) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header, target;
        if (!gelf_getshdr(section, &header) ||
            (header.sh_type != SHT_RELA && header.sh_type != SHT_REL) || !header.sh_entsize ||
            !gelf_getshdr(elf_getscn(elf, header.sh_info), &target) ||
            !(target.sh_flags & SHF_ALLOC)) /* debug information refers to them as well */
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (size_t i = 0; data && i < header.sh_size / header.sh_entsize; i++) {
            GElf_Sym symbol;
            if (!gelf_getsym(symbols, (int)symbol_of(data, &header, i), &symbol))
                continue;
            int place = undefined_place(elf, table, &symbol);
            if (place >= RF_MCAPI_NAMES)
                facts->renamed++;
            else if (place >= 0)
                facts->calls++;
        }
    }
}

/* Link-time optimisation leaves the calls in a form that only the compiler reads. */
static bool is_for_lto(Elf *elf) {
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && rf_starts_with(name, ".gnu.lto_"))
            return true;
    }
    return false;
}

static bool look_at(const char *path, Elf *elf, struct rf_object_facts *facts,
                    struct rf_error *error) {
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header))
        return rf_fail(error, RF_EXIT_USAGE, "%s: damaged: %s", path, elf_errmsg(-1));
    if (header.e_type != ET_REL) {
        rf_fail(error, RF_EXIT_USAGE,
                "%s: is linked already: calls are renamed in objects and archives", path);
        return rf_hint(error, "refrain instrument --help");
    }
    if (is_for_lto(elf)) {
        rf_fail(error, RF_EXIT_USAGE,
                "%s: was compiled for link-time optimisation: its calls cannot be renamed", path);
        return rf_hint(error, "refrain instrument -- cc -flto -c ...");
    }
    GElf_Shdr table;
    Elf_Scn *section = find_symbols(elf, &table);
    Elf_Data *symbols = section ? elf_getdata(section, NULL) : NULL;
    if (symbols) {
        look_at_symbols(elf, symbols, &table, facts);
        count_references(elf, symbols, &table, facts);
    }
    facts->members++;
    return true;
}

static bool look_at_members(const char *path, int file, Elf *archive, struct rf_object_facts *facts,
                            struct rf_error *error) {
    bool good = true;
    Elf_Cmd next = ELF_C_READ;
    for (Elf *member; good && (member = elf_begin(file, next, archive));) {
        if (elf_kind(member) == ELF_K_ELF)
            good = look_at(path, member, facts, error);
        next = elf_next(member);
        elf_end(member);
    }
    return good;
}

static bool is_thin(int file) {
    char magic[8];
    return pread(file, magic, sizeof magic, 0) == sizeof magic &&
           memcmp(magic, "!<thin>\n", sizeof magic) == 0;
}

bool rf_object_facts(const char *path, struct rf_object_facts *facts, struct rf_error *error) {
    *facts = (struct rf_object_facts){0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0)
        return rf_fail(error, RF_EXIT_USAGE, "%s: %s", path, strerror(errno));
    bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    elf_version(EV_CURRENT);
    Elf *elf = regular ? elf_begin(file, ELF_C_READ, NULL) : NULL;
    Elf_Kind kind = elf ? elf_kind(elf) : ELF_K_NONE;
    bool good;
    if (is_thin(file)) {
        good = rf_fail(error, RF_EXIT_USAGE,
                       "%s: is a thin archive, which only names its objects: give those", path);
    } else if (kind == ELF_K_ELF) {
        good = look_at(path, elf, facts, error);
    } else if (kind == ELF_K_AR) {
        facts->archive = true;
        good = look_at_members(path, file, elf, facts, error);
    } else {
        good = rf_fail(error, RF_EXIT_USAGE, "%s: is no object file and no archive", path);
    }
    elf_end(elf);
    close(file);
    for (size_t i = 0; i < RF_MCAPI_NAMES; i++)
        facts->functions += facts->called[i];
    return good;
}
