/* Loops and sections that are given up as soon as one of the threads has found something: how far
   the others came is open. The environment has OMP_CANCELLATION=true. */
#include "team.h"

#include <stdbool.h>

enum { SEARCHES = 20 };

static long visits[SEARCHES], found[SEARCHES];

static void search(int round) {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 200; i++) {
        observe("dynamic", i);
        work();
        bool last;
#pragma omp critical
        {
            last = ++visits[round] == 20;
            if (last)
                found[round] = i;
        }
#pragma omp cancel for if (last)
        work();
#pragma omp cancellation point for
    }
#pragma omp for
    for (int i = 0; i < 100; i++) {
        observe("static", i);
        work();
#pragma omp cancel for if (found[round] % 7 == i % 7)
    }
}

static void divide(int round) {
#pragma omp sections
    {
#pragma omp section
        {
            work();
            observe("first", round);
#pragma omp cancel sections if (found[round] % 2)
        }
#pragma omp section
        {
            work();
#pragma omp cancellation point sections
            observe("second", round);
        }
#pragma omp section
        observe("third", round);
    }
}

int main(void) {
    if (!omp_get_cancellation()) {
        fprintf(stderr, "cancel: OMP_CANCELLATION is not true\n");
        return 1;
    }
    team_open();
#pragma omp parallel
    for (int i = 0; i < SEARCHES; i++) {
        search(i);
        divide(i);
    }
    struct trail trail = {0};
    for (int i = 0; i < SEARCHES; i++)
        step(&trail, found[i]);
    trail_print("found", &trail);
    team_close();
    return 0;
}
