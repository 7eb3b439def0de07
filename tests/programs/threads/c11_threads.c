/* C11: threads that end in all ways, things done once, data of a thread and its destructor. */
#include "trails.h"

#include <threads.h>

enum { COUNT = 24, THINGS = 4 };

static mtx_t mutex;
static once_flag flags[THINGS] = {ONCE_FLAG_INIT, ONCE_FLAG_INIT, ONCE_FLAG_INIT, ONCE_FLAG_INIT};
static tss_t key;
static cnd_t done;
static int running = COUNT;
static struct trail trail;

static void check(const char *what, int code) {
    must(what, code == thrd_success ? 0 : EINVAL);
}

static void visit(const char *what) {
    check("mtx_lock", mtx_lock(&mutex));
    step(what, &trail);
    check("mtx_unlock", mtx_unlock(&mutex));
}

static void make(void) {
    visit("made");
}

static void destroy(void *argument) {
    (void)argument;
    check("mtx_lock", mtx_lock(&mutex));
    step("destroyed", &trail);
    if (--running == 0)
        check("cnd_broadcast", cnd_broadcast(&done));
    check("mtx_unlock", mtx_unlock(&mutex));
}

static int body(void *argument) {
    int number = (int)(intptr_t)argument;
    observe_open(number);
    check("tss_set", tss_set(key, argument));
    work();
    call_once(&flags[number % THINGS], make);
    thrd_yield();
    visit("ran");
    if (number % 2)
        thrd_exit(number);
    return number;
}

int main(void) {
    thrd_t threads[COUNT];
    check("mtx_init", mtx_init(&mutex, mtx_plain));
    check("cnd_init", cnd_init(&done));
    check("tss_create", tss_create(&key, destroy));
    observe_open(0);
    for (int i = 0; i < COUNT; i++) {
        check("thrd_create", thrd_create(&threads[i], body, (void *)(intptr_t)(i + 1)));
        if (i % 3 == 0)
            check("thrd_detach", thrd_detach(threads[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        int result = 0;
        if (i % 3)
            check("thrd_join", thrd_join(threads[i], &result));
        observe("result", result);
    }
    check("mtx_lock", mtx_lock(&mutex));
    while (running > 0)
        check("cnd_wait", cnd_wait(&done, &mutex));
    check("mtx_unlock", mtx_unlock(&mutex));
    trail_print("all", &trail);
    observe_close();
    return 0;
}
