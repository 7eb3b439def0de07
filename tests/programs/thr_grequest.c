/* A generalized request that another thread completes, after a while. */
#include "crew.h"

enum { EACH = 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static MPI_Request handed;
static int given, taken;

static int query(void *state, MPI_Status *status) {
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state) {
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void complete(void) {
    for (int i = 0; i < EACH; i++) {
        pthread_mutex_lock(&mutex);
        while (taken == given)
            pthread_cond_wait(&changed, &mutex);
        taken++;
        MPI_Request request = handed;
        pthread_mutex_unlock(&mutex);
        dawdle();
        MPI_Grequest_complete(request);
    }
}

static void ask(void) {
    for (int i = 0; i < EACH; i++) {
        int state = i, flag = 0, count;
        long asked = 0;
        MPI_Request request;
        MPI_Status status;
        MPI_Grequest_start(query, release, cancel, &state, &request);
        pthread_mutex_lock(&mutex);
        handed = request;
        given++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
        for (; !flag && i % 4; asked++)
            MPI_Test(&request, &flag, &status);
        if (!flag)
            MPI_Wait(&request, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        observe("asked", asked);
        observe("count", count);
    }
}

static void work(int number) {
    if (number)
        complete();
    else
        ask();
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_MULTIPLE);
    phase("grequest");
    run_crew(2, work);
    end();
    return 0;
}
