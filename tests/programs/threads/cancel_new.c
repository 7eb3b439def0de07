/* Threads that are cancelled before they have begun, with the handle of one that has just ended.
   Each is then in a call that is not hooked. */
#include "trails.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

enum { CANCELLERS = 2, VICTIMS = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

static void visit(void *what) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step(what, &trail);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

/* A signal that comes before a thread has begun is handled before anything else. There it is not
   cancelled yet. */
static void hold_up(int signal) {
    struct timespec time = {.tv_nsec = 100000000};
    (void)signal;
    syscall(SYS_nanosleep, &time, NULL);
}

static void *come_and_go(void *number) {
    observe_open((int)(intptr_t)number);
    visit("came");
    return NULL;
}

static void *wait_for_ever(void *number) {
    observer.rank = (int)(intptr_t)number;
    pthread_cleanup_push(visit, "cancelled");
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return NULL;
}

static void body(int number) {
    for (int i = 0; i < VICTIMS; i++) {
        pthread_t thread;
        void *name = (void *)(intptr_t)(number * 100 + i), *result;
        work();
        must("pthread_create", pthread_create(&thread, NULL, come_and_go, name));
        must("pthread_join", pthread_join(thread, NULL));
        work();
        must("pthread_create", pthread_create(&thread, NULL, wait_for_ever, name));
        must("pthread_kill", pthread_kill(thread, SIGUSR1));
        must("pthread_cancel", pthread_cancel(thread));
        must("pthread_join", pthread_join(thread, &result));
        observe("cancelled", result == PTHREAD_CANCELED);
        visit("saw it");
    }
}

int main(void) {
    struct sigaction action = {.sa_handler = hold_up};
    cpu_set_t one;
    int first = 0;
    /* On one processor a new thread does not begin at once. */
    sched_getaffinity(0, sizeof one, &one);
    while (!CPU_ISSET(first, &one))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
    sigaction(SIGUSR1, &action, NULL);
    observe_open(0);
    run_threads(CANCELLERS, body);
    trail_print("all", &trail);
    return 0;
}
