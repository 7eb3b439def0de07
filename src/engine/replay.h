/* The replaying side of a node: where in the recording it stands, what the next call must be, and
   what to do when it is something else. */
#ifndef RF_ENGINE_REPLAY_H
#define RF_ENGINE_REPLAY_H

#include "engine/progress.h"
#include "engine/strands.h"
#include "trace/reader.h"

struct rf_session;

/* A call of the program, as the adapter sees it. */
struct rf_here {
    const char *name;  /* "MPI_Recv" */
    uint32_t function; /* the adapter's number of it */
    uintptr_t address; /* where it returns to */
};

/* The message that a call of the program asks for. */
#define RF_ANY INT32_MIN
struct rf_asked {
    int32_t source, tag;
};

struct rf_replayer {
    struct rf_reader *reader;
    struct rf_cursor cursor; /* unless threads have their own */
    bool free;    /* past the end of a recording that was cut off: the program decides again */
    bool watched; /* by the command line */
    struct rf_progress *progress; /* mapped, or `own` when nobody watches */
    struct rf_progress own;
    struct rf_event history[RF_PROGRESS_HISTORY]; /* a ring; lists are not kept */
    uint32_t remembered;
    struct rf_here waited;     /* the last wait that is shown */
    struct rf_session *shared; /* the session, if threads have their own cursors */
    int lock;                  /* of what is shown, if so */
    /* Shows that this thread is in a call that may block, or, for NULL, has come out of it; or
       NULL. */
    void (*show)(const struct rf_here *here);
    bool diverged;
    volatile uint64_t stop_at; /* a debugger writes it: stop when so many events were played */
};

/* Stops this rank, and with it the job. Set by the adapter; must not return. */
typedef void rf_stop_function(int code);

/* Was there a job before this one that followed the recording? */
bool rf_replay_taken(const char *run, int rank, int size);
bool rf_replay_open(struct rf_replayer *replayer, const char *trace, const char *run, int rank,
                    struct rf_error *error);

/* The next event without taking it; NULL when the recording was cut off here (the rank is free from
   now on). At the proper end of a recording there is no next event: that is a difference if a call
   needs one. */
const struct rf_event *rf_replay_peek(struct rf_session *session);
void rf_replay_take(struct rf_replayer *replayer);
/* The same for a call that cannot go on without an event. A thread whose recording was cut off
   waits until all others are where theirs was: what it does then, nobody told. It waits for ever if
   another one is going to end the process. */
const struct rf_event *rf_replay_need(struct rf_session *session);
/* Is this thread there, and others are not? Who ends the process, by exit or MPI_Abort, cuts off
   the other threads, too. */
bool rf_replay_at_cut(struct rf_session *session);
/* Does nothing: where a debugger finds the rank when it has played as many events as it asked. */
void rf_replay_stop(void);

#define RF_IS(kind) (1u << RF_##kind)

#define RF_CHANNEL_ANY UINT32_MAX

/* The event that this call must produce: one of the kinds in the mask, from this function, site and
   channel, unless that is any. Does not return on a difference; NULL when the rank is free. `asked`
   tells what the program asks for and may be NULL. */
const struct rf_event *rf_replay_expect(struct rf_session *session, const struct rf_here *here,
                                        uint32_t kinds, uint32_t channel,
                                        const struct rf_asked *asked);

/* Reports a difference and stops the job. `expected` may be NULL (nothing more was recorded). */
_Noreturn void rf_diverge(struct rf_session *session, const struct rf_here *here,
                          const struct rf_event *expected, const struct rf_asked *asked,
                          const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same for what the stream has no events of: what was expected there, or NULL. */
_Noreturn void rf_diverge_from(struct rf_session *session, const struct rf_here *here,
                               const struct rf_call *expected, const char *text);
/* And for a process that has no session yet. `rank`: below 0 if it has no number either. */
_Noreturn void rf_diverge_early(int rank, const struct rf_here *here,
                                const struct rf_call *expected, const char *text);

/* At the program's end: everything recorded must have been played, and the recorded run must have
   ended the same way. */
void rf_replay_finish(struct rf_session *session, const struct rf_here *here, enum rf_end how,
                      int32_t code);

/* Shows where the rank stands while it may block, and that it got on. */
void rf_progress_wait(struct rf_replayer *replayer, const struct rf_here *here, int32_t peer,
                      int32_t tag);
/* Adds to what is shown: of how many requests how many are waited for. */
void rf_progress_requests(struct rf_replayer *replayer, int32_t chosen, int32_t requests);
void rf_progress_go(struct rf_replayer *replayer);

/* "source 3, tag 7": what an event says, for people. */
void rf_describe_event(const struct rf_event *event, char *text, size_t size);

#endif
