/* For anything.c: who visits, and the things that are visited, of all kinds. */
#ifndef ANYTHING_THINGS_H
#define ANYTHING_THINGS_H

#include "trails.h"

#include <semaphore.h>
#include <stdbool.h>
#include <threads.h>

enum { THINGS = 5, GUESTS = 4, DEPTH = 2, LEVELS = 16, SHORT = 60000 /* nanoseconds */ };

/* ---- who does something, and what with ---- */

enum kind { MUTEX, RWLOCK, SPIN, SEMAPHORE, MONITOR, MTX, CND, KINDS };

/* What is first in it is at the same address whatever kind it is. */
struct thing {
    union {
        pthread_mutex_t mutex;
        pthread_rwlock_t rwlock;
        pthread_spinlock_t spin;
        sem_t semaphore;
        mtx_t mtx;
        struct {
            pthread_mutex_t mutex;
            pthread_cond_t changed;
            bool busy;
        } monitor;
        struct {
            mtx_t mtx;
            cnd_t changed;
            bool busy;
        } cnd;
    };
    enum kind kind;
    int type; /* of mutexes, and what they are for others */
    int level;
    struct trail trail;
};

struct party {
    struct party *outer;
    int depth;
    struct thing *things[THINGS];
    int guests;
    pthread_barrier_t barrier;
    pthread_once_t once;
    once_flag flag;
    struct trail firsts, seconds; /* those who came first to these two */
    pthread_key_t key;
    int running; /* guests that are detached; has the gate */
};

struct guest {
    pthread_t thread;
    thrd_t c11;
    bool is_c11, detached;
    int number, steps, floor;
    uint64_t seed;
    struct party *party;
};

/* The calling thread. */
static _Thread_local struct {
    struct party *party;
    int floor; /* the level of what it has, or its leader had */
    int steps;
    int made;           /* threads */
    struct thing *gift; /* a semaphore that it has posted to, and may take that back */
} me;

static bool with_values, with_deaths = true;
static struct party world; /* its things are there from the beginning to the end */
static struct thing world_things[THINGS];

/* Above all things. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static struct trail gate_trail;

static unsigned choose(unsigned sides) {
    observer.hash = observe_mix(observer.hash, "?", 1);
    return (unsigned)(observer.hash >> 29) % sides;
}

static bool chance(unsigned sides) {
    return choose(sides) == 0;
}

static void leave_trail(const char *what, struct trail *trail) {
    step(what, trail);
    observe("trail", (long)trail->hash);
}

static void pass_gate(const char *what, int *change) {
    must("pthread_mutex_lock", pthread_mutex_lock(&gate));
    leave_trail(what, &gate_trail);
    if (change && --*change == 0)
        must("pthread_cond_broadcast", pthread_cond_broadcast(&gate_changed));
    must("pthread_mutex_unlock", pthread_mutex_unlock(&gate));
}

static void act(void);
static void visit_above(void);
static void give_party(void);

/* While it has the thing. */
static void inside(struct thing *thing, bool alone) {
    int floor = me.floor;
    me.floor = thing->level;
    if (alone)
        leave_trail("inside", &thing->trail);
    else
        observe("trail", (long)thing->trail.hash);
    work();
    if (chance(4))
        visit_above();
    else if (chance(40))
        give_party();
    me.floor = floor;
}

/* While it has something without a trail. */
static void stay(int level) {
    int floor = me.floor;
    me.floor = level;
    work();
    if (chance(3))
        visit_above();
    me.floor = floor;
}

/* Takes a lock, in one of the ways that there are. */
#define LOCK_SOMEHOW(name, type, prefix, mode)                                                     \
    static int name(type *lock) {                                                                  \
        struct timespec limit;                                                                     \
        switch (choose(6)) {                                                                       \
        case 0:                                                                                    \
            return prefix##try##mode##lock(lock);                                                  \
        case 1:                                                                                    \
            limit = from_now(CLOCK_REALTIME, SHORT);                                               \
            return prefix##timed##mode##lock(lock, &limit);                                        \
        case 2:                                                                                    \
            limit = from_now(CLOCK_MONOTONIC, SHORT);                                              \
            return prefix##clock##mode##lock(lock, CLOCK_MONOTONIC, &limit);                       \
        default:                                                                                   \
            return prefix##mode##lock(lock);                                                       \
        }                                                                                          \
    }

