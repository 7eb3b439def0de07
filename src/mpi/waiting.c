/* Waiting in a replay. What is waited for has happened in the recorded run, so it will come; until
   then the core belongs to the ranks that still have to make it happen. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "mpi/kept.h"

/* Both even. Where ranks share cores, Open MPI gives up its core in each look for nothing. */
#define LOOKS_IN_A_CROWD 2u
#define LOOKS_AT_LEISURE 2000u
#define ANSWERS_PER_LOOK 64u
#define SHORTEST_SLEEP 50000
#define LONGEST_FIRST_SLEEP 6400000
#define LONGEST_SLEEP 6400000
#define SLEEPS_WITH_A_RING 1000u
#define ROUNDS_PER_SECOND 10
#define IDLE_ROUNDS 5
#define BUSY 0.2 /* of the time; who waits for messages looks for them now and then */

/* A timer that is set and stopped again for nothing costs more than the sleep. Where rings come,
   the first sleep may be long; where they do not, it must be short. */
static long first_sleep = SHORTEST_SLEEP;

/* A rank with a core of its own takes nobody's time while it looks, and a message that is answered
   at once comes sooner than a sleeper wakes up. */
static unsigned looks_before_sleep = LOOKS_AT_LEISURE;

void rf_waiting_begin(int size) {
    const char *count = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (!count)
        count = getenv("MPI_LOCALNRANKS");
    long ranks = count ? strtol(count, NULL, 10) : size;
    if (ranks <= sysconf(_SC_NPROCESSORS_ONLN))
        return;
    looks_before_sleep = LOOKS_IN_A_CROWD;
    /* A rank that is woken then waits for its turn. Else it pushes aside the one that rang, which
       has more to send. */
    if (sched_getscheduler(0) == SCHED_OTHER)
        sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
}

/* Between two sleeps it looks twice: once more after saying that it is going to sleep, lest the
   ring came just before, and once after waking up. What the looks got on with may be what the other
   side waits for: a long message takes several steps of both. */
void rf_wait_a_little(struct rf_patience *patience) {
    unsigned looks = patience->looks++;
    if (looks < looks_before_sleep)
        return;
    if (looks % 2 == 0) {
        patience->heard = rf_bell_listen(patience->wait);
        if (patience->sleeps++ < SLEEPS_WITH_A_RING)
            rf_bell_ring(patience->wait.owner, RF_BELL_LOOKED);
        return;
    }
    patience->sleep = patience->sleep ? patience->sleep * 2 : first_sleep;
    if (patience->sleep > LONGEST_SLEEP)
        patience->sleep = LONGEST_SLEEP;
    patience->rung = rf_bell_sleep(patience->heard, patience->sleep);
    if (patience->rung)
        patience->looks = patience->sleep = 0;
}

void rf_waited(const struct rf_patience *patience) {
    if (patience->sleeps && patience->rung)
        first_sleep = first_sleep < LONGEST_FIRST_SLEEP ? first_sleep * 2 : LONGEST_FIRST_SLEEP;
    else if (patience->sleeps)
        first_sleep = first_sleep > SHORTEST_SLEEP ? first_sleep / 2 : SHORTEST_SLEEP;
}

static double time_used(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Does nothing that a signal handler may not. */
void rf_wait_until_idle(int seconds) {
    double used = time_used();
    for (int idle = 0, round = 0; idle < IDLE_ROUNDS && round / ROUNDS_PER_SECOND < seconds;
         round++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000000 / ROUNDS_PER_SECOND}, NULL);
        idle = time_used() - used < BUSY / ROUNDS_PER_SECOND ? idle + 1 : 0;
        used = time_used();
    }
}

