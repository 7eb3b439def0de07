/* None of the functions that wait changes errno when it succeeds, and programs count on it: what
   went wrong is told under a lock. */
#include "trails.h"

#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static struct trail trail;
static int turn = 1;

/* Nobody else sets it to this. */
static void check(const char *what, int number) {
    if (errno != 1000 + number) {
        fprintf(stderr, "%s: errno has become %d\n", what, errno);
        abort();
    }
}

static void wait_for_turn(int number) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    while (turn != number)
        must("pthread_cond_wait", pthread_cond_wait(&turned, &mutex));
    check("pthread_cond_wait", number);
    turn = turn % THREADS + 1;
    must("pthread_cond_broadcast", pthread_cond_broadcast(&turned));
    check("pthread_cond_broadcast", number);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        work();
        errno = 1000 + number;
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        check("pthread_mutex_lock", number);
        step("locked", &trail);
        errno = 1000 + number;
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
        check("pthread_mutex_unlock", number);
        must("sem_wait", sem_wait(&semaphore));
        check("sem_wait", number);
        must("sem_post", sem_post(&semaphore));
        must("pthread_rwlock_wrlock", pthread_rwlock_wrlock(&rwlock));
        check("pthread_rwlock_wrlock", number);
        must("pthread_rwlock_unlock", pthread_rwlock_unlock(&rwlock));
        if (i % 8 == 0)
            wait_for_turn(number);
        pthread_barrier_wait(&barrier);
        check("pthread_barrier_wait", number);
    }
}

int main(void) {
    observe_open(0);
    sem_init(&semaphore, 0, 1);
    must("pthread_barrier_init", pthread_barrier_init(&barrier, NULL, THREADS));
    run_threads(THREADS, body);
    trail_print("all", &trail);
    return 0;
}
