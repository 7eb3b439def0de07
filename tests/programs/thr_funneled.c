/* Only the first thread calls MPI; others work on what it receives, and say when they are ready. */
#include "crew.h"

enum { TASKS = 40, WORKERS = 2 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queue[TASKS], queued, taken;
static int results[TASKS], workers[TASKS], ready;

static void *work(void *argument) {
    int number = *(int *)argument;
    observer.random += (uint64_t)number * 12345;
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (taken == queued && taken < TASKS)
            pthread_cond_wait(&changed, &mutex);
        if (taken == TASKS) {
            pthread_mutex_unlock(&mutex);
            return NULL;
        }
        int task = queue[taken++];
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
        struct timespec nap = {0, 1000L * (task % 7 * 10 + 1)};
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&mutex);
        results[ready] = task * 3;
        workers[ready++] = number;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
}

/* Each answer goes out as soon as it is there, whosever it is. */
static void serve(void) {
    int sent = 0;
    for (int received = 0; received < TASKS; received++) {
        int task[2];
        MPI_Status status;
        MPI_Recv(task, 2, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        observe_message(&status, task);
        pthread_mutex_lock(&mutex);
        queue[queued++] = task[1];
        pthread_cond_broadcast(&changed);
        for (; sent < ready; sent++) {
            observe("result", results[sent]);
            observe("worker", workers[sent]);
        }
        pthread_mutex_unlock(&mutex);
        MPI_Send(&sent, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_FUNNELED);
    phase("funneled");
    if (world_rank == 0) {
        pthread_t threads[WORKERS];
        int numbers[WORKERS];
        for (int i = 0; i < WORKERS; i++) {
            numbers[i] = i;
            pthread_create(&threads[i], NULL, work, &numbers[i]);
        }
        serve();
        for (int i = 0; i < WORKERS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < TASKS; i++) {
            observe("result", results[i]);
            observe("worker", workers[i]);
        }
    } else {
        for (int i = 0; i < TASKS; i++)
            if (i % (world_size - 1) == world_rank - 1) {
                int task[2] = {world_rank, i}, ready_there;
                dawdle();
                MPI_Send(task, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
                MPI_Recv(&ready_there, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                observe("ready", ready_there);
            }
    }
    end();
    return 0;
}
