/* A mixture of everything: mix SEED. What is done, in which order and how deep, follows from the
   seed; who does it does not. */
#include "team.h"

static struct trail trail;
static omp_lock_t lock;

/* The same for every thread: `state` belongs to the place in the program. */
static unsigned choose(unsigned *state, unsigned sides) {
    *state = *state * 1103515245u + 12345u;
    return (*state >> 16) % sides;
}

static void kept(long value) {
#pragma omp critical
    step(&trail, value);
}

/* What a task may do. */
static void task_body(unsigned state, int depth) {
    observe("task", (long)state);
    for (unsigned i = 0, count = choose(&state, 4) + 1; i < count; i++) {
        unsigned inner = state + i * 977;
        long cell = 0;
        switch (depth > 0 ? choose(&state, 9) : choose(&state, 3)) {
        case 0:
            kept((long)inner);
            break;
        case 1:
            if (omp_test_lock(&lock)) {
                observe("got", 1);
                omp_unset_lock(&lock);
            }
            break;
        case 2:
            work();
            break;
        case 3:
        case 4:
#pragma omp task firstprivate(inner, depth)
            task_body(inner, depth - 1);
            break;
        case 5:
#pragma omp task firstprivate(inner, depth) if (inner % 3)
            task_body(inner, depth - 1);
#pragma omp taskwait
            observe("waited", 1);
            break;
        case 6:
#pragma omp taskgroup
        {
#pragma omp task firstprivate(inner, depth) final(inner % 2)
            task_body(inner, depth - 1);
#pragma omp task firstprivate(inner)
            kept((long)inner);
        }
            observe("group", 1);
            break;
        case 7:
            for (int j = 0; j < 3; j++) {
#pragma omp task depend(inout : cell) shared(cell) firstprivate(j)
                {
                    cell = cell * 3 + j;
                    observe("cell", cell);
                }
            }
#pragma omp taskwait
            break;
        case 8:
#pragma omp taskloop grainsize(2) firstprivate(inner)
            for (int j = 0; j < 7; j++)
                observe("taskloop", (long)(inner % 100) + j);
            break;
        }
    }
}

/* What a team does, each of its threads. */
static void team_body(unsigned state, int depth) {
    for (unsigned i = 0, count = choose(&state, 6) + 3; i < count; i++) {
        unsigned inner = state + i * 331;
        long copied = 0;
        switch (choose(&state, depth > 0 ? 11 : 10)) {
        case 0:
#pragma omp for schedule(dynamic)
            for (int j = 0; j < 13; j++)
                observe("dynamic", j);
            break;
        case 1:
#pragma omp for schedule(guided) nowait
            for (unsigned long long j = 0; j < 40; j++)
                observe("guided", (long)j);
            break;
        case 2:
#pragma omp for schedule(dynamic, 2) ordered
            for (int j = 0; j < 15; j++) {
#pragma omp ordered
                observe("ordered", j);
            }
            break;
        case 3:
#pragma omp single
            task_body(inner, 3);
            break;
        case 4:
#pragma omp single nowait
            task_body(inner, 2);
            break;
        case 5:
#pragma omp single copyprivate(copied)
            copied = observer.rank;
            observe("copied", copied);
            break;
        case 6:
            task_body(inner + (unsigned)omp_get_thread_num(), 2);
            break;
        case 7:
            observe("barrier", 0);
#pragma omp barrier
            observe("barrier", 1);
            break;
        case 8:
#pragma omp sections
        {
#pragma omp section
            kept(1);
#pragma omp section
            task_body(inner, 1);
#pragma omp section
            observe("section", 3);
        } break;
        case 9:
            kept((long)i);
            break;
        case 10:
#pragma omp parallel num_threads(2)
            team_body(inner, depth - 1);
            break;
        }
    }
}

int main(int argc, char **argv) {
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    omp_init_lock(&lock);
    team_open();
    omp_set_max_active_levels(2);
    for (unsigned round = 0; round < 8; round++) {
#pragma omp parallel num_threads(2 + (int)(round % 3))
        team_body(seed * 7919 + round * 104729, 1);
    }
    trail_print("mix", &trail);
    omp_set_max_active_levels(1);
    team_close();
    omp_destroy_lock(&lock);
    return 0;
}
