/* Tasks that all threads create, and that run in every kind of barrier: of the team, of a loop, of
   sections, of a single with copyprivate, and at the end of the region. */
#include "team.h"

static struct trail trail;

static void some(int round, int count) {
    for (int i = 0; i < count; i++) {
#pragma omp task firstprivate(i, round)
        {
            observe("task", round * 100 + i);
            work();
            if (i == 1) {
#pragma omp task firstprivate(round)
                {
                    observe("inner", round);
#pragma omp critical
                    step(&trail, round);
                }
            }
        }
    }
}

int main(void) {
    team_open();
    for (int round = 0; round < 12; round++) {
#pragma omp parallel
        {
            long copied;
            some(round, 3);
#pragma omp barrier
            observe("after", 1);
#pragma omp barrier
            some(round, observer.rank);
#pragma omp for schedule(dynamic, 2)
            for (int i = 0; i < 20; i++) {
                observe("chunk", i);
                some(round, i % 3);
            }
            observe("after", 2);
#pragma omp sections
            {
#pragma omp section
                some(round, 4);
#pragma omp section
                work();
            }
            observe("after", 3);
            some(round, 1);
#pragma omp single copyprivate(copied)
            copied = observer.rank;
            observe("copied", copied);
            if (round % 3)
                some(round, 5);
        }
        observe("region", round);
    }
    trail_print("inner", &trail);
    team_close();
    return 0;
}
