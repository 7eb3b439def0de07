/* Threads of all ranks that do anything with messages: thr_anything [SEED [EACH]]

   From the seed each thread sends and receives in all ways, with wildcards and without, posts what
   others complete, and meets the other threads of its rank at locks, conditions and semaphores in
   between. What it does next follows from all that it has observed, and so do the messages that it
   sends. With MEMBER_LOG=DIRECTORY each thread writes down what it observes.

   Every rank sends EACH messages of every class to every other rank. A class says how its messages
   can be asked for, so that a receive never takes what another one has to have. Who wants to
   receive one first claims it. The first thread of a rank only sends, so that all that is waited
   for comes. */
#include "crew.h"

#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>

enum { MEMBERS = 4, MOST_RANKS = 16, CLASSES = 4, POOL = 16, AT_ONCE = 4 };

/* A request that anybody may complete. */
struct pending {
    MPI_Request request;
    int words[2];
    int class; /* or -1: it is a send */
};

static unsigned seed = 1;
static int each = 6;
static MPI_Comm comms[3];

/* What the threads of the rank share. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t turnstile;
static int to_send[MOST_RANKS][CLASSES],
    to_receive[MOST_RANKS][CLASSES]; /* by those who have the mutex */
static struct pending *pool[POOL];
static int pooled, incomplete; /* requests that were put there and are not complete */
static uint64_t trail, shared;

static unsigned choose(unsigned sides) {
    observer.hash = observe_mix(observer.hash, "?", 1);
    return (unsigned)(observer.hash >> 29) % sides;
}

static bool chance(unsigned sides) {
    return choose(sides) == 0;
}

/* Who has the mutex. */
static void leave_trail(int what) {
    trail = observe_mix(trail, &observer.hash, sizeof observer.hash);
    trail = observe_mix(trail, &what, sizeof what);
    observe("trail", (long)trail);
}

static void lock(void) {
    if (pthread_mutex_lock(&mutex) != 0)
        abort();
}

static void unlock(void) {
    if (pthread_mutex_unlock(&mutex) != 0)
        abort();
}

/* ---- how to ask for a message of a class ---- */

static int peer_of(int class, int peer) {
    return class == 3 ? peer : MPI_ANY_SOURCE;
}
static int tag_of(int class) {
    return class == 1 || class == 2 ? class : MPI_ANY_TAG;
}
static MPI_Comm comm_of(int class) {
    return comms[class == 0 ? 0 : class == 3 ? 2 : 1];
}

/* ---- claims ---- */

/* Takes one of `left`, if there is any, beginning at some place. */
static bool claim(int left[MOST_RANKS][CLASSES], int *peer, int *class) {
    unsigned begin = choose((unsigned)(world_size * CLASSES));
    bool found = false;
    lock();
    for (unsigned i = 0; i < (unsigned)(world_size * CLASSES) && !found; i++) {
        unsigned at = (begin + i) % (unsigned)(world_size * CLASSES);
        *peer = (int)at / CLASSES;
        *class = (int)at % CLASSES;
        found = left[*peer][*class] > 0;
    }
    if (found)
        left[*peer][*class]--;
    leave_trail(found);
    unlock();
    return found;
}

static void give_back(int peer, int class) {
    lock();
    to_receive[peer][class]++;
    unlock();
}

/* ---- requests of everybody ---- */

static bool put(struct pending *pending, bool again) {
    lock();
    bool fits = pooled < POOL;
    if (fits) {
        pool[pooled++] = pending;
        incomplete += !again;
        leave_trail(pooled);
        pthread_cond_signal(&changed);
    }
    unlock();
    return fits;
}

static int take(struct pending **taken, int most, bool wait) {
    int count = 0;
    lock();
    if (wait && pooled == 0 && incomplete > 0) {
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_nsec = (limit.tv_nsec + 200000) % 1000000000;
        observe("waited", pthread_cond_timedwait(&changed, &mutex, &limit));
    }
    while (count < most && pooled > 0)
        taken[count++] = pool[--pooled];
    leave_trail(count);
    unlock();
    return count;
}

static void is_complete(struct pending *pending, const MPI_Status *status) {
    if (pending->class >= 0)
        observe_message(status, pending->words);
    lock();
    incomplete--;
    unlock();
    free(pending);
}

