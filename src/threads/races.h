/* What a tool that looks for data races in a replay is told, and asked. */
#ifndef RF_THREADS_RACES_H
#define RF_THREADS_RACES_H

#include "threads/state.h"

/* Does a tool look, as REFRAIN_RACES says? Asked once, before anything else here. */
bool rf_races_begin(int rank, const char *run);
/* A thread begins. */
void rf_races_thread(struct rf_thread *self);
/* Marks the place of the thread if the tool has reported something since it last came here. */
void rf_races_look(struct rf_thread *self);

/* What is done before one of these happens before what is done after the other, for the same
   object: where the tool does not see that by itself. The edges of the recording are never told:
   they are our order, not the program's, and would hide its races. */
void rf_races_before(const void *object);
void rf_races_after(const void *object);

RF_STEP void rf_race_before(const void *object) {
    if (__builtin_expect(rf_threads.races, 0))
        rf_races_before(object);
}

RF_STEP void rf_race_after(const void *object) {
    if (__builtin_expect(rf_threads.races, 0))
        rf_races_after(object);
}

#endif
