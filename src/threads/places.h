/* Where the threads of a replayed process stand: shared by its threads, and mapped by the command
   line from the run directory, RUN/rank-R.threads. */
#ifndef RF_THREADS_PLACES_H
#define RF_THREADS_PLACES_H

#include <stdint.h>

#define RF_PLACES_MAGIC 0x31434c50u /* "PLC1" */

enum rf_place_state {
    RF_PLACE_UNBORN,
    RF_PLACE_RUNS,
    RF_PLACE_WAITS,  /* for its turn */
    RF_PLACE_BLOCKS, /* in the call itself */
    RF_PLACE_PARKED, /* its recording was cut off here */
    RF_PLACE_ENDED,
    RF_PLACE_FREE, /* past the end of a recording that was cut off */
};

struct rf_place {
    _Alignas(64) volatile uint64_t done; /* operations played */
    volatile uint64_t wake;              /* somebody sleeps until there are so many; 0: nobody */
    volatile uint32_t bell;              /* a futex: goes on when it wakes others */
    volatile uint64_t next;              /* logical clocks: its next turn comes then or later */
    volatile uint32_t state;             /* enum rf_place_state */
    volatile uint32_t thread;            /* waited for */
    volatile uint64_t count;             /* until it has done so many, or its clock shows that */
    uint64_t recorded;
    int32_t task;     /* the kernel's number of it */
    uint64_t address; /* of the call below */
    uint32_t operation;
    uint64_t offset;
    char function[48];
    char module[256];
};

struct rf_places {
    uint32_t magic;
    int32_t rank, pid;
    uint32_t count;
    uint32_t clocks;        /* 1: the order is one of logical clocks */
    volatile uint32_t free; /* past the end of a recording that was cut off */
    struct rf_place place[];
};

#endif
