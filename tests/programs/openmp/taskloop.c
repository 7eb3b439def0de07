/* Loops of tasks, with all their clauses, and reductions over tasks. */
#include "team.h"

int main(void) {
    double sum = 0, other = 0, third = 0;
    long count = 0, last = 0;
    team_open();
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop
        for (int i = 0; i < 50; i++) {
            observe("plain", i);
            work();
        }
#pragma omp taskloop grainsize(7) lastprivate(last)
        for (long i = 500; i > 100; i -= 3) {
            observe("grain", i);
            last = i;
        }
#pragma omp taskloop num_tasks(13) nogroup
        for (unsigned long long i = 10; i < 1000; i += 9)
            observe("tasks", (long)i);
#pragma omp taskwait
#pragma omp taskloop collapse(2) grainsize(strict : 4)
        for (int i = 0; i < 7; i++)
            for (int j = 0; j < 9; j++) {
                observe("collapsed", i * 10 + j);
                work();
            }
#pragma omp taskloop reduction(+ : sum, count) num_tasks(20)
        for (int i = 1; i < 400; i++) {
            sum += 1.0 / i;
            count++;
            if (i % 20 == 0)
                work();
        }
#pragma omp taskgroup task_reduction(+ : other)
        for (int i = 1; i < 30; i++) {
#pragma omp task in_reduction(+ : other) firstprivate(i)
            {
                other += 1.0 / i;
                work();
#pragma omp task in_reduction(+ : other) firstprivate(i)
                other += 1.0 / (i * 100);
            }
        }
    }
#pragma omp parallel reduction(task, + : third)
    {
        for (int i = 1; i < 20; i++) {
#pragma omp task in_reduction(+ : third) firstprivate(i)
            {
                third += 1.0 / (i + omp_get_thread_num());
                work();
            }
        }
    }
    printf("trail: %a %ld %a %a %ld\n", sum, count, other, third, last);
    fflush(stdout);
    team_close();
    return 0;
}