/* ---- mutexes ---- */

static const int mutex_types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                  PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
enum { ROBUST = 4, INHERITS = 5, MUTEX_TYPES = 6 };

static void make_mutex(pthread_mutex_t *mutex, int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (type < ROBUST)
        pthread_mutexattr_settype(&attributes, mutex_types[type]);
    else if (type == ROBUST)
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    else
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    must("pthread_mutex_init", pthread_mutex_init(mutex, &attributes));
    pthread_mutexattr_destroy(&attributes);
}

static void mutex_make(struct thing *thing) {
    thing->type = (int)choose(MUTEX_TYPES);
    if (thing->type == ROBUST && !with_deaths)
        thing->type = 0;
    make_mutex(&thing->mutex, thing->type);
}

static void mutex_unmake(struct thing *thing) {
    must("pthread_mutex_destroy", pthread_mutex_destroy(&thing->mutex));
}

LOCK_SOMEHOW(mutex_lock, pthread_mutex_t, pthread_mutex_, )

static void mutex_visit(struct thing *thing) {
    int code = mutex_lock(&thing->mutex);
    observe("mutex", code);
    if (code && code != EOWNERDEAD)
        return;
    if (code == EOWNERDEAD && !chance(4))
        must("pthread_mutex_consistent", pthread_mutex_consistent(&thing->mutex));
    inside(thing, true);
    if (thing->type == 2 && chance(3))
        observe("again", pthread_mutex_lock(&thing->mutex));
    if (thing->type == 1 && chance(3)) {
        must("pthread_mutex_lock", pthread_mutex_lock(&thing->mutex));
        must("pthread_mutex_unlock", pthread_mutex_unlock(&thing->mutex));
    }
    must("pthread_mutex_unlock", pthread_mutex_unlock(&thing->mutex));
    if (thing->type == 2 && chance(5))
        observe("unlock", pthread_mutex_unlock(&thing->mutex));
}

/* ---- locks for readers and writers, spin locks ---- */

static void rwlock_make(struct thing *thing) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, chance(2)
                                                   ? PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
                                                   : PTHREAD_RWLOCK_PREFER_READER_NP);
    must("pthread_rwlock_init", pthread_rwlock_init(&thing->rwlock, &attributes));
    pthread_rwlockattr_destroy(&attributes);
}

static void rwlock_unmake(struct thing *thing) {
    must("pthread_rwlock_destroy", pthread_rwlock_destroy(&thing->rwlock));
}

LOCK_SOMEHOW(rwlock_read, pthread_rwlock_t, pthread_rwlock_, rd)
LOCK_SOMEHOW(rwlock_write, pthread_rwlock_t, pthread_rwlock_, wr)

static void rwlock_visit(struct thing *thing) {
    bool writes = chance(2);
    int code = writes ? rwlock_write(&thing->rwlock) : rwlock_read(&thing->rwlock);
    observe(writes ? "write" : "read", code);
    if (code)
        return;
    inside(thing, writes);
    if (writes && chance(4))
        observe("again", chance(2) ? pthread_rwlock_wrlock(&thing->rwlock)
                                   : pthread_rwlock_tryrdlock(&thing->rwlock));
    must("pthread_rwlock_unlock", pthread_rwlock_unlock(&thing->rwlock));
}

static void spin_make(struct thing *thing) {
    must("pthread_spin_init", pthread_spin_init(&thing->spin, PTHREAD_PROCESS_PRIVATE));
}

static void spin_unmake(struct thing *thing) {
    must("pthread_spin_destroy", pthread_spin_destroy(&thing->spin));
}

/* Nobody should have to turn for long. */
static void spin_visit(struct thing *thing) {
    int code = chance(3) ? pthread_spin_trylock(&thing->spin) : pthread_spin_lock(&thing->spin);
    observe("spin", code);
    if (code)
        return;
    leave_trail("inside", &thing->trail);
    must("pthread_spin_unlock", pthread_spin_unlock(&thing->spin));
}

/* ---- semaphores ---- */

static void semaphore_make(struct thing *thing) {
    thing->type = 1 + (int)choose(2);
    must("sem_init", sem_init(&thing->semaphore, 0, (unsigned)thing->type));
}

static void semaphore_unmake(struct thing *thing) {
    must("sem_destroy", sem_destroy(&thing->semaphore));
}