/* Asks for requests that others have posted; what is not complete goes back. */
static void complete_some(bool wait) {
    struct pending *taken[AT_ONCE];
    MPI_Request requests[AT_ONCE];
    MPI_Status statuses[AT_ONCE];
    int indices[AT_ONCE], flag = 1, some = 0, count = take(taken, 1 + (int)choose(AT_ONCE), wait);
    if (count == 0) {
        dawdle();
        return;
    }
    for (int i = 0; i < count; i++)
        requests[i] = taken[i]->request;
    switch (choose(6)) {
    case 0:
        MPI_Waitall(count, requests, statuses);
        for (some = 0; some < count; some++)
            indices[some] = some;
        break;
    case 1:
        MPI_Waitany(count, requests, &indices[0], &statuses[0]);
        some = 1;
        break;
    case 2:
        MPI_Waitsome(count, requests, &some, indices, statuses);
        break;
    case 3:
        MPI_Testsome(count, requests, &some, indices, statuses);
        break;
    case 4:
        MPI_Testany(count, requests, &indices[0], &flag, &statuses[0]);
        some = flag;
        break;
    default:
        MPI_Test(&requests[0], &flag, &statuses[0]);
        indices[0] = 0;
        some = flag;
    }
    observe("completed", some);
    for (int i = 0; i < some; i++) {
        observe("index", indices[i]);
        is_complete(taken[indices[i]], &statuses[i]);
        taken[indices[i]] = NULL;
    }
    for (int i = 0; i < count; i++)
        if (taken[i]) {
            taken[i]->request = requests[i];
            while (!put(taken[i], true))
                sched_yield();
        }
}

/* ---- sending ---- */

