/* The state of the library for threads: of the process, and of each of its threads. */
#ifndef RF_THREADS_STATE_H
#define RF_THREADS_STATE_H

#include <pthread.h>
#include <string.h>

#include "engine/session.h"
#include "threads/places.h"
#include "threads/turns.h"
#include "trace/own_file.h"
#include "trace/thread_reader.h"

#define RF_RUN_OF(operation) ((uint32_t)(operation) << 24)
#define RF_THREAD_SITES 64u
#define RF_TURN_SLOT_BITS 16
/* An object's last turn: the thread and its operation in one word. */
#define RF_TURN_COUNT_BITS 44
#define RF_TURN_COUNT_MASK ((UINT64_C(1) << RF_TURN_COUNT_BITS) - 1)

struct rf_thread_site {
    uint64_t key;
    uint32_t site;
};

struct rf_thread {
    union {
        struct {
            uint16_t inside; /* how deep in what is not the program's */
            bool free : 1;   /* past the end of what was recorded of it */
            bool other : 1;  /* replayed, or not by edges, or who calls has to be asked for */
            uint8_t run;     /* the operation on locks that it did last */
        };
        uint32_t special; /* RF_RUN_OF() that operation: none of the others */
    };
    struct rf_thread_log_thread *record; /* record: in the log; has the count of operations */
    uint64_t signature;                  /* of the operations before the run */
    uint64_t before_run; /* record: how many these are; what came after are all `run` */
    uint64_t done;       /* replay: operations */
    uint32_t number;

    /* Record. */
    uint64_t checked; /* the operation at which the signature was logged last */
    struct rf_thread_log_block *block;
    uint8_t *at, *limit; /* where the next entry goes; the last place for one of 8 bytes */
    uint64_t logged;     /* the operation of the last entry */
    uint8_t *failures;   /* of the last entry, if that was a failure: its count */
    uint64_t failing;    /* the operation that would go on with it, if it is the same: */
    uint64_t failure;    /* site and code */
    uint64_t clock;      /* ROLT */
    struct rf_thread_log_known known[RF_THREAD_LOG_KNOWN];
    struct rf_thread_site sites[RF_THREAD_SITES];

    /* Replay. */
    struct rf_place *place; /* seen by the others, and by the command line */
    struct rf_thread_log_cursor cursor;
    struct rf_thread_log_entry next; /* operation 0: there is none */
    uint64_t recorded;               /* how many operations were recorded */
    bool ended;                      /* whether it came to its end in the recording */
    enum rf_operation what;          /* being played */
    uintptr_t address;
    uint64_t reports; /* of data races that it knows of */
    int marks;        /* how often it said where it was when there were new ones */

    int rounds; /* of destructors, at its end */
    bool exits; /* by itself */

    /* What a new thread is to do. */
    void *(*start)(void *);
    int (*start_c11)(void *);
    void *argument;
};

_Static_assert(offsetof(struct rf_thread, run) == 3, "RF_RUN_OF() knows where it is");
_Static_assert((unsigned)RF_OPERATIONS <= UINT8_MAX, "a run is a byte");

/* Who had a lock last. Only who has the lock looks there, so nothing in it needs to be atomic. For
   that it belongs to one lock alone, the first one that came here, for ever. */
struct rf_lock {
    const volatile void *object;
    struct rf_thread_log_thread *record;
    uint64_t count; /* of the operations that this thread had done before */
    uint64_t spare;
};
#define RF_LOCK_BITS 14

struct rf_threads {
    bool unlocks; /* unlocking is more than that; true as long as nothing is known */
    bool passes;  /* every call is only passed on: that is known, and nothing was on yet */
    bool on;      /* something is recorded or replayed */
    bool replays; /* which of these; does not change any more once it is on */
    enum rf_thread_order order;
    bool wanted;  /* by the user, or by an adapter */
    bool unasked; /* neither, but the program is recorded: that it has threads is to be told */
    bool races;   /* a tool looks for data races in the replay: see races.h */
    bool plain;   /* no adapter for message passing is here: the session is ours */
    int rank;
    char trace[4096], run[4096];

    /* Record. */
    bool stopped; /* the log could not be lengthened */
    struct rf_thread_log_head *head;
    struct rf_own_file file;
    uint64_t *slots;
    struct rf_lock *locks;
    struct rf_thread_log_thread **records; /* by number */
    pthread_t *handles;                    /* the same */

