/* A token goes round through pipes: an order among the threads that nobody records. Between two
   rounds they meet at a mutex. */
#include "trails.h"

static int pipes[THREADS][2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, own[THREADS];
static struct trail trail;

static void body(int number) {
    int left = number - 1, right = number % THREADS;
    for (int i = 0; i < ROUNDS; i++) {
        char token;
        if (read(pipes[left][0], &token, 1) != 1)
            must("read", errno);
        /* Uneven numbers of operations make logical clocks of different speed. */
        for (int k = 0; k < number * 3; k++) {
            must("pthread_mutex_lock", pthread_mutex_lock(&own[left]));
            must("pthread_mutex_unlock", pthread_mutex_unlock(&own[left]));
        }
        token++;
        if (write(pipes[right][1], &token, 1) != 1)
            must("write", errno);
        work();
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        step_value("token", &trail, token);
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    }
}

int main(void) {
    observe_open(0);
    for (int i = 0; i < THREADS; i++) {
        must("pthread_mutex_init", pthread_mutex_init(&own[i], NULL));
        if (pipe(pipes[i]))
            must("pipe", errno);
    }
    if (write(pipes[0][1], "", 1) != 1)
        must("write", errno);
    run_threads(THREADS, body);
    trail_print("all", &trail);
    return 0;
}