static int semaphore_wait(sem_t *semaphore) {
    struct timespec limit;
    int code;
    switch (choose(6)) {
    case 0:
        code = sem_trywait(semaphore);
        break;
    case 1:
        limit = from_now(CLOCK_REALTIME, SHORT);
        code = sem_timedwait(semaphore, &limit);
        break;
    case 2:
        limit = from_now(CLOCK_MONOTONIC, SHORT);
        code = sem_clockwait(semaphore, CLOCK_MONOTONIC, &limit);
        break;
    default:
        code = sem_wait(semaphore);
    }
    return code == 0 ? 0 : errno;
}

/* As many as there are at first may have it; a gift lets one more in, until it is taken back. */
static void semaphore_visit(struct thing *thing) {
    int value;
    if (chance(3)) {
        must("sem_getvalue", sem_getvalue(&thing->semaphore, &value));
        observe("value", value);
    }
    if (!me.gift && chance(4)) {
        me.gift = thing;
        must("sem_post", sem_post(&thing->semaphore));
        return;
    }
    int code = semaphore_wait(&thing->semaphore);
    observe("semaphore", code);
    if (code)
        return;
    if (me.gift == thing) {
        me.gift = NULL;
        return;
    }
    stay(thing->level);
    must("sem_post", sem_post(&thing->semaphore));
}

/* ---- monitors: a lock made of a condition ---- */

static void monitor_make(struct thing *thing) {
    pthread_condattr_t attributes;
    thing->type = (int)choose(ROBUST);
    make_mutex(&thing->monitor.mutex, thing->type);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    must("pthread_cond_init", pthread_cond_init(&thing->monitor.changed, &attributes));
    pthread_condattr_destroy(&attributes);
    thing->monitor.busy = false;
}

static void monitor_unmake(struct thing *thing) {
    must("pthread_cond_destroy", pthread_cond_destroy(&thing->monitor.changed));
    must("pthread_mutex_destroy", pthread_mutex_destroy(&thing->monitor.mutex));
}

static int monitor_wait(struct thing *thing) {
    struct timespec limit;
    switch (choose(4)) {
    case 0:
        limit = from_now(CLOCK_MONOTONIC, SHORT);
        return pthread_cond_timedwait(&thing->monitor.changed, &thing->monitor.mutex, &limit);
    case 1:
        limit = from_now(CLOCK_REALTIME, SHORT);
        return pthread_cond_clockwait(&thing->monitor.changed, &thing->monitor.mutex,
                                      CLOCK_REALTIME, &limit);
    default:
        return pthread_cond_wait(&thing->monitor.changed, &thing->monitor.mutex);
    }
}

/* A signal may reach one who has had enough of waiting, and then has to be passed on. */
static bool monitor_enter(struct thing *thing) {
    must("pthread_mutex_lock", pthread_mutex_lock(&thing->monitor.mutex));
    int code = 0;
    while (thing->monitor.busy && !(code && chance(2)))
        observe("waited", code = monitor_wait(thing));
    bool entered = !thing->monitor.busy;
    leave_trail(entered ? "enters" : "gives up", &thing->trail);
    if (entered)
        thing->monitor.busy = true;
    else
        must("pthread_cond_signal", pthread_cond_signal(&thing->monitor.changed));
    must("pthread_mutex_unlock", pthread_mutex_unlock(&thing->monitor.mutex));
    return entered;
}

static void monitor_leave(struct thing *thing) {
    bool early = chance(2), all = chance(2);
    must("pthread_mutex_lock", pthread_mutex_lock(&thing->monitor.mutex));
    leave_trail("leaves", &thing->trail);
    thing->monitor.busy = false;
    if (early)
        must("pthread_mutex_unlock", pthread_mutex_unlock(&thing->monitor.mutex));
    must("pthread_cond_signal", all ? pthread_cond_broadcast(&thing->monitor.changed)
                                    : pthread_cond_signal(&thing->monitor.changed));
    if (!early)
        must("pthread_mutex_unlock", pthread_mutex_unlock(&thing->monitor.mutex));
}

static void monitor_visit(struct thing *thing) {
    if (!monitor_enter(thing))
        return;
    stay(thing->level);
    monitor_leave(thing);
}

/* ---- the same of C11 ---- */

static void must_c11(const char *what, int code) {
    must(what, code == thrd_success ? 0 : EPROTO);
}

