#include "tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "varint.h"

size_t rf_tables_room(size_t sites, size_t modules, size_t names) {
    return 3 * RF_VARINT_BYTES + sites * (sizeof(struct rf_log_site) + 4 * RF_VARINT_BYTES) +
           modules * (sizeof(struct rf_log_module) + RF_VARINT_BYTES) +
           names * (sizeof(struct rf_log_name) + RF_VARINT_BYTES);
}

static uint8_t *put_text(uint8_t *at, const char *text, size_t limit) {
    size_t length = strnlen(text, limit - 1);
    at = rf_varint_put(at, length);
    memcpy(at, text, length);
    return at + length;
}

size_t rf_node_write(uint8_t *to, const struct rf_log_node *node) {
    uint8_t *at = rf_varint_put(to, (uint32_t)node->rank);
    at = rf_varint_put(at, (uint32_t)node->size);
    at = rf_varint_put(at, (uint32_t)node->thread_level);
    at = rf_varint_put(at, (uint32_t)node->pid);
    at = rf_varint_put(at, (uint64_t)node->started_ns);
    at = put_text(at, node->host, sizeof node->host);
    at = put_text(at, node->adapter, sizeof node->adapter);
    at = put_text(at, node->library, sizeof node->library);
    return (size_t)(put_text(at, node->scheme, sizeof node->scheme) - to);
}

size_t rf_tables_write(uint8_t *to, const struct rf_log *log, size_t sites, size_t modules,
                       size_t names) {
    uint8_t *at = rf_varint_put(to, modules - 1);
    for (size_t i = 1; i < modules; i++) {
        const struct rf_log_module *module = &log->modules[i];
        at = put_text(at, module->path, sizeof module->path);
        at = rf_varint_put(at, module->build_id_length);
        memcpy(at, module->build_id, module->build_id_length);
        at += module->build_id_length;
    }
    at = rf_varint_put(at, sites - 1);
    for (size_t i = 1; i < sites; i++) {
        const struct rf_log_site *site = &log->sites[i];
        at = put_text(at, site->function, sizeof site->function);
        at = rf_varint_put(at, site->number);
        at = rf_varint_put(at, site->module);
        at = rf_varint_put(at, site->offset);
    }
    at = rf_varint_put(at, names);
    for (size_t i = 0; i < names; i++)
        at = put_text(at, log->names[i].function, sizeof log->names[i].function);
    return (size_t)(at - to);
}

static bool get_text(const uint8_t **at, const uint8_t *end, char *text, size_t room) {
    uint64_t length;
    if (!rf_varint_get(at, end, &length) || length >= room || length > (size_t)(end - *at))
        return false;
    memcpy(text, *at, length);
    text[length] = 0;
    *at += length;
    return true;
}

bool rf_node_read(struct rf_node *node, const uint8_t *payload, size_t bytes) {
    const uint8_t *at = payload, *end = payload + bytes;
    uint64_t numbers[5];
    for (int i = 0; i < 5; i++)
        if (!rf_varint_get(&at, end, &numbers[i]) || (i < 4 && numbers[i] > UINT32_MAX))
            return false;
    *node = (struct rf_node){.rank = (int32_t)numbers[0],
                             .size = (int32_t)numbers[1],
                             .thread_level = (int32_t)numbers[2],
                             .pid = (int32_t)numbers[3],
                             .started_ns = (int64_t)numbers[4]};
    return get_text(&at, end, node->host, sizeof node->host) &&
           get_text(&at, end, node->adapter, sizeof node->adapter) &&
           get_text(&at, end, node->library, sizeof node->library) &&
           get_text(&at, end, node->scheme, sizeof node->scheme) && at == end;
}

static bool get_module(const uint8_t **at, const uint8_t *end, struct rf_module *module) {
    uint64_t length;
    if (!get_text(at, end, module->path, sizeof module->path) || !rf_varint_get(at, end, &length) ||
        length > sizeof module->build_id || length > (size_t)(end - *at))
        return false;
    memcpy(module->build_id, *at, length);
    module->build_id_length = (uint8_t)length;
    *at += length;
    return true;
}

static bool get_site(const uint8_t **at, const uint8_t *end, struct rf_site *site) {
    uint64_t number, module;
    if (!get_text(at, end, site->function, sizeof site->function) ||
        !rf_varint_get(at, end, &number) || number > UINT16_MAX ||
        !rf_varint_get(at, end, &module) || module > UINT16_MAX ||
        !rf_varint_get(at, end, &site->offset))
        return false;
    site->number = (uint16_t)number;
    site->module = (uint16_t)module;
    return true;
}

