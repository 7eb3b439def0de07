/* manifest.json: the facts about a recording that belong to no rank in particular. */
#ifndef RF_CLI_MANIFEST_H
#define RF_CLI_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>

#include "trace/error.h"

#define RF_MANIFEST_FORMAT 1

/* A manifest is kept as the JSON object that it is on disk:
     format, refrain, state ("recording", "complete"), command, directory, environment,
     mpi {name, version}, scheme, started (ISO 8601, UTC), if asked for check, threads, values and
   fill, and once complete: ranks, hosts, duration (seconds), status, launcher_status, and
   thread_logs (the ranks that have one), if there are any. */
json_t *rf_manifest_new(char *const *command, const char *mpi, const char *scheme);

/* Replaces DIR/manifest.json as a whole: a reader sees the old or the new one. */
bool rf_manifest_save(json_t *manifest, const char *directory, struct rf_error *error);
/* Reads and checks it: every member that others rely on is there and of the right type. NULL if it
   cannot be used; `damaged` (may be NULL) tells that it is there, and no good. */
json_t *rf_manifest_load(const char *directory, bool *damaged, struct rf_error *error);

/* Members, never NULL for a loaded manifest. */
const char *rf_manifest_text(const json_t *manifest, const char *name)
    __attribute__((returns_nonnull));
const char *rf_manifest_mpi(const json_t *manifest) __attribute__((returns_nonnull));
/* The recorded command, in new memory. */
char **rf_manifest_command(const json_t *manifest);
void rf_manifest_free_command(char **command);
/* Where it ran; free() it. */
char *rf_manifest_directory(const json_t *manifest) __attribute__((returns_nonnull));
bool rf_manifest_complete(const json_t *manifest);
/* The kind of checksums that were kept, or NULL. */
const char *rf_manifest_check(const json_t *manifest);
/* How the order of threads was to be kept; NULL: nobody asked for it. */
const char *rf_manifest_order(const json_t *manifest);
/* The kinds of values that were kept, or NULL. */
const char *rf_manifest_values(const json_t *manifest);
/* Was it recorded without randomised addresses? */
bool rf_manifest_same_addresses(const json_t *manifest);

#endif
