/* Single: who is the one, also where what it has is given to all. */
#include "team.h"

int main(void) {
    team_open();
#pragma omp parallel
    for (int i = 0; i < ROUNDS; i++) {
        long mine;
#pragma omp single
        observe("single", i);
        work();
#pragma omp single nowait
        {
            observe("nowait", i);
            work();
        }
#pragma omp single copyprivate(mine)
        {
            work();
            mine = observer.rank * 1000 + i;
        }
        observe("copied", mine);
#pragma omp single copyprivate(mine)
        mine = observer.rank;
        observe("copied", mine);
    }
    team_close();
    return 0;
}