/* Counts are checked against the log's capacities before anything is allocated. */
static bool allocate(struct rf_tables *tables, size_t sites, size_t modules, size_t names) {
    tables->sites = calloc(sites + 1, sizeof *tables->sites);
    tables->modules = calloc(modules + 1, sizeof *tables->modules);
    tables->names = calloc(names + 1, sizeof *tables->names);
    return tables->sites && tables->modules && tables->names;
}

static bool read_all(struct rf_tables *tables, const uint8_t *at, const uint8_t *end) {
    uint64_t modules, sites, names;
    /* Every record takes a byte at least, so there is no need for more records than bytes. */
    size_t bytes = (size_t)(end - at);
    if (!allocate(tables, bytes < RF_MAX_SITES ? bytes : RF_MAX_SITES,
                  bytes < RF_LOG_MODULES ? bytes : RF_LOG_MODULES,
                  bytes < RF_LOG_NAMES ? bytes : RF_LOG_NAMES))
        return false;
    if (!rf_varint_get(&at, end, &modules) || modules >= RF_LOG_MODULES)
        return false;
    for (tables->module_count = 1; tables->module_count <= modules; tables->module_count++)
        if (!get_module(&at, end, &tables->modules[tables->module_count]))
            return false;
    if (!rf_varint_get(&at, end, &sites) || sites >= RF_MAX_SITES)
        return false;
    snprintf(tables->sites[0].function, sizeof tables->sites[0].function, RF_ELSEWHERE);
    for (tables->site_count = 1; tables->site_count <= sites; tables->site_count++)
        if (!get_site(&at, end, &tables->sites[tables->site_count]))
            return false;
    if (!rf_varint_get(&at, end, &names) || names > RF_LOG_NAMES)
        return false;
    for (; tables->name_count < names; tables->name_count++) {
        struct rf_name *name = &tables->names[tables->name_count];
        if (!get_text(&at, end, name->text, sizeof name->text))
            return false;
    }
    return at == end;
}

bool rf_tables_read(struct rf_tables *tables, const uint8_t *payload, size_t bytes) {
    memset(tables, 0, sizeof *tables);
    if (read_all(tables, payload, payload + bytes))
        return true;
    rf_tables_free(tables);
    return false;
}

static bool read_count(uint64_t word, uint64_t limit, size_t *count) {
    uint64_t value;
    if (!rf_unseal(word, &value) || value > limit)
        return false;
    *count = value;
    return true;
}

static bool read_records(struct rf_tables *tables, const struct rf_log *log, size_t sites,
                         size_t modules, size_t names, size_t *bad) {
    for (uint32_t i = 0; i < modules; i++) {
        const struct rf_log_module *from = &log->modules[i];
        struct rf_module *to = &tables->modules[i];
        *bad = (size_t)((const char *)from - (const char *)log);
        if (from->check != rf_log_module_check(from, i) ||
            from->build_id_length > sizeof to->build_id)
            return false;
        memcpy(to->path, from->path, sizeof to->path);
        to->path[sizeof to->path - 1] = 0;
        memcpy(to->build_id, from->build_id, sizeof to->build_id);
        to->build_id_length = from->build_id_length;
        tables->module_count++;
    }
    for (uint32_t i = 0; i < sites; i++) {
        const struct rf_log_site *from = &log->sites[i];
        struct rf_site *to = &tables->sites[i];
        *bad = (size_t)((const char *)from - (const char *)log);
        if (from->check != rf_log_site_check(from, i))
            return false;
        memcpy(to->function, from->function, sizeof to->function);
        to->function[sizeof to->function - 1] = 0;
        to->number = from->number;
        to->module = from->module;
        to->offset = from->offset;
        tables->site_count++;
    }
    for (uint32_t i = 0; i < names; i++) {
        const struct rf_log_name *from = &log->names[i];
        *bad = (size_t)((const char *)from - (const char *)log);
        if (from->check != rf_log_name_check(from, i))
            return false;
        memcpy(tables->names[i].text, from->function, sizeof from->function);
        tables->names[i].text[sizeof from->function - 1] = 0;
        tables->name_count++;
    }
    return true;
}

bool rf_tables_read_log(struct rf_tables *tables, const struct rf_log *log, size_t *bad) {
    size_t sites, modules, names;
    memset(tables, 0, sizeof *tables);
    *bad = offsetof(struct rf_log, site_count);
    if (!read_count(log->site_count, RF_MAX_SITES, &sites) ||
        !read_count(log->module_count, RF_LOG_MODULES, &modules) ||
        !read_count(log->name_count, RF_LOG_NAMES, &names))
        return false;
    return allocate(tables, sites, modules, names) &&
           read_records(tables, log, sites, modules, names, bad);
}

void rf_tables_free(struct rf_tables *tables) {
    free(tables->sites);
    free(tables->modules);
    free(tables->names);
    memset(tables, 0, sizeof *tables);
}
