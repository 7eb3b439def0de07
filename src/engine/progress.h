/* What a replaying node shows to the command line: one small file per rank in the run directory,
   mapped by both. The rank writes plain stores, the command line polls. */
#ifndef RF_ENGINE_PROGRESS_H
#define RF_ENGINE_PROGRESS_H

#include <stdint.h>

#define RF_PROGRESS_MAGIC 0x31475250u /* "PRG1" */
#define RF_PROGRESS_HISTORY 8
#define RF_NO_PEER INT32_MIN /* also "no tag" */

enum rf_state {
    RF_STATE_STARTING,
    RF_STATE_RUNNING, /* in the program's own code */
    RF_STATE_WAITING, /* inside a call of the library that may block */
    RF_STATE_DIVERGED,
    RF_STATE_FINISHED,
    RF_STATE_LEFT, /* alone, in a call in which it was ended when its contents were kept */
};

/* Whether a rank that is about to end its job may: the command answers. */
enum rf_ending_turn { RF_NOT_SEEN, RF_SEEN, RF_MAY_END };

/* A call, as the program made it or as it was recorded. */
struct rf_call {
    char function[48];
    char module[256];         /* path, or empty when the site is unknown */
    uint64_t offset;          /* return address in the module */
    int32_t peer, tag;        /* RF_NO_PEER where there is none */
    int32_t chosen, requests; /* waits for so many of so many requests; 0 if not for several */
    char detail[160];         /* what is asked for, or what an event says; or empty */
};

struct rf_progress {
    uint32_t magic;
    int32_t rank, size, pid;
    char host[64];
    volatile uint32_t state;   /* enum rf_state */
    volatile uint32_t free;    /* 1: past the end of a recording that was cut off */
    volatile uint32_t signal;  /* of a rank with threads: the one that ends it, or 0 */
    volatile uint32_t windows; /* 1: alone, with memory that others have changed */
    volatile uint32_t ending;  /* 1: about to end the job, when the others have come to where */
    volatile uint32_t may_end; /* they were then: an rf_ending_turn, which the command sets */
    volatile uint64_t events;  /* decisions replayed */
    volatile uint64_t played;  /* those and the checks between them */
    volatile uint64_t calls;   /* calls made: grows whenever the rank gets on */
    struct rf_call current;    /* valid while state is RF_STATE_WAITING or RF_STATE_DIVERGED */
    volatile uint32_t current_version; /* odd while `current` is being written */
    /* Divergence: valid when state is RF_STATE_DIVERGED. */
    uint64_t event; /* number of the event at which it differs, or of the next one */
    char difference[256];
    struct rf_call expected;
    struct rf_call got;
    uint32_t history_count; /* the last matches before it, oldest first */
    struct rf_call history[RF_PROGRESS_HISTORY];
    char reason[256]; /* the likely reason, or empty */
};

/* Environment variables between the command line and the preloaded adapters:

   REFRAIN_MODE   record | replay | alone; anything else, or unset: calls only pass through

   REFRAIN_TRACE  absolute path of the trace directory

   REFRAIN_RUN    replay, alone: absolute path of the directory for rank-R.progress; record: of none

   REFRAIN_SCHEME order | data

   REFRAIN_THREADS  edges | rolt ...: how the order between threads is kept; a replay has it from
                    the log

   REFRAIN_KEEP   replay: the ranks that keep what they get from MPI, as 7,9-11

   REFRAIN_RANK   alone: the rank that this process is

   REFRAIN_CUT    replay of MCAPI: 1 if a node did not come to its end

   REFRAIN_VALUES the values that are kept, or returned again: time,random,pid

   REFRAIN_CHECK  xor | crc32c: checksums of what a rank receives are kept, or compared */

#endif
