/* An atomic sum of long doubles, for which there is no instruction: its rounding depends on the
   order. */
#include "team.h"

int main(void) {
    long double sum = 0;
    team_open();
#pragma omp parallel
    for (int i = 0; i < ROUNDS; i++) {
        long double term = 1.0L / (1 + i * THREADS + observer.rank);
#pragma omp atomic
        sum += term;
        work();
    }
    printf("trail: %.30Lg\n", sum);
    fflush(stdout);
    team_close();
    return 0;
}