static void send_one(bool alone) {
    int peer, class, tag;
    if (!claim(to_send, &peer, &class))
        return;
    int words[2] = {world_rank, (int)observer.hash};
    tag = tag_of(class) == MPI_ANY_TAG ? (int)choose(3) : class;
    observe("sends", peer);
    MPI_Request request;
    struct pending *pending;
    switch (choose(4)) {
    case 0:
        MPI_Isend(words, 2, MPI_INT, peer, tag, comm_of(class), &request);
        dawdle();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Send_init(words, 1, MPI_INT, peer, tag, comm_of(class), &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        break;
    case 2:
        pending = malloc(sizeof *pending);
        memcpy(pending->words, words, sizeof words);
        pending->class = -1;
        MPI_Isend(pending->words, 2, MPI_INT, peer, tag, comm_of(class), &pending->request);
        if (alone || !put(pending, false)) {
            MPI_Wait(&pending->request, MPI_STATUS_IGNORE);
            free(pending);
        }
        break;
    default:
        MPI_Send(words, 2, MPI_INT, peer, tag, comm_of(class));
    }
}

/* ---- receiving ---- */

struct wanted {
    int source, tag, class, peer;
    MPI_Comm comm;
};

static void by_recv(const struct wanted *wanted) {
    int words[2];
    MPI_Status status;
    MPI_Recv(words, 2, MPI_INT, wanted->source, wanted->tag, wanted->comm, &status);
    observe_message(&status, words);
}

static void by_irecv(const struct wanted *wanted) {
    int words[2], flag = 0;
    long asked = 0;
    MPI_Status status;
    MPI_Request request;
    MPI_Irecv(words, 2, MPI_INT, wanted->source, wanted->tag, wanted->comm, &request);
    for (unsigned times = choose(20); times > 0 && !flag; times--, asked++)
        MPI_Test(&request, &flag, &status);
    if (!flag)
        MPI_Wait(&request, &status);
    observe("asked", asked);
    observe_message(&status, words);
}

static void by_pool(const struct wanted *wanted) {
    struct pending *pending = malloc(sizeof *pending);
    MPI_Status status;
    pending->class = wanted->class;
    MPI_Irecv(pending->words, 2, MPI_INT, wanted->source, wanted->tag, wanted->comm,
              &pending->request);
    if (put(pending, false))
        return;
    MPI_Wait(&pending->request, &status);
    observe_message(&status, pending->words);
    free(pending);
}

/* What was seen another thread may receive, but there is one for this thread, too. */
static void by_probe(const struct wanted *wanted) {
    MPI_Status status;
    MPI_Probe(wanted->source, wanted->tag, wanted->comm, &status);
    observe("saw", status.MPI_SOURCE);
    by_recv(wanted);
}

static void by_iprobe(const struct wanted *wanted) {
    MPI_Status status;
    int flag = 0;
    long asked = 0;
    for (unsigned times = choose(20); times > 0 && !flag; times--, asked++)
        MPI_Iprobe(wanted->source, wanted->tag, wanted->comm, &flag, &status);
    observe("asked", asked);
    if (flag)
        observe("saw", status.MPI_SOURCE);
    by_recv(wanted);
}

static void by_mprobe(const struct wanted *wanted) {
    MPI_Status status;
    MPI_Message message;
    int words[2], flag = 0;
    long asked = 0;
    for (unsigned times = choose(20); times > 0 && !flag; times--, asked++)
        MPI_Improbe(wanted->source, wanted->tag, wanted->comm, &flag, &message, &status);
    observe("asked", asked);
    if (!flag)
        MPI_Mprobe(wanted->source, wanted->tag, wanted->comm, &message, &status);
    MPI_Mrecv(words, 2, MPI_INT, &message, &status);
    observe_message(&status, words);
}

static void by_persistent(const struct wanted *wanted) {
    int words[2];
    MPI_Status status;
    MPI_Request request;
    MPI_Recv_init(words, 2, MPI_INT, wanted->source, wanted->tag, wanted->comm, &request);
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    MPI_Request_free(&request);
    observe_message(&status, words);
}

/* While another message goes out, to this class as well. */
static void by_sendrecv(const struct wanted *wanted) {
    int peer, class, words[2], out[2] = {world_rank, (int)observer.hash};
    MPI_Status status;
    if (!claim(to_send, &peer, &class)) {
        by_recv(wanted);
        return;
    }
    /* Both have to be on one communicator. */
    if (comm_of(class) != wanted->comm) {
        MPI_Send(out, 2, MPI_INT, peer, tag_of(class) == MPI_ANY_TAG ? 0 : class, comm_of(class));
        by_recv(wanted);
        return;
    }
    MPI_Sendrecv(out, 2, MPI_INT, peer, tag_of(class) == MPI_ANY_TAG ? 0 : class, words, 2, MPI_INT,
                 wanted->source, wanted->tag, wanted->comm, &status);
    observe_message(&status, words);
}

static void by_cancelled(const struct wanted *wanted) {
    int words[2], cancelled;
    MPI_Status status;
    MPI_Request request;
    MPI_Irecv(words, 2, MPI_INT, wanted->source, wanted->tag, wanted->comm, &request);
    dawdle();
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    observe("cancelled", cancelled);
    if (cancelled)
        give_back(wanted->peer, wanted->class);
    else
        observe_message(&status, words);
}

static void (*const ways[])(const struct wanted *) = {
    by_recv,   by_irecv,  by_pool,       by_pool,     by_probe,
    by_iprobe, by_mprobe, by_persistent, by_sendrecv, by_cancelled,
};

static bool receive_one(void) {
    struct wanted wanted;
    if (!claim(to_receive, &wanted.peer, &wanted.class))
        return false;
    wanted.source = peer_of(wanted.class, wanted.peer);
    wanted.tag = tag_of(wanted.class);
    wanted.comm = comm_of(wanted.class);
    unsigned way = choose(sizeof ways / sizeof *ways);
    observe("way", way);
    ways[way](&wanted);
    return true;
}

/* ---- what is no message ---- */

static void meet(void) {
    int code = 0;
    switch (choose(4)) {
    case 0:
        code = pthread_rwlock_trywrlock(&rwlock);
        observe("write", code);
        break;
    case 1:
        code = sem_trywait(&turnstile);
        observe("semaphore", code);
        if (code == 0)
            sem_post(&turnstile);
        return;
    case 2:
        pthread_rwlock_wrlock(&rwlock);
        shared = observe_mix(shared, &observer.hash, sizeof observer.hash);
        break;
    default:
        pthread_rwlock_rdlock(&rwlock);
        observe("shared", (long)shared);
    }
    if (code == 0)
        pthread_rwlock_unlock(&rwlock);
}

static void send_all(void) {
    for (int i = 0; i < world_size * CLASSES * each; i++) {
        dawdle();
        send_one(true);
    }
}

static void open_log(int number) {
    char path[4096];
    const char *directory = getenv("MEMBER_LOG");
    if (!directory)
        return;
    snprintf(path, sizeof path, "%s/rank-%d-%d.log", directory, world_rank, number);
    observer.log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static bool is_over(void) {
    bool over = true;
    lock();
    for (int i = 0; i < world_size; i++)
        for (int j = 0; j < CLASSES; j++)
            over &= to_send[i][j] == 0 && to_receive[i][j] == 0;
    over &= incomplete == 0;
    leave_trail(over);
    unlock();
    return over;
}

static void work(int number) {
    open_log(number);
    observer.hash = observe_mix(observer.hash, &seed, sizeof seed);
    observer.hash = observe_mix(observer.hash, &number, sizeof number);
    observer.hash = observe_mix(observer.hash, &world_rank, sizeof world_rank);
    if (number == 0)
        send_all();
    while (!is_over()) {
        if (chance(3))
            meet();
        if (chance(3))
            send_one(false);
        if (chance(3) || !receive_one())
            complete_some(chance(2));
    }
    if (observer.log >= 0)
        close(observer.log);
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (argc > 1)
        seed = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        each = atoi(argv[2]);
    if (world_size > MOST_RANKS || sem_init(&turnstile, 0, 1) != 0)
        abort();
    for (int i = 0; i < 3; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < world_size; i++)
        for (int j = 0; j < CLASSES && i != world_rank; j++)
            to_send[i][j] = to_receive[i][j] = each;
    phase("anything");
    run_crew(MEMBERS, work);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&comms[i]);
    end();
    return 0;
}
