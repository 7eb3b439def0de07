/* Loops with a dynamic schedule, in all the forms that GCC has for them. */
#include "team.h"

static void orphan(unsigned long long from, unsigned long long to) {
#pragma omp for schedule(dynamic, 3) nowait
    for (unsigned long long i = from; i < to; i += 7) {
        observe("orphan", (long)(i >> 3));
        work();
    }
}

int main(void) {
    team_open();
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 100; i++) {
        observe("combined", i);
        work();
    }
#pragma omp parallel
    {
#pragma omp for schedule(monotonic : dynamic, 4)
        for (long i = 200; i > -100; i -= 3) {
            observe("down", i);
            work();
        }
#pragma omp for schedule(nonmonotonic : dynamic, 2) nowait
        for (int i = 0; i < 90; i++) {
            observe("nowait", i);
            work();
        }
        orphan(1ull << 63, (1ull << 63) + 700);
        orphan(5, 600);
#pragma omp for schedule(dynamic) collapse(2)
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 9; j++)
                observe("collapsed", i * 10 + j);
#pragma omp for schedule(dynamic)
        for (int i = 10; i < 10; i++)
            observe("never", i);
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 2; i++) {
            observe("few", i);
            work();
        }
    }
    team_close();
    return 0;
}
