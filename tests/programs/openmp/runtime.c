/* Loops whose schedule is chosen when the program runs. */
#include "team.h"

static void loops(void) {
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 100; i++) {
        observe("combined", i);
        work();
    }
#pragma omp parallel
    {
#pragma omp for schedule(monotonic : runtime)
        for (int i = 0; i < 100; i++) {
            observe("monotonic", i);
            work();
        }
#pragma omp for schedule(nonmonotonic : runtime)
        for (unsigned long long i = 0; i < 100; i++) {
            observe("nonmonotonic", (long)i);
            work();
        }
#pragma omp for schedule(runtime) ordered
        for (int i = 0; i < 60; i++) {
            work();
#pragma omp ordered
            observe("ordered", i);
        }
    }
}

int main(void) {
    static const omp_sched_t kinds[] = {omp_sched_dynamic, omp_sched_static, omp_sched_guided,
                                        omp_sched_auto};
    team_open();
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 4; i++) {
            omp_set_schedule(kinds[i], 1 + round);
            loops();
        }
    team_close();
    return 0;
}
