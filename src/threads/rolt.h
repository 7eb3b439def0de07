#ifndef RF_THREADS_ROLT_H
#define RF_THREADS_ROLT_H

#include "threads/state.h"

/* Replay: shows the others how far the thread is. */
void rf_rolt_show(struct rf_thread *self);
/* The clock that a new thread begins with. */
uint64_t rf_rolt_first(const struct rf_thread *parent);
void rf_rolt_announce(const struct rf_thread *parent, uint32_t number);
void rf_rolt_recall(uint32_t number);
/* Replay: the same wait as below, for whatever comes next. */
void rf_rolt_await_any(struct rf_thread *self);
/* Replay: waits until the thread's next turn is due. */
void rf_rolt_await(struct rf_thread *self);

#endif
