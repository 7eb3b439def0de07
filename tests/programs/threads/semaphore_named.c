/* A semaphore with a name; every thread opens it for itself. */
#include "trails.h"

#include <semaphore.h>

static char name[64];
static struct trail trail;

static sem_t *open_it(int flags) {
    sem_t *semaphore = sem_open(name, flags, 0600, 1);
    if (semaphore == SEM_FAILED)
        must("sem_open", errno);
    return semaphore;
}

static void body(int number) {
    for (int i = 0; i < ROUNDS / 10; i++) {
        sem_t *semaphore = open_it(0);
        for (int k = 0; k < 10; k++) {
            work();
            if ((i + number) % 2 == 0) {
                long failed = 0;
                while (sem_trywait(semaphore)) {
                    failed++;
                    sched_yield();
                }
                observe("failed", failed);
            } else if (sem_wait(semaphore)) {
                must("sem_wait", errno);
            }
            step("has it", &trail);
            if (sem_post(semaphore))
                must("sem_post", errno);
        }
        if (sem_close(semaphore))
            must("sem_close", errno);
    }
}

int main(void) {
    observe_open(0);
    snprintf(name, sizeof name, "/refrain-test-%ld", (long)getpid());
    sem_t *semaphore = open_it(O_CREAT | O_EXCL);
    run_threads(THREADS, body);
    trail_print("named", &trail);
    sem_close(semaphore);
    if (sem_unlink(name))
        must("sem_unlink", errno);
    return 0;
}
