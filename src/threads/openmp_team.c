/* Teams of threads, and their barriers. */
#include <pthread.h>
#include <stdlib.h>

#include "threads/create.h"
#include "threads/openmp.h"
#include "threads/races.h"

_Thread_local struct rf_omp_member *rf_omp_member;

/* A thread that libgomp made is in one team as a worker, and maybe in others, inside it, as their
   master. Tasks may run in it after the team's function is done: it stays a member until it comes
   again, or ends. */
static _Thread_local struct rf_omp_member worker __attribute__((tls_model("initial-exec")));
static pthread_key_t leaving;
static int leaving_made, leaving_lock;

/* ---- members ---- */

static void let_go(struct rf_omp_team *team) {
    if (__atomic_sub_fetch(&team->references, 1, __ATOMIC_ACQ_REL))
        return;
    rf_omp_tasks_free(team);
    rf_omp_gates_free(team);
    rf_omp_free(team);
}

static void leave(struct rf_omp_member *member) {
    rf_omp_member = member->outer;
    rf_omp_implicit_leave(member);
    let_go(member->team);
    member->team = NULL;
}

static void leave_at_end(void *unused) {
    (void)unused;
    if (worker.team)
        leave(&worker);
}

static void watch_end(void) {
    if (!__atomic_load_n(&leaving_made, __ATOMIC_ACQUIRE)) {
        rf_omp_lock(&leaving_lock);
        if (!leaving_made)
            __atomic_store_n(&leaving_made, pthread_key_create(&leaving, leave_at_end) == 0,
                             __ATOMIC_RELEASE);
        rf_omp_unlock(&leaving_lock);
    }
    if (__atomic_load_n(&leaving_made, __ATOMIC_ACQUIRE))
        pthread_setspecific(leaving, &worker);
}

static void enter(struct rf_omp_team *team, unsigned number) {
    struct rf_omp_member *member = &team->master;
    if (number) {
        member = &worker;
        if (worker.team)
            leave(&worker);
        watch_end();
        __atomic_add_fetch(&team->references, 1, __ATOMIC_RELAXED);
    }
    *member = (struct rf_omp_member){
        .team = team, .outer = rf_omp_member, .number = number, .loop_fixed = team->loop_fixed};
    rf_omp_member = member;
    rf_omp_implicit_enter(member);
}

/* ---- barriers ---- */

void rf_omp_barrier(uintptr_t address, void (*real)(void)) {
    struct rf_omp_member *member = rf_omp_member;
    if (!member) {
        real();
        return;
    }
    struct rf_thread *self = rf_threads.replays ? rf_here() : NULL;
    uint64_t point = rf_omp_point(address);
    const char *mark = &member->team->marks.barrier[member->barriers % 2];
    if (self)
        rf_turn_blocks(self, RF_OP_OMP_BARRIER, address);
    rf_race_before(mark);
    real();
    rf_race_after(mark);
    if (self)
        rf_turn_goes_on(self);
    member->barriers++;
    rf_omp_point_after(address, point);
}

static void real_barrier(void) {
    rf_gomp()->GOMP_barrier();
}

static void real_loop_end(void) {
    rf_gomp()->GOMP_loop_end();
}

static void real_sections_end(void) {
    rf_gomp()->GOMP_sections_end();
}

void GOMP_barrier(void) {
    rf_omp_barrier(RF_HERE_ADDRESS, real_barrier);
}

void GOMP_loop_end(void) {
    rf_omp_barrier(RF_HERE_ADDRESS, real_loop_end);
}

void GOMP_sections_end(void) {
    rf_omp_barrier(RF_HERE_ADDRESS, real_sections_end);
}

/* Barriers that take or tell something: whether the team was cancelled. */
static _Thread_local bool cancelled __attribute__((tls_model("initial-exec")));

static void real_barrier_cancel(void) {
    cancelled = rf_gomp()->GOMP_barrier_cancel();
}

static void real_loop_end_cancel(void) {
    cancelled = rf_gomp()->GOMP_loop_end_cancel();
}

static void real_sections_end_cancel(void) {
    cancelled = rf_gomp()->GOMP_sections_end_cancel();
}

static void real_reduction_unregister(void) {
    rf_gomp()->GOMP_workshare_task_reduction_unregister(cancelled);
}

bool GOMP_barrier_cancel(void) {
    rf_omp_barrier(RF_HERE_ADDRESS, real_barrier_cancel);
    return cancelled;
}

bool GOMP_loop_end_cancel(void) {
    rf_omp_barrier(RF_HERE_ADDRESS, real_loop_end_cancel);
    return cancelled;
}

bool GOMP_sections_end_cancel(void) {
    rf_omp_barrier(RF_HERE_ADDRESS, real_sections_end_cancel);
    return cancelled;
}

void GOMP_workshare_task_reduction_unregister(bool given_up) {
    cancelled = given_up;
    rf_omp_barrier(RF_HERE_ADDRESS, real_reduction_unregister);
}

/* ---- parallel regions ---- */

static bool is_forked(void *what, uint64_t unused) {
    (void)unused;
    return __atomic_load_n((int *)what, __ATOMIC_ACQUIRE);
}

/* All that the master did before comes before what the others do, also what it did inside libgomp,
   which may have made memory for them. So it is the master that tells of it in here, and the others
   wait for that. */
