/* Waiting in a replay. What is waited for has happened in the recorded run, so it will come; until
   then the core belongs to the ranks that still have to make it happen. */
#include <sched.h>
#include <time.h>

#include "mpi/adapter.h"

#define LOOKS_BEFORE_YIELD 16u
#define LOOKS_BEFORE_SLEEP 4096u
#define ANSWERS_PER_LOOK 64u

void rf_wait_a_little(struct rf_patience *patience) {
    unsigned looks = patience->looks++;
    if (looks < LOOKS_BEFORE_YIELD)
        return;
    if (looks < LOOKS_BEFORE_SLEEP)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

void rf_await(MPI_Request request) {
    /* A generalized request would run the program's query function at every look. */
    if (request == MPI_REQUEST_NULL || rf_mpi.generalized)
        return;
    struct rf_patience patience = {0};
    for (;;) {
        int flag = 0;
        if (rf_reals.Request_get_status(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag)
            return;
        rf_wait_a_little(&patience);
    }
}

void rf_answer_failure(void) {
    rf_progress_go(&rf_the_session.replayer);
    if (++rf_mpi.answers % ANSWERS_PER_LOOK)
        return;
    /* Looks for a message that is never sent: harmless, and the library makes progress. */
    int flag;
    rf_reals.Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}
