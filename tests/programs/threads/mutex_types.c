/* Mutexes of every type, and one that inherits priorities; each has its trail. */
#include "trails.h"

enum { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, INHERITING, TYPES };

static const char *const names[TYPES] = {"normal", "recursive", "errorcheck", "adaptive",
                                         "inheriting"};
static const int kinds[TYPES] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                 PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP,
                                 PTHREAD_MUTEX_NORMAL};
static pthread_mutex_t mutexes[TYPES];
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static struct trail trails[TYPES];

static void use(int type) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutexes[type]));
    if (type == RECURSIVE)
        must("pthread_mutex_lock", pthread_mutex_lock(&mutexes[type]));
    if (type == ERRORCHECK)
        observe("again", pthread_mutex_lock(&mutexes[type]));
    step(names[type], &trails[type]);
    work();
    if (type == RECURSIVE)
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutexes[type]));
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutexes[type]));
    if (type == ERRORCHECK) {
        observe("not mine", pthread_mutex_unlock(&mutexes[type]));
        observe("not mine", pthread_cond_wait(&never, &mutexes[type]));
    }
}

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        work();
        use((i + number * (i / TYPES)) % TYPES);
    }
}

int main(void) {
    observe_open(0);
    for (int i = 0; i < TYPES; i++) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, kinds[i]);
        if (i == INHERITING)
            pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
        must("pthread_mutex_init", pthread_mutex_init(&mutexes[i], &attributes));
    }
    run_threads(THREADS, body);
    for (int i = 0; i < TYPES; i++)
        trail_print(names[i], &trails[i]);
    return 0;
}
