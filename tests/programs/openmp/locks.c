/* Locks: waited for and tried, plain ones and such as their holder may take again. */
#include "team.h"

static struct trail plain, tried, nested;
static omp_lock_t lock, try_lock;
static omp_nest_lock_t nest;

static void deeper(int depth) {
    omp_set_nest_lock(&nest);
    step(&nested, depth);
    if (depth > 0)
        deeper(depth - 1);
    omp_unset_nest_lock(&nest);
}

int main(void) {
    omp_init_lock(&lock);
    omp_init_lock(&try_lock);
    omp_init_nest_lock(&nest);
    team_open();
#pragma omp parallel
    for (int i = 0; i < ROUNDS; i++) {
        omp_set_lock(&lock);
        step(&plain, i);
        omp_unset_lock(&lock);
        work();
        int got = omp_test_lock(&try_lock);
        observe("tried", got);
        if (got) {
            step(&tried, i);
            work();
            omp_unset_lock(&try_lock);
        }
        deeper(i % 3);
        int depth = omp_test_nest_lock(&nest);
        observe("depth", depth);
        if (depth) {
            deeper(1);
            work();
            omp_unset_nest_lock(&nest);
        }
    }
    trail_print("plain", &plain);
    trail_print("tried", &tried);
    trail_print("nested", &nested);
    team_close();
    omp_destroy_lock(&lock);
    omp_destroy_lock(&try_lock);
    omp_destroy_nest_lock(&nest);
    return 0;
}
