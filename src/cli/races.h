/* Data races that a tool found while a recording was replayed. */
#ifndef RF_CLI_RACES_H
#define RF_CLI_RACES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "summary.h"

struct rf_race_frame {
    char *function, *file, *object; /* NULL: not known; `object` may be a path or a name */
    int line;
};

enum rf_race_when {
    RF_RACE_SOMETIME, /* how far the thread was is not known */
    RF_RACE_AFTER,    /* right after the operation */
    RF_RACE_UNTIL,    /* at the latest after it */
};

struct rf_race_access {
    bool writes;
    int bytes;
    long id;    /* the tool's name for the thread */
    int thread; /* our number; -1: it is not one of the recorded threads */
    enum rf_race_when when;
    uint64_t operation;
    struct rf_race_frame *frames; /* the innermost first; none: not known */
    size_t count;
};

struct rf_race {
    int rank;
    struct rf_race_access now, before; /* the one that was found, and the one before it */
    char *data;                        /* what lies at the address, in the tool's words, or NULL */
    size_t end;                        /* where the report ends in the tool's output */
};

struct rf_races {
    const char *tool;     /* "helgrind" or "tsan" */
    int processes;        /* with threads that were looked at */
    bool openmp_unseen;   /* how OpenMP orders threads was not told to it */
    struct rf_race *list; /* by rank; those of a rank as they were found */
    size_t count;
};

/* Reads what the tool left in the run directory. `summary`: of the recording. */
void rf_races_read(struct rf_races *races, const char *run, const struct rf_summary *summary);
void rf_races_free(struct rf_races *races);

/* Says what was found: the first race in full, with `all` every one. */
void rf_races_report(const struct rf_races *races, const char *trace, bool all);
json_t *rf_races_json(const struct rf_races *races);

/* ---- for those who read the output of a tool ---- */

/* An access gets one more frame, to be filled in. */
struct rf_race_frame *rf_race_frame_add(struct rf_race_access *access);
/* A race gets to the list. Takes all that it points to. */
void rf_race_add(struct rf_races *races, struct rf_race *race);
void rf_race_clear(struct rf_race *race);

/* A thread said "refrain at ...": if it is the one that found the race and had not said so before,
   this is how far it and the other one were. */
void rf_race_place(struct rf_race *race, const char *mark);

/* One process's output each; its races have rank -1 until they say which one they are. */
void rf_helgrind_read(struct rf_races *races, const char *path);
void rf_tsan_read(struct rf_races *races, const char *run, const char *process);

#endif
