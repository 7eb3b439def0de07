/* Sections: who runs which. */
#include "team.h"

static void some(void) {
#pragma omp sections nowait
    {
#pragma omp section
        observe("section", 1);
#pragma omp section
        {
            work();
            observe("section", 2);
        }
#pragma omp section
        observe("section", 3);
#pragma omp section
        {
            work();
            observe("section", 4);
        }
#pragma omp section
        observe("section", 5);
    }
}

int main(void) {
    team_open();
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel sections
        {
#pragma omp section
            observe("combined", 1);
#pragma omp section
            observe("combined", 2);
#pragma omp section
            {
                work();
                observe("combined", 3);
            }
        }
#pragma omp parallel
        {
            work();
            some();
            some();
#pragma omp sections
            {
#pragma omp section
                observe("last", 1);
#pragma omp section
                observe("last", 2);
            }
        }
    }
    team_close();
    return 0;
}
