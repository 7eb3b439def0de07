/* Threads that do anything: anything SEED [STEPS] [values] [clocks]

   From the seed every thread does a long mixture of all that threads can do to each other. What it
   does next follows from all that it has observed: who was there before it, what failed, what came
   too late. So any difference of a replay grows. With PROGRAM_LOG=DIRECTORY each thread writes down
   what it observes.

   Things (locks, semaphores, monitors) belong to parties. A party's leader makes things and
   threads, the guests, and ends it when all guests have gone; the things are then made anew in the
   same memory, of other kinds, or freed. Guests may give parties themselves.

   No data race: a trail is only touched by who has its thing. No deadlock: things have levels, and
   who has one visits only things above it; guests stay above what their leader had when it made
   them. All else that is waited for is certain to come, or waited for but a short time.

   values: what the outside tells is observed, too. clocks: without what the order of clocks does
   not know. */
#include "trails.h"

#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/random.h>
#include <sys/wait.h>
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

static int mutex_lock(pthread_mutex_t *mutex) {
    struct timespec limit;
    switch (choose(6)) {
    case 0:
        return pthread_mutex_trylock(mutex);
    case 1:
        limit = from_now(CLOCK_REALTIME, SHORT);
        return pthread_mutex_timedlock(mutex, &limit);
    case 2:
        limit = from_now(CLOCK_MONOTONIC, SHORT);
        return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &limit);
    default:
        return pthread_mutex_lock(mutex);
    }
}

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

static int rwlock_read(pthread_rwlock_t *lock) {
    struct timespec limit;
    switch (choose(6)) {
    case 0:
        return pthread_rwlock_tryrdlock(lock);
    case 1:
        limit = from_now(CLOCK_REALTIME, SHORT);
        return pthread_rwlock_timedrdlock(lock, &limit);
    case 2:
        limit = from_now(CLOCK_MONOTONIC, SHORT);
        return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &limit);
    default:
        return pthread_rwlock_rdlock(lock);
    }
}

static int rwlock_write(pthread_rwlock_t *lock) {
    struct timespec limit;
    switch (choose(6)) {
    case 0:
        return pthread_rwlock_trywrlock(lock);
    case 1:
        limit = from_now(CLOCK_REALTIME, SHORT);
        return pthread_rwlock_timedwrlock(lock, &limit);
    case 2:
        limit = from_now(CLOCK_MONOTONIC, SHORT);
        return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &limit);
    default:
        return pthread_rwlock_wrlock(lock);
    }
}

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

/* ---- guests ---- */

static void enter(const struct guest *guest) {
    observe_open(guest->number);
    observer.hash = observe_mix(guest->seed, &guest->number, sizeof guest->number);
    me.party = guest->party;
    me.floor = guest->floor;
    me.steps = guest->steps;
}

static void once_routine(void) {
    leave_trail("first", &me.party->firsts);
    pass_gate("once", NULL);
}

static void flag_routine(void) {
    leave_trail("first", &me.party->seconds);
    visit_above();
}

/* Who came first is known to those who come later. */
static void arrive(void) {
    if (chance(2)) {
        must("pthread_once", pthread_once(&me.party->once, once_routine));
        observe("firsts", (long)me.party->firsts.hash);
    } else {
        call_once(&me.party->flag, flag_routine);
        observe("seconds", (long)me.party->seconds.hash);
    }
}

/* It comes up to three times. */
static void say_farewell(void *argument) {
    int *rounds = argument;
    pass_gate("farewell", NULL);
    if (--*rounds > 0)
        must("pthread_setspecific", pthread_setspecific(me.party->key, rounds));
    else
        free(rounds);
}

static void prepare_farewell(void) {
    int *rounds = malloc(sizeof *rounds);
    *rounds = 1 + (int)choose(3);
    must("pthread_setspecific", pthread_setspecific(me.party->key, rounds));
}

/* Its last thing, which somebody else finds. */
static void die_with_lock(void) {
    for (int i = 0; i < THINGS; i++) {
        struct thing *thing = me.party->things[i];
        if (thing->kind == MUTEX && thing->type == ROBUST && thing->level > me.floor && chance(2)) {
            int code = mutex_lock(&thing->mutex);
            observe("dies with", code);
            if (code == 0 || code == EOWNERDEAD)
                leave_trail("dies", &thing->trail);
            return;
        }
    }
}

