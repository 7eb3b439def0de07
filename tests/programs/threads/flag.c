/* Threads take turns by an atomic number that they look at again and again: an order that nobody
   records, and that does not vary. Between two turns they meet at a mutex, and that varies. */
#include "trails.h"

static long turn;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, own[THREADS];
static struct trail trail;

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i * THREADS + number - 1)
            sched_yield();
        for (int k = 0; k < number * 3; k++) {
            must("pthread_mutex_lock", pthread_mutex_lock(&own[number - 1]));
            must("pthread_mutex_unlock", pthread_mutex_unlock(&own[number - 1]));
        }
        __atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
        work();
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        step("locked", &trail);
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    }
}

int main(void) {
    observe_open(0);
    for (int i = 0; i < THREADS; i++)
        must("pthread_mutex_init", pthread_mutex_init(&own[i], NULL));
    run_threads(THREADS, body);
    trail_print("all", &trail);
    return 0;
}
