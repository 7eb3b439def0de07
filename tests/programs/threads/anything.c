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
#include "anything_things.h"

#include <signal.h>
#include <sys/random.h>
#include <sys/wait.h>

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

static void create_one_in_vain(void) {
    observe("in vain", create_in_vain(pass_by));
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
    {create_one_in_vain, 1},
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