static void be_guest(const struct guest *guest) {
    enter(guest);
    arrive();
    if (!guest->detached && chance(2))
        prepare_farewell();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < me.steps; i++)
            act();
        observe("serial", pthread_barrier_wait(&me.party->barrier));
    }
    if (guest->detached) {
        observe_close();
        pass_gate("gone", &me.party->running);
        return;
    }
    die_with_lock();
    observe_close();
}

static void *be_posix(void *argument) {
    struct guest guest = *(struct guest *)argument;
    be_guest(&guest);
    if (guest.number % 2)
        pthread_exit((void *)(uintptr_t)observer.hash);
    return (void *)(uintptr_t)observer.hash;
}

static int be_c11(void *argument) {
    struct guest guest = *(struct guest *)argument;
    be_guest(&guest);
    if (guest.number % 2)
        thrd_exit((int)observer.hash);
    return (int)observer.hash;
}

static struct guest next_guest(int steps) {
    return (struct guest){.party = me.party,
                          .number = observer.rank * 1000 + ++me.made,
                          .seed = observer.hash,
                          .floor = me.floor,
                          .steps = steps};
}

static void invite(struct guest *guest) {
    *guest = next_guest(2 + me.steps / 2);
    guest->is_c11 = chance(3);
    guest->detached = chance(5);
    if (guest->detached) {
        must("pthread_mutex_lock", pthread_mutex_lock(&gate));
        me.party->running++;
        must("pthread_mutex_unlock", pthread_mutex_unlock(&gate));
    }
    /* One that is detached may be gone, and the party over, before this knows it. */
    bool is_c11 = guest->is_c11, detached = guest->detached;
    if (is_c11)
        must_c11("thrd_create", thrd_create(&guest->c11, be_c11, guest));
    else
        must("pthread_create", pthread_create(&guest->thread, NULL, be_posix, guest));
    if (detached && is_c11)
        must_c11("thrd_detach", thrd_detach(guest->c11));
    else if (detached)
        must("pthread_detach", pthread_detach(guest->thread));
}

static int try_to_join(pthread_t thread, void **result) {
    struct timespec limit;
    switch (choose(4)) {
    case 0:
        return pthread_tryjoin_np(thread, result);
    case 1:
        limit = from_now(CLOCK_REALTIME, SHORT);
        return pthread_timedjoin_np(thread, result, &limit);
    case 2:
        limit = from_now(CLOCK_MONOTONIC, SHORT);
        return pthread_clockjoin_np(thread, result, CLOCK_MONOTONIC, &limit);
    default:
        return pthread_join(thread, result);
    }
}

static void see_off(const struct guest *guest) {
    void *result;
    int number, code;
    if (guest->detached)
        return;
    if (guest->is_c11) {
        must_c11("thrd_join", thrd_join(guest->c11, &number));
        observe("result", number);
        return;
    }
    while ((code = try_to_join(guest->thread, &result)) != 0) {
        observe("not yet", code);
        visit_above();
    }
    observe("result", (long)(uintptr_t)result);
}

/* Whatever it waits for; some waits end with that. */
static void poke(const struct guest *guest) {
    if (!guest->detached && !guest->is_c11)
        must("pthread_kill", pthread_kill(guest->thread, chance(2) ? SIGUSR1 : SIGUSR2));
}

static void poked(int signal) {
    (void)signal;
}

static void wait_for_detached(const struct party *party) {
    must("pthread_mutex_lock", pthread_mutex_lock(&gate));
    while (party->running > 0) {
        must("pthread_cond_wait", pthread_cond_wait(&gate_changed, &gate));
        leave_trail("woke", &gate_trail);
    }
    must("pthread_mutex_unlock", pthread_mutex_unlock(&gate));
}

static void entertain(struct party *party) {
    struct guest guests[GUESTS];
    for (int i = 0; i < party->guests; i++)
        invite(&guests[i]);
    for (int i = 0; i < party->guests; i++) {
        if (chance(2))
            poke(&guests[i]);
        visit_above();
    }
    for (int i = 0; i < party->guests; i++)
        see_off(&guests[i]);
    wait_for_detached(party);
}

