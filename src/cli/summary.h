/* What the files of all ranks say together. */
#ifndef RF_CLI_SUMMARY_H
#define RF_CLI_SUMMARY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "symbols.h"
#include "thread_logs.h"
#include "trace/reader.h"

struct rf_rank_summary {
    int rank;
    bool damaged; /* `error` says where; the counts are those before it */
    struct rf_error error;
    bool kept_damaged; /* not its events, but what was kept besides: `kept` says where */
    struct rf_error kept;
    struct rf_node node; /* all zero when the file could not be opened at all */
    struct rf_ending ending;
    struct rf_site site; /* of the call in flight, or of the last one; without name if none */
    struct rf_module module;
    uint64_t events; /* decisions, as they are counted and numbered everywhere */
    uint64_t played; /* what a replay plays: these and the checks */
    uint64_t bytes, unmatched;
    struct rf_thread_counts threads;
};

struct rf_summary {
    struct rf_rank_summary *ranks;
    size_t count;
    int32_t size; /* how many ranks the program had, as they say themselves */
    bool sparse;  /* they are numbered by the program, with gaps, and nobody knows how many */
    uint64_t events, bytes;
    uint64_t kinds[RF_KINDS];
    size_t damaged;
    char **unsupported; /* names, each once */
    size_t unsupported_count;
};

/* Finds the site of the call in flight or, if there is none, of the last event. */
void rf_rank_stood(struct rf_rank_summary *rank, struct rf_reader *reader, uint32_t last);

/* Reads every rank's file to its end. `manifest`: NULL if it is damaged. Damage is noted, not an
   error; false only when the directory itself cannot be read. */
bool rf_summary_read(const char *directory, const json_t *manifest, struct rf_summary *summary,
                     struct rf_error *error);
/* Reads what was kept besides the events to its end: checksums and contents. `all`: also what no
   replay of the whole job needs. */
void rf_summary_read_kept(struct rf_summary *summary, const char *directory, const json_t *manifest,
                          bool all);
void rf_summary_free(struct rf_summary *summary);

/* The numbers of all ranks that there are or should be, ascending; free() them. */
int *rf_summary_numbers(const struct rf_summary *summary, size_t *count);
/* NULL when the trace has no file of this rank. */
const struct rf_rank_summary *rf_summary_rank(const struct rf_summary *summary, int rank);
/* The first thing that makes the trace unfit for a replay. */
bool rf_summary_whole(const struct rf_summary *summary, const char *directory,
                      struct rf_error *error);
/* The names of unsupported functions, joined by ", "; free() it. */
char *rf_summary_unsupported(const struct rf_summary *summary);
/* The same as a list. */
json_t *rf_summary_unsupported_json(const struct rf_summary *summary);
/* One line per group of ranks that ended alike; each line is preceded by `prefix`. */
void rf_summary_endings(const struct rf_summary *summary, struct rf_symbols *symbols,
                        const char *prefix, FILE *out);
/* How one rank ended, as words that follow "rank 7"; free() it. */
char *rf_ending_text(const struct rf_rank_summary *rank, struct rf_symbols *symbols);
/* What it ended with, as a program's status or a signal: see rf_ending. */
int rf_ending_code(const struct rf_ending *ending);
/* What the threads of all ranks did. */
struct rf_thread_counts rf_summary_threads(const struct rf_summary *summary);
/* ", 5 threads, 123 operations", or "120 of 123 operations" if not all were played, or empty;
   free() it. */
char *rf_summary_threads_text(const struct rf_summary *summary, uint64_t played);
/* Bytes of all files in the trace's directory. */
uint64_t rf_directory_bytes(const char *directory);

#endif
