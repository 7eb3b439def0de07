/* The first thread ends with pthread_exit; the others go on, and the last of them prints. */
#include "trails.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;
static int running = THREADS;
static struct job jobs[THREADS];

static void body(int number) {
    (void)number;
    for (int i = 0; i < ROUNDS; i++) {
        work();
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        step("locked", &trail);
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    }
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    if (--running == 0)
        trail_print("all", &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

int main(void) {
    observe_open(0);
    for (int i = 0; i < THREADS; i++) {
        start_job(&jobs[i], i + 1, body);
        must("pthread_detach", pthread_detach(jobs[i].thread));
    }
    pthread_exit(NULL);
}