    /* Replay. */
    struct rf_thread_log *turns;
    struct rf_places *places;
};

extern struct rf_threads rf_threads RF_OURS;
extern _Thread_local struct rf_thread *rf_self RF_OURS __attribute__((tls_model("initial-exec")));
/* The same, but never NULL: a thread that is not recorded is nobody, which is special. */
extern struct rf_thread rf_nobody RF_OURS;
extern _Thread_local struct rf_thread *rf_anybody RF_OURS
    __attribute__((tls_model("initial-exec")));

/* How deep a thread is in a library for message passing before it has a number. */
extern _Thread_local unsigned rf_inside_early RF_OURS __attribute__((tls_model("initial-exec")));

/* Once more after a call, where keeping it would mean to save a register. */
RF_STEP struct rf_thread *rf_anybody_again(void) {
    struct rf_thread *self;
    __asm__ volatile("movq rf_anybody@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(self));
    return self;
}

RF_STEP struct rf_thread *rf_here(void) {
    struct rf_thread *self = rf_self;
    return self && !self->inside && !self->free && rf_threads.on ? self : NULL;
}

/* Is this address in a library for message passing, or in one that such a library is made of? These
   also work when nobody calls them: one watches every mapping of memory, and locks. Answers are
   kept by page. */
#define RF_PAGES 1024u
extern uintptr_t rf_pages[RF_PAGES] RF_OURS;
bool rf_page_learn(uintptr_t address);

RF_STEP bool rf_is_internal(uintptr_t address) {
    uintptr_t page = address >> 12;
    uintptr_t known = __atomic_load_n(&rf_pages[page % RF_PAGES], __ATOMIC_RELAXED);
    return __builtin_expect(known >> 1 == page, 1) ? known & 1 : rf_page_learn(address);
}

RF_STEP struct rf_thread *rf_here_from(uintptr_t address) {
    struct rf_thread *self = rf_here();
    return self && (rf_threads.plain || !rf_is_internal(address)) ? self : NULL;
}

/* What a path leads to, without the directories. */
RF_STEP const char *rf_name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- session.c ---- */

/* Is anything to be recorded or replayed here? Before anybody else asks. */
void rf_threads_look(void);
/* Before the first thread is created, or the first value asked for: opens the log or the recording,
   if there is to be one. The calling thread becomes number 0. */
void rf_threads_begin(void);
/* Says at the end of the recording that this was used: bits of enum rf_thread_log_unseen. */
void rf_unseen(uint32_t what);
/* 13 if Python 3.13 calls from there; 0 if it is not Python. */
int rf_python(uintptr_t address);
/* A call of the program that nobody records is made in a thread that the program has not created.
 */
void rf_stranger_calls(uintptr_t address);
/* A futex is used by way of syscall(), to wait for a limited time or for something else. */
void rf_futex_used(uintptr_t address, bool limited);
/* Leaves a note for the closing lines of a recording that leaves out threads. */
void rf_threads_unasked(void);
/* Replay: have the others done what they had done when this thread ended the process? */
bool rf_threads_others_done(void);
/* Waits until they have. */
void rf_threads_await_others(struct rf_thread *self, enum rf_operation what, uintptr_t address);
/* Is this the recorded process, and not a child of it? */
bool rf_threads_are_ours(void);
/* An adapter tells the number of this process: its log gets its name. */
void rf_threads_named(int rank);
/* A thread that is about to be created; NULL: it is not to be recorded. In a replay it is the one
   that the recording has here. */
struct rf_thread *rf_thread_new(struct rf_thread *parent, uint32_t number);
/* In the new thread itself. */
void rf_thread_enter(struct rf_thread *self);

/* ---- replay.c ---- */

/* Sleeps so long, or until it is woken there; errno stays as it is. */
void rf_nap(long nanoseconds);
void rf_sleep_on(const volatile uint32_t *word, uint32_t value, long nanoseconds);
void rf_replay_next(struct rf_thread *self);
void rf_replay_end(struct rf_thread *self);
/* Waits until another thread has done so many operations. */
void rf_turn_wait_for(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                      uint32_t thread, uint64_t count);
uint32_t rf_replay_site_operation(const struct rf_thread *self);
/* Is the next operation this one, with a value, or this one, and does it fail? */
bool rf_replay_has_value(const struct rf_thread *self, enum rf_operation what);
bool rf_replay_fails(const struct rf_thread *self, enum rf_operation what);
/* Did the recorded thread end behind its last operation, or the process with it? */
bool rf_replay_at_end(const struct rf_thread *self);
/* If the recorded thread was cancelled in a call that is not hooked, waits to be told so; if nobody
   does, it is a difference. */
void rf_replay_await_cancel(struct rf_thread *self, enum rf_operation what, uintptr_t address);
/* Waits until a thread has done so many operations, waits for the caller, has ended, or nothing
   moves any more and it sleeps in a call that is not hooked. */
void rf_replay_settle(const struct rf_thread *self, uint32_t thread, uint64_t count);
/* Waits until all other threads have come to the end of what was recorded of them, or none of them
   gets on any more. Does nothing that a signal handler may not. */
void rf_replay_await_others(const struct rf_thread *self);
/* Was it made at this place? In a module that was built anew nobody knows: then, yes. */
bool rf_replay_is_here(struct rf_thread *self, uintptr_t address);

/* ---- log.c ---- */

/* A process without a number has a name for its log that its lineage makes. */
bool rf_log_open(struct rf_error *error);
void rf_log_name(int rank);
/* A child has none yet. */
void rf_log_forget(void);
/* The first block of a thread. */
bool rf_log_begin(struct rf_thread *self, uint32_t parent);
/* How many operations each thread has done by now is written down: an end comes. */
void rf_log_count_all(void);
void rf_log_check(struct rf_thread *self);
void rf_log_edge(struct rf_thread *self, enum rf_operation what, uintptr_t address, uint32_t thread,
                 uint64_t count);
void rf_log_number(struct rf_thread *self, enum rf_thread_log_type type, enum rf_operation what,
                   uintptr_t address, uint64_t number);

/* A run of locks goes into the signature when something else comes. */
RF_STEP void rf_end_run(struct rf_thread *self) {
    uint64_t done = self->record->done;
    if (self->before_run == done)
        return;
    self->signature = rf_thread_log_sign_run(self->signature, self->run, done - self->before_run);
    self->before_run = done;
}

/* The operation is counted; what was logged of it now holds. */
RF_STEP void rf_commit(struct rf_thread *self, enum rf_operation what) {
    struct rf_thread_log_thread *record = self->record;
    rf_end_run(self);
    self->signature = rf_thread_log_sign(self->signature, what);
    self->before_run = record->done + 1;
    __atomic_store_n(&record->done, record->done + 1, __ATOMIC_RELEASE);
}

/* Where objects remember who had the last turn. Several may share a place: that only adds edges,
   true ones. */
RF_STEP uint64_t *rf_slot_of(const volatile void *object) {
    return &rf_threads.slots[(uintptr_t)object * 0x9e3779b97f4a7c15u >> (64 - RF_TURN_SLOT_BITS)];
}

/* ---- rolt.c ---- */

void rf_rolt_take(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  const volatile void *object);

/* A turn that only clocks need. */
void rf_tick(struct rf_thread *self, enum rf_operation what, uintptr_t address,
             const volatile void *object);

/* Is the order one of clocks? These also tick where locks are given up, and where threads begin,
   end and are joined, or the replay deadlocks: there are orders that leave out either, to show
   that. */
RF_STEP bool rf_clocks(void) {
    return __builtin_expect(rf_threads.order >= RF_ORDER_ROLT, 0) &&
           rf_threads.order != RF_ORDER_EVERY;
}

RF_STEP bool rf_unlocks_tick(void) {
    return rf_clocks() && rf_threads.order != RF_ORDER_ROLT_UNLOCKS;
}

RF_STEP bool rf_joins_tick(void) {
    return rf_clocks() && rf_threads.order != RF_ORDER_ROLT_JOINS;
}

/* Record: an operation on an object. Another thread's count is read before the object's word is
   changed: then an edge never points to what came later (see docs/threads.md). */
RF_STEP void rf_take(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                     const volatile void *object) {
    if (rf_clocks()) {
        rf_rolt_take(self, what, address, object);
        return;
    }
    uint64_t operation = self->record->done + 1;
    uint64_t *slot = rf_slot_of(object);
    uint64_t mine = (uint64_t)self->number << RF_TURN_COUNT_BITS | operation;
    uint64_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);
    uint64_t further = 0;
    if ((seen ^ mine) >> RF_TURN_COUNT_BITS)
        further = __atomic_load_n(&rf_threads.records[seen >> RF_TURN_COUNT_BITS]->done,
                                  __ATOMIC_ACQUIRE);
    uint64_t before = __atomic_exchange_n(slot, mine, __ATOMIC_ACQ_REL);
    uint32_t thread = (uint32_t)(before >> RF_TURN_COUNT_BITS);
    uint64_t count = before & RF_TURN_COUNT_MASK;
    if (thread != self->number) {
        const struct rf_thread_log_known *known = &self->known[thread % RF_THREAD_LOG_KNOWN];
        if (count > (known->thread == thread ? known->count : 0) ||
            __builtin_expect(rf_threads.order == RF_ORDER_EVERY, 0))
            rf_log_edge(self, what, address, thread,
                        before == seen && further > count ? further : count);
    } else if (__builtin_expect(rf_threads.order == RF_ORDER_EVERY, 0)) {
        rf_log_edge(self, what, address, thread, count);
    }
    rf_commit(self, what);
}

