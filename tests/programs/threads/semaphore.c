/* Semaphores: one lets two threads in at a time, one is passed round as a token. How many are in,
   and what the semaphore says of itself, varies. */
#include "trails.h"

#include <semaphore.h>

static sem_t two, token;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long inside;
static struct trail entered, passed;

static void count(const char *what, long by) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    inside += by;
    step_value(what, &entered, inside);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void check(const char *what, int result) {
    must(what, result == 0 ? 0 : errno);
}

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        int value = 0;
        work();
        check("sem_wait", sem_wait(&two));
        count("enters", 1);
        work();
        count("leaves", -1);
        check("sem_post", sem_post(&two));
        check("sem_getvalue", sem_getvalue(&two, &value));
        observe("value", value);
        if ((i + number) % 2) {
            check("sem_wait", sem_wait(&token));
            step("token", &passed);
            check("sem_post", sem_post(&token));
        }
    }
}

int main(void) {
    check("sem_init", sem_init(&two, 0, 2));
    check("sem_init", sem_init(&token, 0, 1));
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("entered", &entered);
    trail_print("token", &passed);
    return 0;
}
