/* A barrier tells one of its threads that it is the serial one: which one varies. */
#include "trails.h"

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail serial, locked;

static int wait_at_barrier(void) {
    int code = pthread_barrier_wait(&barrier);
    if (code != PTHREAD_BARRIER_SERIAL_THREAD)
        must("pthread_barrier_wait", code);
    return code == PTHREAD_BARRIER_SERIAL_THREAD;
}

static void body(int number) {
    (void)number;
    for (int i = 0; i < ROUNDS; i++) {
        work();
        int is_serial = wait_at_barrier();
        observe("serial", is_serial);
        if (is_serial)
            step("serial", &serial);
        if (i % 2) {
            must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
            step("locked", &locked);
            must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
        }
        /* So that there is one writer of the serial trail at a time. */
        observe("serial", wait_at_barrier());
    }
}

int main(void) {
    must("pthread_barrier_init", pthread_barrier_init(&barrier, NULL, THREADS));
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("serial", &serial);
    trail_print("locked", &locked);
    return 0;
}