/* Record: an operation that has to come after the last turn on an object, but before which nothing
   has to wait. It leaves the object's word as it is, so threads that only look do not get into each
   other's way. What is read here is read before this operation is counted (see docs/threads.md). */
RF_STEP void rf_follow(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                       const volatile void *object) {
    if (__builtin_expect(rf_threads.order != RF_ORDER_EDGES, 0)) {
        rf_take(self, what, address, object);
        return;
    }
    uint64_t last = __atomic_load_n(rf_slot_of(object), __ATOMIC_ACQUIRE);
    uint32_t thread = (uint32_t)(last >> RF_TURN_COUNT_BITS);
    uint64_t count = last & RF_TURN_COUNT_MASK;
    const struct rf_thread_log_known *known = &self->known[thread % RF_THREAD_LOG_KNOWN];
    if (thread != self->number && count > (known->thread == thread ? known->count : 0)) {
        uint64_t further = __atomic_load_n(&rf_threads.records[thread]->done, __ATOMIC_ACQUIRE);
        rf_log_edge(self, what, address, thread, further > count ? further : count);
    }
    rf_commit(self, what);
}

/* ---- record.c: locks, which one thread has at a time ---- */

bool rf_lock_claim(struct rf_lock *lock, const volatile void *object);
/* Another thread had it. Returns `code`. */
__attribute__((cold)) int rf_lock_passes(struct rf_thread *self, struct rf_lock *lock,
                                         enum rf_operation what, uintptr_t address, int code);

