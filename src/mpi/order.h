/* Threads that call MPI at the same time, or one after the other (order.c).

   What each of them is told is kept in its own strand of the stream (engine/strands.h). What all of
   them do to the one order in which MPI matches messages (posting a receive, starting a send,
   finding a message) takes a turn on one object of the library for threads (threads/link.h): while
   recording, a lock is held around the turn and the library's call, which never blocks; a replay
   waits for the turn.

   A message can be answered, and another thread told so, before the call that sent it returns. What
   that thread does then must come after the turn, so the turn comes before the call. Only a probe
   takes it afterwards, if it has found something; nobody can see that it has looked. */
#ifndef RF_MPI_ORDER_H
#define RF_MPI_ORDER_H

#include "engine/session.h"
#include "threads/link.h"

struct rf_order {
    const struct rf_threads_link *found; /* NULL if the library for threads is not there */
    const struct rf_threads_link *link;  /* the same, if it is wanted */
    bool on;                             /* several threads may call, and their order is kept */
    bool gone;                           /* replay: the recording cannot be followed any more */
    int lock;   /* record: held while the library enters something into its order */
    int object; /* its address stands for that order */
};
extern struct rf_order rf_order RF_OURS;

/* What a thread has of the adapter for itself. */
struct rf_self {
    union {
        struct {
            uint32_t depth;    /* first, for the entry points of Fortran; see adapter.h */
            uint32_t answered; /* the current call has had its event */
        };
        uint64_t both; /* to be set by one store */
    };
    bool entered;           /* the library for threads knows that this thread is inside MPI */
    bool foreign;           /* not a thread of the program */
    bool in_turn;           /* it is entering something into the order */
    bool awaited;           /* replay: and waited for its turn */
    bool taken;             /* record: and has it already */
    unsigned turn_depth;    /* and how deep it was then */
    unsigned answers;       /* replay: failures answered without asking the library */
    struct rf_here current; /* replay: the call that is being made */
};
extern _Thread_local struct rf_self rf_self RF_OURS __attribute__((tls_model("initial-exec")));

/* Looks for the library for threads, before MPI is initialised. */
void rf_order_find(void);
/* MPI is initialised by this thread: with what level of thread support (0 to 3)? The session's
   mode is not set yet. */
void rf_order_open(struct rf_session *session, int level, bool record);
/* The replayer is open. */
void rf_order_replay(struct rf_session *session);
/* Replay: nothing that follows can be trusted, whatever thread it is of. */
void rf_order_let_go(void);
/* The first call of this thread, and of which function. False if it is none of the program's. */
bool rf_order_meet(uint32_t function);

/* Around the library's call that enters something into the order. */
void rf_turn_begin_ordered(const struct rf_here *here);
void rf_turn_end_ordered(const struct rf_here *here);
/* Record: the same for a call that may turn out to have entered nothing, and then takes no turn. */
void rf_turn_try_ordered(void);
void rf_turn_drop_ordered(void);

RF_STEP void rf_turn_begin(const struct rf_here *here) {
    if (__builtin_expect(rf_order.on, 0)) {
        const struct rf_here copy = *here;
        rf_turn_begin_ordered(&copy);
    }
}
RF_STEP void rf_turn_try(void) {
    if (__builtin_expect(rf_order.on, 0))
        rf_turn_try_ordered();
}
RF_STEP void rf_turn_end(const struct rf_here *here) {
    if (__builtin_expect(rf_order.on, 0)) {
        const struct rf_here copy = *here;
        rf_turn_end_ordered(&copy);
    }
}

#endif