static void hold_party(struct party *party) {
    static const pthread_once_t once = PTHREAD_ONCE_INIT;
    static const once_flag flag = ONCE_FLAG_INIT;
    party->once = once;
    party->flag = flag;
    party->guests = 2 + (int)choose(GUESTS - 1);
    must("pthread_key_create", pthread_key_create(&party->key, say_farewell));
    must("pthread_barrier_init",
         pthread_barrier_init(&party->barrier, NULL, (unsigned)party->guests));
    for (int i = 0; i < THINGS; i++)
        make_thing(party->things[i], party->depth * LEVELS + i);
    entertain(party);
    for (int i = 0; i < THINGS; i++)
        unmake_thing(party->things[i]);
    must("pthread_barrier_destroy", pthread_barrier_destroy(&party->barrier));
    must("pthread_key_delete", pthread_key_delete(party->key));
    me.gift = NULL;
}

static void give_party(void) {
    struct party *outer = me.party, *party;
    if (outer->depth == DEPTH || me.steps == 0) /* it only passes by */
        return;
    party = calloc(1, sizeof *party);
    party->outer = outer;
    party->depth = outer->depth + 1;
    for (int i = 0; i < THINGS; i++)
        party->things[i] = malloc(sizeof *party->things[i]);
    me.party = party;
    for (unsigned again = choose(2) + 1; again > 0; again--)
        hold_party(party);
    me.party = outer;
    for (int i = 0; i < THINGS; i++)
        free(party->things[i]);
    free(party);
}

/* ---- threads that are cancelled ---- */

struct victim {
    struct guest guest;
    pthread_mutex_t mutex;
    pthread_cond_t never;
    sem_t nothing;
};

static void victim_ends(void *argument) {
    (void)argument;
    pass_gate("cancelled", NULL);
    observe_close();
}

static void unlock_mutex(void *mutex) {
    must("pthread_mutex_unlock", pthread_mutex_unlock(mutex));
}

static void wait_for_never(struct victim *victim, bool limited) {
    struct timespec limit = from_now(CLOCK_REALTIME, SHORT);
    must("pthread_mutex_lock", pthread_mutex_lock(&victim->mutex));
    pthread_cleanup_push(unlock_mutex, &victim->mutex);
    do {
        if (limited)
            pthread_cond_timedwait(&victim->never, &victim->mutex, &limit);
        else
            pthread_cond_wait(&victim->never, &victim->mutex);
    } while (!limited);
    pthread_cleanup_pop(1);
}