RF_STEP struct rf_lock *rf_lock_of(const volatile void *object) {
    uint32_t hash = (uint32_t)(uintptr_t)object * 0x9e3779b1u;
    return &rf_threads.locks[hash >> (32 - RF_LOCK_BITS)];
}

/* Record: the thread has got the lock. Until it lets go nobody else looks at `lock`, and then the
   operation counts: the order of the stores in here does not matter. It belongs to the thread's
   run. */
RF_STEP void rf_lock_count(struct rf_thread_log_thread *record, struct rf_lock *lock) {
    lock->count = record->done;
    __asm__ volatile("incq %0" : "+m"(record->done) : : "memory"); /* gcc would need two */
}

RF_STEP void rf_enter_run(struct rf_thread *self, enum rf_operation what) {
    if (self->run == what)
        return;
    rf_end_run(self);
    self->run = (uint8_t)what;
}

/* The same, on any path but the fastest. */
RF_STEP void rf_take_lock(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                          const volatile void *object) {
    struct rf_lock *lock = rf_lock_of(object);
    if (rf_threads.order != RF_ORDER_EDGES ||
        (lock->object != object && !rf_lock_claim(lock, object))) {
        rf_take(self, what, address, object);
    } else if (lock->record != self->record) {
        rf_lock_passes(self, lock, what, address, 0);
    } else {
        rf_enter_run(self, what);
        rf_lock_count(self->record, lock);
    }
}

#endif
