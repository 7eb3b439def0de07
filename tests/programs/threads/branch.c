/* A program that can take another branch than the recorded one: PROGRAM_BRANCH, or branch HOW.
   more: thread 2 locks once more; less: once less; function: it tries instead of waiting; keeps: it
   does not unlock; thread: there is one thread more; endless: the first thread waits for what never
   comes; long: there is 1600 times as much to do. */
#include "trails.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static struct trail trail;
static const char *branch = "";

static int takes(const char *name) {
    return strcmp(branch, name) == 0;
}

static void lock_it(void) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
}

static void try_it(void) {
    while (pthread_mutex_trylock(&mutex) == EBUSY)
        sched_yield();
}

static void unlock_it(void) {
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void visit(int tries, int keeps) {
    if (tries)
        try_it();
    else
        lock_it();
    step("locked", &trail);
    if (!keeps)
        unlock_it();
}

static void body(int number) {
    int rounds = (takes("long") ? 1600 : 1) * ROUNDS + (number == 2 && takes("more")) -
                 (number == 2 && takes("less"));
    for (int i = 0; i < rounds; i++) {
        int special = number == 2 && i == ROUNDS / 2;
        work();
        visit(special && takes("function"), special && takes("keeps"));
    }
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : getenv("PROGRAM_BRANCH");
    if (name)
        branch = name;
    observe_open(0);
    run_threads(THREADS + takes("thread"), body);
    lock_it();
    if (takes("endless")) {
        observe("waits", 0);
        for (;;)
            must("pthread_cond_wait", pthread_cond_wait(&never, &mutex));
    }
    trail_print("all", &trail);
    unlock_it();
    return 0;
}
