/* Tasks that create tasks and wait for them; and one thread that creates for all. */
#include "team.h"

static struct trail trail;

static long grow(int depth) {
    long left = 0, right = 0;
    observe("grow", depth);
    if (depth < 2)
        return depth;
#pragma omp task shared(left) firstprivate(depth)
    left = grow(depth - 1);
#pragma omp task shared(right) firstprivate(depth)
    right = grow(depth - 2);
    work();
#pragma omp taskwait
    observe("grown", depth);
#pragma omp critical
    step(&trail, depth);
    return left + right;
}

int main(void) {
    long sum = 0;
    team_open();
#pragma omp parallel
    {
#pragma omp single
        sum = grow(9);
#pragma omp single
        for (int i = 0; i < ROUNDS; i++) {
#pragma omp task firstprivate(i)
            {
                observe("one of many", i);
                work();
#pragma omp critical
                step(&trail, i);
            }
        }
    }
    printf("trail: sum %ld\n", sum);
    fflush(stdout);
    trail_print("tasks", &trail);
    team_close();
    return 0;
}
