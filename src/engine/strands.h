/* A strand: what one thread of the program has of a session that several threads share.

   The session keeps one stream. Where threads may call at the same time, or in turn, an RF_THREAD
   event says whose the events after it are; before the first one they are those of the thread that
   opened the session. A replay splits the stream again, into a queue for each thread, and each
   thread follows its own: what one was told does not depend on when another one asked. */
#ifndef RF_ENGINE_STRANDS_H
#define RF_ENGINE_STRANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event.h"

/* The running signature of the calls of one thread. */
struct rf_signs {
    uint64_t signature;
    int64_t until_check; /* signed calls until the signature enters the stream */
    uint64_t next_check; /* how many there will have been by then */
};

/* The place in a stream of events. */
struct rf_cursor {
    struct rf_event event; /* the next event, valid if `ready` */
    uint64_t used;         /* repetitions of it that were played */
    bool ready;
    int32_t *list; /* that of the event, if it was split off */
};

struct rf_queued {
    struct rf_queued *next;
    struct rf_event event;
    int32_t list[];
};

struct rf_strand {
    int number; /* of the thread, the same in every run */
    struct rf_signs *signs;
    struct rf_signs own;
    /* Replay: the next event, and those that were read ahead. */
    struct rf_cursor cursor;
    struct rf_queued *first, *last;
    uint64_t owed;
};

#define RF_MOST_STRANDS (1 << 20)

struct rf_strands {
    struct rf_strand **list; /* by number, NULL where there is none */
    int size;
    int opener;         /* number of the thread that opened the session */
    int current;        /* whose event was written, or read, last */
    int lock;           /* replay: of the queues, the list and the reader */
    uint64_t remaining; /* replay: events that were split off and not played, and what is owed */
    bool ended;         /* replay: the reader is at its end */
    bool cut;           /* inside a call: the recording ends with a mark */
};

/* The strand of this thread, NULL if its session is not shared. */
extern _Thread_local struct rf_strand *rf_strand_here RF_OURS
    __attribute__((tls_model("initial-exec")));

struct rf_session;

/* The thread that opens the session goes on with what it has signed. */
void rf_strands_open(struct rf_session *session, int number);
/* The strand with this number; made when it is first asked for. NULL if there cannot be one. */
struct rf_strand *rf_strand_find(struct rf_session *session, int number);
/* This thread calls for the first time. False if it cannot be told apart. */
bool rf_strand_meet(struct rf_session *session, int number);

/* Record: what is appended now is this thread's. The session is locked. */
void rf_strand_append(struct rf_session *session);

/* Replay: this thread's next event, or NULL at the end of what it did. */
const struct rf_event *rf_strand_peek(struct rf_session *session);
/* The event has been played, all of its repetitions. */
void rf_strand_played(struct rf_session *session);
/* Replay: the event that is played next tells of something that this thread gets only later. Until
   it is paid, the threads that have come to the end of a recording that was cut off wait as if
   there were an event left: else they might take it. One that comes to that end itself does not
   count on it any more. */
void rf_strand_owe(struct rf_session *session);
void rf_strand_pay(struct rf_session *session, struct rf_strand *strand);
void rf_strand_forgive(struct rf_session *session);
/* Reads the whole stream. The first event, of any thread, that was not played, or NULL. */
const struct rf_event *rf_strands_rest(struct rf_session *session);

#endif
