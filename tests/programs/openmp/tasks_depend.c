/* Tasks that depend on each other: in, out, inout, mutexinoutset, dependence objects; waiting for
   some of them. */
#include "team.h"

static long cells[8];
static double both;

int main(void) {
    team_open();
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < ROUNDS; i++) {
            int at = i % 8, before = (i + 5) % 8;
#pragma omp task depend(inout : cells[at]) depend(in : cells[before]) firstprivate(at, before, i)
            {
                work();
                cells[at] = cells[at] * 3 + cells[before] + i;
                observe("task", cells[at]);
            }
#pragma omp task depend(in : cells[at]) firstprivate(at)
            observe("reader", cells[at]);
#pragma omp task depend(mutexinoutset : both) firstprivate(i)
            {
                both = both * 1.01 + i;
                observe("both", (long)both);
            }
            if (i % 10 == 0) {
#pragma omp task depend(inout : cells[at]) if (0)
                {
                    cells[at]++;
                    observe("at once", cells[at]);
                }
            }
            if (i % 15 == 0) {
#pragma omp taskwait depend(in : cells[before])
                observe("waited", cells[before]);
            }
        }
        omp_depend_t object;
#pragma omp depobj(object) depend(inout : cells[0])
        for (int i = 0; i < 10; i++) {
#pragma omp task depend(depobj : object) firstprivate(i)
            {
                cells[0] = cells[0] * 7 + i;
                observe("object", cells[0]);
            }
        }
#pragma omp taskwait
#pragma omp depobj(object) destroy
    }
    printf("trail: %ld %ld %a\n", cells[0], cells[7], both);
    fflush(stdout);
    team_close();
    return 0;
}
