/* Loops with a guided schedule. */
#include "team.h"

int main(void) {
    team_open();
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < 300; i++) {
        observe("combined", i);
        work();
    }
#pragma omp parallel
    {
#pragma omp for schedule(monotonic : guided, 5)
        for (long i = 0; i < 1000; i += 3) {
            observe("up", i);
            work();
        }
#pragma omp for schedule(guided)
        for (unsigned long long i = 1000; i > 100; i -= 4) {
            observe("down", (long)i);
            work();
        }
    }
    team_close();
    return 0;
}
