/* Writing a node's trace.

   The program's thread appends fixed-size entries to a file-backed shared mapping ("the log"); a
   second thread, started when the first segment is full, codes full segments into chunks of the
   trace file. What is not coded yet lies in the mapping's file, so SIGKILL loses nothing.

   The log is a ring of segments. The thread that appends owns the current and the previous segment,
   so the match of a post can be filled in in place for a long while without any synchronisation;
   a match that comes later still is appended as an RF_LATE event. */
#ifndef RF_TRACE_RECORDER_H
#define RF_TRACE_RECORDER_H

#include "error.h"
#include "event.h"

struct rf_entry {
    uint32_t what; /* rf_pack(); written last, 0 means: nothing here yet */
    int32_t first, second;
    uint32_t run; /* repetitions; RF_LIST kinds: list length; RF_BACK kinds: how many posts ago */
};

/* The appending thread's view. Public so that the hot path can be inlined; treat as private. */
struct rf_recorder {
    struct rf_entry *next;    /* where the next entry goes */
    struct rf_entry *end;     /* end of the current segment */
    struct rf_entry *last;    /* the entry that an equal event may be folded into, or NULL */
    uint64_t segment;         /* number of the current segment, from 0 */
    uint64_t posts;           /* open events so far */
    bool sparing;             /* uses only the beginning of each segment */
    bool on;                  /* false once recording stopped (disk full, fork, end) */
    struct rf_writer *writer; /* everything else */
};

/* Names a post or cancel that will be filled in later. */
struct rf_post {
    struct rf_entry *entry;
    uint64_t segment;
    uint64_t ordinal;
    uint32_t what;
};

/* Creates DIR/rank-R.trace and DIR/rank-R.tail (which is rank-R.new until it is whole) and maps the
   log. All space of the log is allocated here, so that a full disk cannot become SIGBUS later. */
bool rf_recorder_open(struct rf_recorder *recorder, const char *directory,
                      const struct rf_node *node, struct rf_error *error);
/* Then, in a process that has many of these: it is to take little memory, and codes a little
   worse. */
void rf_recorder_sparing(struct rf_recorder *recorder);
/* Codes the rest, writes the end and closes the file; removes the log. Idempotent. */
void rf_recorder_close(struct rf_recorder *recorder, enum rf_end how, int32_t code);
/* Notes what ends the process: a signal, RF_REPLACED, or rf_left(). One store, for use in a handler
   and in a child made by vfork, where it does nothing. */
void rf_recorder_cut_off(struct rf_recorder *recorder, int32_t code);
/* In a forked child: stop recording and forget everything without touching the files. */
void rf_recorder_abandon(struct rf_recorder *recorder);

/* Adds a site (with the module it lies in; modules are interned by path) and returns its number.
   When the table is full, returns 0, which is always "elsewhere". Not for the hot path. */
uint32_t rf_recorder_site(struct rf_recorder *recorder, const struct rf_site *site,
                          const struct rf_module *module);
/* Notes that the program used a function whose outcome is not recorded. Interned. Not hot. */
void rf_recorder_unsupported(struct rf_recorder *recorder, const char *function);

/* Where a blocking call leaves its result while it runs, inside the mapping: survives a death in
   the call. `room` is at least 64 bytes, to be used by the adapter as the library's status object;
   `source_offset` and `tag_offset` tell the reader where in it to look. */
void *rf_recorder_flight_room(struct rf_recorder *recorder, uint32_t source_offset,
                              uint32_t tag_offset, uint32_t bytes);
/* The packed word of the call in flight; 0 when none. One plain store each. */
uint32_t *rf_recorder_flight_word(struct rf_recorder *recorder);

/* Called by the hot path when the current segment has no room; begins another one. */
void rf_recorder_next_segment(struct rf_recorder *recorder);

/* ---- the hot path: no lock, no system call, no allocation -------------------------------- */

RF_STEP void rf_recorder_put(struct rf_recorder *recorder, uint32_t what, int32_t first,
                             int32_t second, uint32_t run) {
    /* "Beyond" happens only where threads call at the same time that must not: the events are
       spoilt then, but nothing else is. */
    if (__builtin_expect(recorder->next >= recorder->end, 0))
        rf_recorder_next_segment(recorder);
    struct rf_entry *entry = recorder->next++;
    entry->first = first;
    entry->second = second;
    entry->run = run;
    __atomic_store_n(&entry->what, what, __ATOMIC_RELEASE);
    recorder->last = entry;
}

/* Appends an event, or counts it up when it equals the one before. For RF_REPEATS kinds only. */
RF_STEP void rf_recorder_fold(struct rf_recorder *recorder, uint32_t what, int32_t first,
                              int32_t second) {
    struct rf_entry *last = recorder->last;
    if (last && last->what == what && last->first == first && last->second == second &&
        __builtin_expect(last->run != UINT32_MAX, 1))
        last->run++;
    else
        rf_recorder_put(recorder, what, first, second, 1);
}

/* Appends an open event: a post with unknown match, a cancel with unknown outcome. */
RF_STEP void rf_recorder_post(struct rf_recorder *recorder, uint32_t what, struct rf_post *post) {
    rf_recorder_put(recorder, what, RF_UNKNOWN, RF_UNKNOWN, 1);
    post->entry = recorder->last;
    post->segment = recorder->segment;
    post->ordinal = recorder->posts++;
    post->what = what;
}

/* Fills in the match of a post, or the outcome of a cancel as `source`. Where the place has been
   coded already, an event refers to it. */
RF_STEP void rf_recorder_match(struct rf_recorder *recorder, const struct rf_post *post,
                               int32_t source, int32_t tag) {
    if (__builtin_expect(recorder->segment - post->segment <= 1, 1)) {
        post->entry->second = tag;
        __atomic_store_n(&post->entry->first, source, __ATOMIC_RELEASE);
    } else {
        rf_recorder_put(recorder, rf_pack(RF_LATE, 0, 0) | (post->what & ~RF_KIND_MASK), source,
                        tag, (uint32_t)(recorder->posts - post->ordinal));
    }
}

/* Appends an event with a list (RF_LIST kinds), of any length. */
void rf_recorder_list(struct rf_recorder *recorder, uint32_t what, int32_t first, int32_t second,
                      const int32_t *list, uint32_t length);

#endif
