/* A broadcast wakes all; in which order they come to the mutex varies. The last of each phase opens
   the next one. */
#include "trails.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static long phase, arrived;
static struct trail in, out;

static void body(int number) {
    (void)number;
    for (int i = 0; i < ROUNDS; i++) {
        work();
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        step("in", &in);
        if (++arrived == THREADS) {
            arrived = 0;
            phase++;
            must("pthread_cond_broadcast", pthread_cond_broadcast(&opened));
        } else {
            for (long mine = phase; mine == phase;)
                must("pthread_cond_wait", pthread_cond_wait(&opened, &mutex));
        }
        step("out", &out);
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    }
}

int main(void) {
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("in", &in);
    trail_print("out", &out);
    return 0;
}
