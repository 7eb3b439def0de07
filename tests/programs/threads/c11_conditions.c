/* C11: condition variables, with and without limits, signalled and broadcast. */
#include "trails.h"

#include <threads.h>

static mtx_t mutex;
static cnd_t more;
static long items, givers = 2;
static struct trail trail;

static void check(const char *what, int code) {
    must(what, code == thrd_success ? 0 : EINVAL);
}

static int give(void *argument) {
    observe_open((int)(intptr_t)argument);
    for (int i = 0; i < ROUNDS; i++) {
        work();
        check("mtx_lock", mtx_lock(&mutex));
        items++;
        step("gave", &trail);
        if (i == ROUNDS - 1)
            givers--;
        check("mtx_unlock", mtx_unlock(&mutex));
        if (i == ROUNDS - 1)
            check("cnd_broadcast", cnd_broadcast(&more));
        else
            check("cnd_signal", cnd_signal(&more));
    }
    observe_close();
    return 0;
}

static int take(void *argument) {
    int number = (int)(intptr_t)argument, taken = 0;
    observe_open(number);
    check("mtx_lock", mtx_lock(&mutex));
    while (items > 0 || givers > 0) {
        if (items > 0) {
            items--;
            taken++;
            step("took", &trail);
            check("mtx_unlock", mtx_unlock(&mutex));
            work();
            check("mtx_lock", mtx_lock(&mutex));
        } else if (number % 2) {
            struct timespec limit = from_now(CLOCK_REALTIME, 20000);
            int code = cnd_timedwait(&more, &mutex, &limit);
            observe("code", code);
        } else {
            check("cnd_wait", cnd_wait(&more, &mutex));
        }
    }
    check("mtx_unlock", mtx_unlock(&mutex));
    observe_close();
    return taken;
}

int main(void) {
    thrd_t threads[5];
    check("mtx_init", mtx_init(&mutex, mtx_plain));
    check("cnd_init", cnd_init(&more));
    observe_open(0);
    for (int i = 0; i < 5; i++)
        check("thrd_create",
              thrd_create(&threads[i], i < 2 ? give : take, (void *)(intptr_t)(i + 1)));
    for (int i = 0; i < 5; i++) {
        int result;
        check("thrd_join", thrd_join(threads[i], &result));
        observe("result", result);
    }
    trail_print("all", &trail);
    observe_close();
    return 0;
}
