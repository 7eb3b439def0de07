/* Ordered loops, and iterations that wait for each other. */
#include "team.h"

static struct trail trail, apart;

int main(void) {
    long cells[64] = {0};
    team_open();
#pragma omp parallel
    {
#pragma omp for schedule(dynamic) ordered
        for (int i = 0; i < ROUNDS; i++) {
            work();
#pragma omp ordered
            step(&trail, i);
        }
#pragma omp for schedule(dynamic, 3) ordered nowait
        for (int i = 100; i > 0; i -= 7) {
            work();
            observe("has", i);
            if (i % 2) {
#pragma omp ordered
                step(&apart, i);
            }
        }
#pragma omp for schedule(guided, 2) ordered
        for (unsigned long long i = 0; i < 100; i++) {
            work();
#pragma omp ordered
            step(&trail, (long)i);
        }
#pragma omp for schedule(dynamic) ordered
        for (int i = 3; i < 3; i++) {
#pragma omp ordered
            step(&trail, i);
        }
#pragma omp for schedule(static, 2) ordered
        for (int i = 0; i < 20; i++) {
#pragma omp ordered
            step(&trail, i);
        }
#pragma omp for schedule(dynamic, 2) ordered(1)
        for (int i = 1; i < 64; i++) {
            work();
#pragma omp ordered depend(sink : i - 1)
            cells[i] = cells[i - 1] * 3 + i;
            observe("wave", i);
#pragma omp ordered depend(source)
        }
#pragma omp for schedule(guided) ordered(1)
        for (int i = 1; i < 64; i++) {
            work();
#pragma omp ordered depend(sink : i - 1)
            cells[i] = cells[i - 1] * 5 + i;
            observe("wave", cells[i]);
#pragma omp ordered depend(source)
        }
    }
    trail_print("ordered", &trail);
    trail_print("without a barrier behind it", &apart);
    team_close();
    return 0;
}