/* Here it can be cancelled. */
static void be_cancelled(struct victim *victim) {
    unsigned how = choose(7);
    struct timespec limit = from_now(CLOCK_REALTIME, SHORT);
    int state;
    observe("can be cancelled", how);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    switch (how) {
    case 0:
    case 1:
        wait_for_never(victim, how == 0);
        break;
    case 2:
        while (sem_wait(&victim->nothing) != 0)
            ;
        break;
    case 3:
        sem_timedwait(&victim->nothing, &limit);
        break;
    case 4:
        for (;;)
            pause();
    default:
        pthread_testcancel();
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
}

static void *be_victim(void *argument) {
    struct victim *victim = argument;
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    enter(&victim->guest);
    pthread_cleanup_push(victim_ends, NULL);
    for (int i = 0; i < victim->guest.steps; i++) {
        visit_above();
        be_cancelled(victim);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancel_somebody(void) {
    void *result;
    if (!with_deaths)
        return;
    struct victim *victim = calloc(1, sizeof *victim);
    victim->guest = next_guest(3 + (int)choose(8));
    must("pthread_mutex_init", pthread_mutex_init(&victim->mutex, NULL));
    must("pthread_cond_init", pthread_cond_init(&victim->never, NULL));
    must("sem_init", sem_init(&victim->nothing, 0, 0));
    must("pthread_create", pthread_create(&victim->guest.thread, NULL, be_victim, victim));
    for (unsigned i = choose(4); i > 0; i--)
        visit_above();
    for (unsigned i = choose(2) + 1; i > 0; i--)
        must("pthread_cancel", pthread_cancel(victim->guest.thread));
    visit_above();
    must("pthread_join", pthread_join(victim->guest.thread, &result));
    observe("cancelled", result == PTHREAD_CANCELED);
    must("pthread_mutex_destroy", pthread_mutex_destroy(&victim->mutex));
    must("pthread_cond_destroy", pthread_cond_destroy(&victim->never));
    must("sem_destroy", sem_destroy(&victim->nothing));
    free(victim);
}

/* ---- threads that come and go, or do not even come ---- */

static void *pass_by(void *argument) {
    struct guest guest = *(struct guest *)argument;
    enter(&guest);
    visit_above();
    observe_close();
    return (void *)(uintptr_t)observer.hash;
}

static void have_passers_by(void) {
    for (unsigned i = 2 + choose(6); i > 0; i--) {
        struct guest guest = next_guest(0);
        void *result;
        must("pthread_create", pthread_create(&guest.thread, NULL, pass_by, &guest));
        if (chance(2))
            visit_above();
        must("pthread_join", pthread_join(guest.thread, &result));
        observe("passed", (long)(uintptr_t)result);
    }
}

static void create_in_vain(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    must("pthread_attr_setstacksize", pthread_attr_setstacksize(&attributes, (size_t)1 << 46));
    observe("in vain", pthread_create(&thread, &attributes, pass_by, NULL));
    pthread_attr_destroy(&attributes);
}

/* ---- processes ---- */

static void *in_child(void *argument) {
    sem_t *semaphore = argument;
    must("sem_post", sem_post(semaphore));
    return NULL;
}

/* What other threads of the parent had nobody here can have. */
static void be_child(int code) {
    pthread_t thread;
    sem_t semaphore;
    must("sem_init", sem_init(&semaphore, 0, 0));
    must("pthread_create", pthread_create(&thread, NULL, in_child, &semaphore));
    while (sem_wait(&semaphore) != 0)
        ;
    must("pthread_join", pthread_join(thread, NULL));
    _exit(code);
}

static void have_child(void) {
    int code = (int)choose(100), status;
    pid_t child = fork();
    if (child == 0)
        be_child(code);
    if (child < 0)
        must("fork", errno);
    visit_above();
    while (waitpid(child, &status, 0) != child)
        if (errno != EINTR)
            must("waitpid", errno);
    observe("child", status);
}

/* ---- what the outside tells ---- */

static void ask(void) {
    struct timespec now;
    unsigned random;
    if (!with_values)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    observe("now", now.tv_nsec);
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        must("getrandom", errno);
    observe("random", random);
    observe("seconds", (long)time(NULL));
    observe("process", getpid());
}

/* ---- all of it ---- */

static const struct {
    void (*act)(void);
    unsigned weight;
} actions[] = {
    {visit_above, 60},
    {give_party, 3},
    {cancel_somebody, 2},
    {have_passers_by, 2},
    {create_in_vain, 1},
    {have_child, 1},
    {ask, 4},
};

static void act(void) {
    enum { ACTIONS = sizeof actions / sizeof *actions };
    unsigned sum = 0, which = 0;
    for (int i = 0; i < ACTIONS; i++)
        sum += actions[i].weight;
    for (unsigned left = choose(sum); left >= actions[which].weight; which++)
        left -= actions[which].weight;
    observe("acts", which);
    actions[which].act();
}

static void *straggle(void *argument) {
    struct guest guest = *(struct guest *)argument;
    free(argument);
    enter(&guest);
    for (;;)
        visit_above();
    return NULL;
}

/* Some are still busy when the process ends. */
static void leave_stragglers(void) {
    for (unsigned i = choose(3); i > 0; i--) {
        struct guest *guest = malloc(sizeof *guest);
        pthread_t thread;
        *guest = next_guest(0);
        must("pthread_create", pthread_create(&thread, NULL, straggle, guest));
        must("pthread_detach", pthread_detach(thread));
    }
    for (int i = 0; i < 4; i++)
        visit_above();
}

static void begin(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    struct sigaction action = {.sa_handler = poked};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, NULL);
    observe_open(0);
    observer.hash = observe_mix(observer.hash, &seed, sizeof seed);
    me.party = &world;
    me.floor = -1;
    me.steps = argc > 2 ? atoi(argv[2]) : 10;
    for (int i = 3; i < argc; i++) {
        with_values |= strcmp(argv[i], "values") == 0;
        with_deaths &= strcmp(argv[i], "clocks") != 0;
    }
    for (int i = 0; i < THINGS; i++) {
        world.things[i] = &world_things[i];
        make_thing(world.things[i], i);
    }
}

int main(int argc, char **argv) {
    begin(argc, argv);
    give_party();
    for (int i = 0; i < me.steps; i++)
        act();
    leave_stragglers();
    observe_close();
    switch (choose(4)) {
    case 0:
        _exit(0);
    case 1:
        quick_exit(0);
    default:
        return 0;
    }
}
