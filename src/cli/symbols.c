#include "symbols.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* One opened module, as one recording or the running program has it. Its lines are looked up once
   per offset by the callers' own good sense: traces have few sites, and libdw keeps the line table
   decoded. */
struct opened {
    struct rf_module wanted;
    Dwfl *session;
    Dwfl_Module *module; /* NULL: cannot be read, or is another build */
    GElf_Addr bias;
    GElf_Addr lowest; /* address of the first segment, for programs that do not move */
};

struct rf_symbols {
    struct opened *list;
    size_t count;
};

struct rf_symbols *rf_symbols_new(void) {
    return rf_allocate(1, sizeof(struct rf_symbols));
}

void rf_symbols_free(struct rf_symbols *symbols) {
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->count; i++)
        if (symbols->list[i].session)
            dwfl_end(symbols->list[i].session);
    free(symbols->list);
    free(symbols);
}

static bool same_build(Dwfl_Module *module, const struct rf_module *recorded) {
    const unsigned char *bits = NULL;
    GElf_Addr where;
    int length = dwfl_module_build_id(module, &bits, &where);
    if (recorded->build_id_length == 0 || length <= 0)
        return true;
    return length >= recorded->build_id_length &&
           memcmp(bits, recorded->build_id, recorded->build_id_length) == 0;
}

static void open_module(struct opened *opened, const struct rf_module *recorded) {
    static char *debug_path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debug_path,
    };
    *opened = (struct opened){0};
    opened->wanted = *recorded;
    if (!recorded->path[0] || !(opened->session = dwfl_begin(&callbacks)))
        return;
    dwfl_report_begin(opened->session);
    Dwfl_Module *module = dwfl_report_offline(opened->session, "", recorded->path, -1);
    dwfl_report_end(opened->session, NULL, NULL);
    if (!module || !same_build(module, recorded))
        return;
    Elf *elf = dwfl_module_getelf(module, &opened->bias);
    GElf_Ehdr header;
    size_t segments = 0;
    if (!elf || !gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &segments) != 0)
        return;
    opened->module = module;
    for (size_t i = 0; header.e_type == ET_EXEC && i < segments; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD) {
            opened->lowest = segment.p_vaddr;
            break;
        }
    }
}

static struct opened *find(struct rf_symbols *symbols, const struct rf_module *module) {
    for (size_t i = 0; i < symbols->count; i++)
        if (strcmp(symbols->list[i].wanted.path, module->path) == 0 &&
            symbols->list[i].wanted.build_id_length == module->build_id_length &&
            memcmp(symbols->list[i].wanted.build_id, module->build_id, module->build_id_length) ==
                0)
            return &symbols->list[i];
    symbols->list = rf_grow(symbols->list, symbols->count, sizeof *symbols->list);
    struct opened *opened = &symbols->list[symbols->count++];
    open_module(opened, module);
    return opened;
}

static char *find_place(struct rf_symbols *symbols, const struct rf_module *module,
                        uint64_t offset) {
    if (!module || !module->path[0])
        return rf_copy("?");
    struct opened *opened = find(symbols, module);
    if (opened->module && offset > 0) {
        /* One back from the return address, to be inside the call. */
        GElf_Addr address = opened->bias + offset - 1;
        if (offset < opened->lowest)
            address += opened->lowest;
        int number = 0;
        Dwfl_Line *line = dwfl_module_getsrc(opened->module, address);
        const char *file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
        if (file && number > 0)
            return rf_text("%s:%d", rf_base_name(file), number);
        GElf_Off into = 0;
        GElf_Sym symbol;
        const char *name =
            dwfl_module_addrinfo(opened->module, address, &into, &symbol, NULL, NULL, NULL);
        if (name)
            return rf_text("%s+0x%" PRIx64, name, (uint64_t)into + 1);
    }
    return rf_text("%s+0x%" PRIx64, rf_base_name(module->path), offset);
}

const char *rf_symbols_place(struct rf_symbols *symbols, const struct rf_module *module,
                             uint64_t offset, char text[RF_PLACE_TEXT]) {
    char *place = find_place(symbols, module, offset), *shown = rf_plain(place);
    snprintf(text, RF_PLACE_TEXT, "%s", shown);
    free(shown);
    free(place);
    return text;
}
