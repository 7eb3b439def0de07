/* What stands in a trace beside the events: the node, sites, modules and unsupported functions. */
#ifndef RF_TRACE_TABLES_H
#define RF_TRACE_TABLES_H

#include <stddef.h>

#include "event.h"
#include "log.h"

struct rf_name {
    char text[sizeof((struct rf_log_name *)0)->function];
};

struct rf_tables {
    struct rf_site *sites;
    struct rf_module *modules;
    struct rf_name *names;
    size_t site_count, module_count, name_count;
};

/* The node's facts as the payload of a chunk, at most RF_NODE_ROOM bytes; returns its length. */
#define RF_NODE_ROOM (sizeof(struct rf_log_node) + 64)
size_t rf_node_write(uint8_t *to, const struct rf_log_node *node);
bool rf_node_read(struct rf_node *node, const uint8_t *payload, size_t bytes);

/* An upper bound of what rf_tables_write() needs. */
size_t rf_tables_room(size_t sites, size_t modules, size_t names);
/* The tables of a log as the payload of a chunk; returns its length. */
size_t rf_tables_write(uint8_t *to, const struct rf_log *log, size_t sites, size_t modules,
                       size_t names);
/* False when the payload cannot be one of ours (or memory is short); `tables` is then empty. */
bool rf_tables_read(struct rf_tables *tables, const uint8_t *payload, size_t bytes);
/* From the header of a log. False at the first record that is not whole; `bad` is its offset. */
bool rf_tables_read_log(struct rf_tables *tables, const struct rf_log *log, size_t *bad);
void rf_tables_free(struct rf_tables *tables);

#endif
