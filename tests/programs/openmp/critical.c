/* Critical sections: without a name, and with two names. */
#include "team.h"

static struct trail unnamed, first, second;

int main(void) {
    team_open();
#pragma omp parallel
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp critical
        step(&unnamed, i);
        work();
        if ((i + observer.rank) % 2) {
#pragma omp critical(first)
            step(&first, i);
        } else {
#pragma omp critical(second)
            step(&second, i);
        }
        work();
    }
    trail_print("unnamed", &unnamed);
    trail_print("first", &first);
    trail_print("second", &second);
    team_close();
    return 0;
}