/* Looks for a message that is never sent: harmless, and the library gets on with everything. */
static void make_progress(void) {
    int flag;
    rf_library.Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

/* Two threads must not both put the handler aside. A rank alone does not ask the library, and may
   wait here for another thread. */
static int aside;

static bool is_locked(void) {
    return rf_the_session.concurrent && !rf_alone();
}

MPI_Errhandler rf_errors_aside(void) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (is_locked())
        rf_lock(&aside);
    if (RF_ABI_LOOK_RAISES) {
        rf_reals.Comm_get_errhandler(MPI_COMM_WORLD, &handler);
        rf_reals.Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    return handler;
}

void rf_errors_back(MPI_Errhandler handler) {
    if (RF_ABI_LOOK_RAISES) {
        rf_reals.Comm_set_errhandler(MPI_COMM_WORLD, handler);
        if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN)
            rf_reals.Errhandler_free(&handler);
    }
    if (is_locked())
        rf_unlock(&aside);
}

bool rf_look(MPI_Request request, MPI_Status *status) {
    int flag = 0;
    MPI_Errhandler handler = rf_errors_aside();
    rf_reals.Request_get_status(request, &flag, status);
    rf_errors_back(handler);
    return flag;
}

static bool taken_for_completed;

bool rf_asking_completes(void) {
    return taken_for_completed;
}

/* A message to oneself where the program cannot see it. An inactive request is none to a test of
   some. */
void rf_asking_try(void) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Status status;
    int flag = 0, done = 0, index;
    if (!RF_ABI_LOOK_RAISES || rf_library.Comm_split(MPI_COMM_SELF, 0, 0, &comm) != MPI_SUCCESS)
        return;
    rf_library.Recv_init(NULL, 0, MPI_BYTE, 0, 0, comm, &request);
    rf_library.Start(&request);
    rf_library.Send(NULL, 0, MPI_BYTE, 0, 0, comm);
    while (!flag)
        rf_library.Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    while (done == 0)
        rf_library.Testsome(1, &request, &done, &index, &status);
    taken_for_completed = done == MPI_UNDEFINED;
    rf_library.Request_free(&request);
    rf_library.Comm_free(&comm);
}

/* Those that are not to be asked about. A handle of one that is gone does no harm: the library
   itself waits for whoever gets it next. */
static struct {
    struct rf_handle_map map;
    int lock; /* where threads may call at the same time */
} unasked;

static void lock_unasked(void) {
    if (rf_the_session.concurrent)
        rf_lock(&unasked.lock);
}

static void unlock_unasked(void) {
    if (rf_the_session.concurrent)
        rf_unlock(&unasked.lock);
}

void rf_ask_never(MPI_Request request) {
    if (!rf_asking_completes())
        return;
    lock_unasked();
    if (rf_handle_find(&unasked.map, rf_request_key(request)) == RF_NOWHERE)
        rf_handle_add(&unasked.map, rf_request_key(request), 0);
    unlock_unasked();
}

bool rf_unasked_any(void) {
    return rf_mpi.generalized || __atomic_load_n(&unasked.map.used, __ATOMIC_RELAXED);
}

/* A generalized request would run the program's query function at every look. */
static bool is_unasked(MPI_Request request) {
    if (rf_mpi.generalized || !rf_unasked_any())
        return rf_mpi.generalized;
    lock_unasked();
    bool found = rf_handle_find(&unasked.map, rf_request_key(request)) != RF_NOWHERE;
    unlock_unasked();
    return found;
}

void rf_await(const struct rf_here *here, MPI_Request request) {
    if (request == MPI_REQUEST_NULL || is_unasked(request))
        return;
    /* Where the recording was cut off, the call may be one that ended the program. */
    bool quietly = RF_ABI_LOOK_RAISES && (rf_recorded_error(here) || rf_the_session.replayer.free);
    struct rf_patience patience = {.wait = rf_bell_expected(request)};
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
    rf_waited(&patience);
    rf_bell_ring(patience.wait.owner, RF_BELL_TAKEN); /* the send may be complete, too */
    rf_partner_settle(request);
}

void rf_answer_failure(void) {
    rf_progress_go(&rf_the_session.replayer);
    if (++rf_self.answers % ANSWERS_PER_LOOK == 0)
        make_progress();
}