static void tell_fork(struct rf_omp_team *team) {
    if (rf_omp_member->number == 0) {
        rf_race_before(&team->marks.fork);
        __atomic_store_n(&team->forked, 1, __ATOMIC_RELEASE);
        rf_omp_changed();
    } else {
        rf_omp_await(rf_here(), RF_OP_OMP_BARRIER, (uintptr_t)team->function, is_forked,
                     &team->forked, 0);
        rf_race_after(&team->marks.fork);
    }
}

static void run_member(void *argument) {
    struct rf_omp_team *team = argument;
    __atomic_store_n(&team->size, (unsigned)rf_gomp()->omp_get_num_threads(), __ATOMIC_RELAXED);
    enter(team, (unsigned)rf_gomp()->omp_get_thread_num());
    if (team->dynamic)
        rf_gomp()->omp_set_dynamic(true);
    if (__builtin_expect(rf_threads.races, 0))
        tell_fork(team);
    team->function(team->data);
    rf_omp_point((uintptr_t)team->function);
    rf_race_before(&team->marks.join);
}

static struct rf_omp_team *begin(void (*function)(void *), void *data) {
    struct rf_omp_team *team = rf_omp_allocate(sizeof *team);
    team->function = function;
    team->data = data;
    team->references = 1;
    return team;
}

bool rf_omp_schedule_fixed(void) {
    enum { STATIC = 1, AUTO = 4, MONOTONIC = INT32_MIN };
    int kind, chunk;
    rf_gomp()->omp_get_schedule(&kind, &chunk);
    kind &= ~MONOTONIC;
    return kind == STATIC || kind == AUTO;
}

/* How many threads a team gets if libgomp may choose: what the load of the machine leaves, as it
   does it itself. */
static unsigned choose(unsigned threads) {
    double loads[3];
    unsigned most = threads ? threads : (unsigned)rf_gomp()->omp_get_max_threads();
    unsigned processors = (unsigned)rf_gomp()->omp_get_num_procs();
    unsigned load = getloadavg(loads, 3) == 3 ? (unsigned)(loads[2] + 0.1) : 0;
    unsigned left = load < processors ? processors - load : 1;
    return left < most ? left : most;
}

/* With `omp_set_dynamic` the number of threads is open. It is chosen here instead of by libgomp,
   which then has to take it as it is. */
static unsigned size_of(struct rf_omp_team *team, uintptr_t address, unsigned threads) {
    if (threads == 1 || !rf_gomp()->omp_get_dynamic() || !rf_creates(address))
        return threads;
    struct rf_thread *self = rf_self;
    unsigned size;
    if (rf_threads.replays) {
        size = (unsigned)rf_value_play(self, RF_OP_OMP_TEAM, address);
        if (self->free)
            return threads;
    } else {
        size = choose(threads);
        rf_threads.head->teams = 1;
        rf_value_record(self, RF_OP_OMP_TEAM, address, size);
    }
    team->dynamic = true;
    rf_gomp()->omp_set_dynamic(false);
    return size;
}

#define PARALLEL(prepare, call)                                                                    \
    do {                                                                                           \
        struct rf_omp_team *team = begin(function, data);                                          \
        prepare;                                                                                   \
        threads = size_of(team, RF_HERE_ADDRESS, threads);                                         \
        call;                                                                                      \
        if (team->dynamic)                                                                         \
            rf_gomp()->omp_set_dynamic(true);                                                      \
        rf_race_after(&team->marks.join);                                                          \
        leave(&team->master);                                                                      \
    } while (0)

void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags) {
    PARALLEL(, rf_gomp()->GOMP_parallel(run_member, team, threads, flags));
}

unsigned GOMP_parallel_reductions(void (*function)(void *), void *data, unsigned threads,
                                  unsigned flags) {
    unsigned made;
    PARALLEL(team->reductions = *(uintptr_t **)data,
             made = rf_gomp()->GOMP_parallel_reductions(run_member, team, threads, flags));
    return made;
}

void GOMP_parallel_sections(void (*function)(void *), void *data, unsigned threads,
                            unsigned sections, unsigned flags) {
    PARALLEL(, rf_gomp()->GOMP_parallel_sections(run_member, team, threads, sections, flags));
}

#define PARALLEL_LOOP(kind)                                                                        \
    void GOMP_parallel_loop_##kind(void (*function)(void *), void *data, unsigned threads,         \
                                   long start, long end, long step, long chunk, unsigned flags) {  \
        PARALLEL(, rf_gomp()->GOMP_parallel_loop_##kind(run_member, team, threads, start, end,     \
                                                        step, chunk, flags));                      \
    }

PARALLEL_LOOP(static)
PARALLEL_LOOP(dynamic)
PARALLEL_LOOP(guided)
PARALLEL_LOOP(nonmonotonic_dynamic)
PARALLEL_LOOP(nonmonotonic_guided)

#define PARALLEL_RUNTIME(kind)                                                                     \
    void GOMP_parallel_loop_##kind(void (*function)(void *), void *data, unsigned threads,         \
                                   long start, long end, long step, unsigned flags) {              \
        PARALLEL(team->loop_fixed = rf_omp_schedule_fixed(),                                       \
                 rf_gomp()->GOMP_parallel_loop_##kind(run_member, team, threads, start, end, step, \
                                                      flags));                                     \
    }

PARALLEL_RUNTIME(runtime)
PARALLEL_RUNTIME(nonmonotonic_runtime)
PARALLEL_RUNTIME(maybe_nonmonotonic_runtime)
