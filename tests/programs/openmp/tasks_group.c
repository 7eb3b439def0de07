/* Groups of tasks, in each other and across tasks; tasks that run at once, final and untied ones,
   more of them than are kept; a parallel region in a task. */
#include "team.h"

static struct trail trail;

static void leaf(long value) {
    observe("leaf", value);
    work();
#pragma omp critical
    step(&trail, value);
}

static void divide(long from, long to) {
    if (to - from < 3) {
        leaf(from);
        return;
    }
    long middle = (from + to) / 2;
#pragma omp task untied firstprivate(from, middle) final(to - from < 10)
    divide(from, middle);
#pragma omp task mergeable firstprivate(middle, to) if (to - from > 6)
    divide(middle, to);
#pragma omp taskyield
}

int main(void) {
    long total = 0;
    team_open();
#pragma omp parallel
    {
#pragma omp single nowait
        {
#pragma omp taskgroup
            {
                divide(0, 60);
#pragma omp taskgroup
                divide(100, 130);
                observe("group", 1);
            }
            observe("group", 2);
            for (int i = 0; i < 700; i++) {
#pragma omp task firstprivate(i) shared(total) priority(i % 3)
                {
                    observe("many", i);
                    if (i % 50 == 0)
                        work();
#pragma omp critical
                    total += i;
                }
            }
        }
    }
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 6; i++) {
#pragma omp task firstprivate(i)
        {
            observe("outer", i);
#pragma omp parallel num_threads(2)
            {
#pragma omp for schedule(dynamic)
                for (int j = 0; j < 8; j++) {
                    work();
#pragma omp critical
                    step(&trail, i * 10 + j);
                }
#pragma omp task firstprivate(i)
                {
#pragma omp critical
                    step(&trail, i);
                }
            }
        }
    }
    printf("trail: total %ld\n", total);
    fflush(stdout);
    trail_print("group", &trail);
    team_close();
    return 0;
}