static void mtx_make(struct thing *thing) {
    static const int types[] = {mtx_plain, mtx_timed, mtx_timed | mtx_recursive};
    thing->type = (int)choose(3);
    must_c11("mtx_init", mtx_init(&thing->mtx, types[thing->type]));
}

static void mtx_unmake(struct thing *thing) {
    mtx_destroy(&thing->mtx);
}

static int lock_mtx(struct thing *thing) {
    struct timespec limit;
    switch (choose(4)) {
    case 0:
        return mtx_trylock(&thing->mtx);
    case 1:
        limit = from_now(CLOCK_REALTIME, SHORT);
        return thing->type > 0 ? mtx_timedlock(&thing->mtx, &limit) : mtx_lock(&thing->mtx);
    default:
        return mtx_lock(&thing->mtx);
    }
}

static void mtx_visit(struct thing *thing) {
    int code = lock_mtx(thing);
    observe("mtx", code);
    if (code != thrd_success)
        return;
    inside(thing, true);
    must_c11("mtx_unlock", mtx_unlock(&thing->mtx));
}

static void cnd_make(struct thing *thing) {
    must_c11("mtx_init", mtx_init(&thing->cnd.mtx, mtx_plain));
    must_c11("cnd_init", cnd_init(&thing->cnd.changed));
    thing->cnd.busy = false;
}

static void cnd_unmake(struct thing *thing) {
    cnd_destroy(&thing->cnd.changed);
    mtx_destroy(&thing->cnd.mtx);
}

/* Those who wait are all woken, so anybody may give up. */
static bool cnd_enter(struct thing *thing) {
    must_c11("mtx_lock", mtx_lock(&thing->cnd.mtx));
    int code = thrd_success;
    while (thing->cnd.busy && code == thrd_success) {
        struct timespec limit = from_now(CLOCK_REALTIME, SHORT);
        code = chance(2) ? cnd_timedwait(&thing->cnd.changed, &thing->cnd.mtx, &limit)
                         : cnd_wait(&thing->cnd.changed, &thing->cnd.mtx);
        observe("waited", code);
    }
    bool entered = !thing->cnd.busy;
    leave_trail(entered ? "enters" : "gives up", &thing->trail);
    if (entered)
        thing->cnd.busy = true;
    must_c11("mtx_unlock", mtx_unlock(&thing->cnd.mtx));
    return entered;
}

static void cnd_visit(struct thing *thing) {
    if (!cnd_enter(thing))
        return;
    stay(thing->level);
    must_c11("mtx_lock", mtx_lock(&thing->cnd.mtx));
    leave_trail("leaves", &thing->trail);
    thing->cnd.busy = false;
    must_c11("mtx_unlock", mtx_unlock(&thing->cnd.mtx));
    must_c11("cnd_broadcast", cnd_broadcast(&thing->cnd.changed));
}

/* ---- things ---- */

static const struct {
    void (*make)(struct thing *), (*visit)(struct thing *), (*unmake)(struct thing *);
} kinds[KINDS] = {
    [MUTEX] = {mutex_make, mutex_visit, mutex_unmake},
    [RWLOCK] = {rwlock_make, rwlock_visit, rwlock_unmake},
    [SPIN] = {spin_make, spin_visit, spin_unmake},
    [SEMAPHORE] = {semaphore_make, semaphore_visit, semaphore_unmake},
    [MONITOR] = {monitor_make, monitor_visit, monitor_unmake},
    [MTX] = {mtx_make, mtx_visit, mtx_unmake},
    [CND] = {cnd_make, cnd_visit, cnd_unmake},
};

static void make_thing(struct thing *thing, int level) {
    memset(thing, 0, sizeof *thing);
    thing->kind = choose(KINDS);
    thing->level = level;
    kinds[thing->kind].make(thing);
}

static void unmake_thing(struct thing *thing) {
    kinds[thing->kind].unmake(thing);
}

/* One of this party or of one around it, if it is above what the thread has. */
static void visit_above(void) {
    const struct party *party = me.party;
    for (unsigned out = choose((unsigned)party->depth + 1); out > 0; out--)
        party = party->outer;
    struct thing *thing = party->things[choose(THINGS)];
    if (thing->level <= me.floor)
        return;
    observe("visits", thing->level);
    kinds[thing->kind].visit(thing);
}

#endif
