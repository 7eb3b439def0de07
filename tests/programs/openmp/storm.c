/* Tasks and loops without any pause in them, so that threads meet in libgomp as often as they can:
   some are still in a barrier when others have gone on. */
#include "team.h"

static struct trail trail;

static void grow(int depth) {
    if (depth == 0)
        return;
#pragma omp task firstprivate(depth)
    grow(depth - 1);
#pragma omp task firstprivate(depth)
    grow(depth - 1);
#pragma omp critical
    step(&trail, depth);
#pragma omp taskwait
    observe("grown", depth);
}

int main(void) {
    team_open();
#pragma omp parallel
    for (int round = 0; round < 12; round++) {
#pragma omp single
        grow(7);
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
#pragma omp critical
            step(&trail, i);
        }
        observe("round", round);
    }
    trail_print("storm", &trail);
    team_close();
    return 0;
}
