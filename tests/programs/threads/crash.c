/* One thread ends the process badly while it holds a lock and others work or wait for it: crash
   HOW. segfault, overflow (of the stack), abort, assert, exit, or order: only if another thread was
   the last one at the lock. */
#include "trails.h"

#include <assert.h>
#include <signal.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;
static int last;
static const char *how = "segfault";

static int dig(volatile char *above) {
    volatile char here[4096] = {*above};
    return *above ? dig(here) + here[17] : 0; /* it is never 0 */
}

static void end_badly(void) {
    trail_print("all", &trail);
    if (strcmp(how, "segfault") == 0 || strcmp(how, "order") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "overflow") == 0)
        exit(dig((char[]){1}));
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "assert") == 0)
        assert(!"the end");
    if (strcmp(how, "exit") == 0)
        exit(3);
    fprintf(stderr, "crash: unknown way to end: %s\n", how);
    exit(2);
}

static void body(int number) {
    /* The others do not come to an end before it. */
    int for_ever = number != 2 && strcmp(how, "order") != 0;
    for (int i = 0; for_ever || i < ROUNDS; i++) {
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        step("locked", &trail);
        if (number == 2 && i == ROUNDS / 2 && (strcmp(how, "order") != 0 || last == 3)) {
            must("pthread_mutex_lock", pthread_mutex_lock(&other));
            end_badly();
        }
        last = number;
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
        work();
        must("pthread_mutex_lock", pthread_mutex_lock(&other));
        work();
        must("pthread_mutex_unlock", pthread_mutex_unlock(&other));
    }
}

int main(int argc, char **argv) {
    if (argc > 1)
        how = argv[1];
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("all", &trail);
    return 0;
}
