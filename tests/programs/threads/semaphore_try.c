/* Semaphores that are tried, or waited for with a limit by either clock; their failures are told in
   errno. */
#include "trails.h"

#include <semaphore.h>

static sem_t free_places;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

static int take(int way) {
    struct timespec limit;
    switch (way) {
    case 0:
        return sem_trywait(&free_places);
    case 1:
        limit = from_now(CLOCK_REALTIME, 20000);
        return sem_timedwait(&free_places, &limit);
    case 2:
        limit = from_now(CLOCK_MONOTONIC, 20000);
        return sem_clockwait(&free_places, CLOCK_MONOTONIC, &limit);
    default:
        limit = (struct timespec){1, 0};
        return sem_timedwait(&free_places, &limit);
    }
}

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        errno = 0;
        int result = take((i + number) % 4);
        observe("errno", result == 0 ? 0 : errno);
        if (result == 0) {
            must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
            step("took", &trail);
            must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
            work();
            if (sem_post(&free_places))
                must("sem_post", errno);
        }
        work();
    }
}

int main(void) {
    if (sem_init(&free_places, 0, 2))
        must("sem_init", errno);
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("took", &trail);
    return 0;
}
