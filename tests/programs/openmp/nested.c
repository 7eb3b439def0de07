/* Teams in teams, and teams of changing sizes: threads come and go, and are used again. */
#include "team.h"

static struct trail trail;
static _Thread_local int used;

int main(void) {
    team_open();
    omp_set_max_active_levels(3);
    for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(2 + round % 3)
        {
            observe("outer", omp_get_thread_num());
#pragma omp parallel num_threads(2)
            {
                used++;
                long value =
                    omp_get_ancestor_thread_num(1) * 100 + omp_get_thread_num() * 10 + used;
#pragma omp for schedule(dynamic)
                for (int i = 0; i < 12; i++) {
                    work();
#pragma omp critical
                    step(&trail, value * 100 + i);
                }
#pragma omp single nowait
                for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(i)
                    {
#pragma omp critical
                        step(&trail, omp_get_thread_num() * 10 + i);
                    }
                }
            }
#pragma omp critical
            step(&trail, omp_get_thread_num());
        }
    }
    trail_print("nested", &trail);
    team_close();
    return 0;
}
