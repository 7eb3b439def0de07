/* Reductions and atomic updates of numbers with a fraction, whose rounding depends on the order;
   and counters. All of this is inline code, unless it was compiled by `refrain cc`. */
#include "team.h"

#include <stdatomic.h>

static double sum;
static float small;
static atomic_long counter;
static long older;
static atomic_flag flag = ATOMIC_FLAG_INIT;
static struct trail trail;

int main(void) {
    double total = 0;
    float both = 0;
    int most = 0;
    team_open();
    for (int round = 0; round < 10; round++) {
#pragma omp parallel for reduction(+ : total) schedule(static)
        for (int i = 0; i < 40; i++) {
            total += 1.0 / (3 + i + round);
            work();
        }
#pragma omp parallel for reduction(+ : both) reduction(max : most)
        for (int i = 0; i < 40; i++) {
            both += 1.0f / (float)(3 + i);
            most = most > i ? most : i;
        }
    }
#pragma omp parallel
    for (int i = 0; i < ROUNDS; i++) {
        double seen;
#pragma omp atomic
        sum += 1.0 / (1 + i * THREADS + observer.rank);
#pragma omp atomic
        small *= 1.01f;
#pragma omp atomic capture
        seen = sum *= 1.001;
        observe("captured", (long)(seen * 1e12));
        work();
#pragma omp atomic read
        seen = sum;
        observe("read", (long)(seen * 1e12));
        observe("counter", counter++);
        observe("older", __sync_fetch_and_add(&older, 3));
        while (atomic_flag_test_and_set(&flag))
            sched_yield();
        step(&trail, i);
        atomic_flag_clear(&flag);
    }
    printf("trail: %a %a %a %d\n", total, sum, both, most);
    fflush(stdout);
    trail_print("flag", &trail);
    team_close();
    return 0;
}
