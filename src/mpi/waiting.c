/* Waiting in a replay. What is waited for has happened in the recorded run, so it will come; until
   then the core belongs to the ranks that still have to make it happen. */
#include <sched.h>

#include "mpi/adapter.h"

#define LOOKS_BEFORE_YIELD 16u
#define LOOKS_BEFORE_SLEEP 32u
#define ANSWERS_PER_LOOK 64u
#define SHORTEST_SLEEP 50000
#define LONGEST_SLEEP 800000

/* Between two sleeps it looks twice: once more after saying that it is going to sleep, lest the
   ring came just before, and once after waking up. */
void rf_wait_a_little(struct rf_patience *patience) {
    unsigned looks = patience->looks++;
    if (looks < LOOKS_BEFORE_YIELD)
        return;
    if (looks < LOOKS_BEFORE_SLEEP) {
        sched_yield();
    } else if (looks % 2 == LOOKS_BEFORE_SLEEP % 2) {
        patience->heard = rf_bell_listen();
    } else {
        patience->sleep = patience->sleep ? patience->sleep * 2 : SHORTEST_SLEEP;
        if (patience->sleep > LONGEST_SLEEP)
            patience->sleep = LONGEST_SLEEP;
        if (rf_bell_sleep(patience->heard, patience->sleep))
            *patience = (struct rf_patience){.looks = 0};
    }
}

/* Looks for a message that is never sent: harmless, and the library gets on with everything. */
static void make_progress(void) {
    int flag;
    rf_reals.Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

bool rf_look(MPI_Request request, MPI_Status *status) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (RF_ABI_LOOK_RAISES) {
        rf_reals.Comm_get_errhandler(MPI_COMM_WORLD, &handler);
        rf_reals.Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    int flag = 0;
    rf_reals.Request_get_status(request, &flag, status);
    if (RF_ABI_LOOK_RAISES) {
        rf_reals.Comm_set_errhandler(MPI_COMM_WORLD, handler);
        if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN)
            rf_reals.Errhandler_free(&handler);
    }
    return flag;
}

void rf_await(const struct rf_here *here, MPI_Request request) {
    /* A generalized request would run the program's query function at every look. */
    if (request == MPI_REQUEST_NULL || rf_mpi.generalized)
        return;
    bool quietly = RF_ABI_LOOK_RAISES && rf_recorded_error(here);
    struct rf_patience patience = {0};
    for (;;) {
        int flag = 0;
        if (quietly)
            flag = rf_look(request, MPI_STATUS_IGNORE);
        else
            rf_reals.Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        if (flag)
            break;
        rf_wait_a_little(&patience);
    }
    rf_partner_settle(request);
}

void rf_answer_failure(void) {
    rf_progress_go(&rf_the_session.replayer);
    if (++rf_mpi.answers % ANSWERS_PER_LOOK == 0)
        make_progress();
}
