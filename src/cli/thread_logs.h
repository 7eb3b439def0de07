/* What the thread logs of a trace hold, for people. */
#ifndef RF_CLI_THREAD_LOGS_H
#define RF_CLI_THREAD_LOGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbols.h"
#include "trace/thread_reader.h"

struct rf_thread_counts {
    bool exists, stopped;
    uint32_t threads;
    uint64_t operations;              /* of all of them */
    uint64_t turns, failures, values; /* what is written of these */
    uint64_t bytes;
    enum rf_thread_order order;
    uint32_t unseen; /* enum rf_thread_log_unseen */
};

/* Should there be a log of this rank, as the manifest says, and is none? */
bool rf_thread_log_missing(const char *directory, const json_t *manifest, int rank,
                           struct rf_error *error);
/* Reads the log to its end. True if it is whole, or there is none. */
bool rf_thread_counts(const char *directory, int rank, struct rf_thread_counts *counts,
                      struct rf_error *error);
/* The module with this path, as it was recorded. */
bool rf_thread_log_find(const char *directory, int rank, const char *path,
                        struct rf_module *module);
/* As the option has them: "edges", "rolt" ... */
const char *rf_thread_order_name(enum rf_thread_order order);
/* "pthread_mutex_lock" */
const char *rf_thread_operation(uint32_t number);

/* Prints the entries, at most `limit` of each thread; checks only with `all`. */
bool rf_thread_dump(const char *directory, int rank, struct rf_symbols *symbols, uint64_t limit,
                    bool all, bool json, struct rf_error *error);

/* Once its process is gone: the log gets its checksums, and its file is as short as it can be. */
void rf_thread_log_tidy(const char *directory, int rank);

#endif
