/* C11: mutexes of all kinds, waited for, tried, and with limits. */
#include "trails.h"

#include <threads.h>

static mtx_t plain, recursive, timed;
static struct trail trail, trail_recursive, trail_timed;

static void check(const char *what, int code) {
    must(what, code == thrd_success ? 0 : EINVAL);
}

static int body(void *argument) {
    observe_open((int)(intptr_t)argument);
    for (int i = 0; i < ROUNDS; i++) {
        work();
        check("mtx_lock", mtx_lock(&plain));
        step("plain", &trail);
        check("mtx_unlock", mtx_unlock(&plain));

        int code = mtx_trylock(&recursive);
        observe("recursive", code);
        if (code == thrd_success) {
            check("mtx_lock", mtx_lock(&recursive));
            step("recursive", &trail_recursive);
            work();
            check("mtx_unlock", mtx_unlock(&recursive));
            check("mtx_unlock", mtx_unlock(&recursive));
        }

        struct timespec limit = from_now(CLOCK_REALTIME, 20000);
        if (i % 4 == 0)
            limit = (struct timespec){1, 0};
        code = mtx_timedlock(&timed, &limit);
        observe("timed", code);
        if (code == thrd_success) {
            step("timed", &trail_timed);
            work();
            check("mtx_unlock", mtx_unlock(&timed));
        }
    }
    observe_close();
    return 0;
}

int main(void) {
    thrd_t threads[THREADS];
    check("mtx_init", mtx_init(&plain, mtx_plain));
    check("mtx_init", mtx_init(&recursive, mtx_plain | mtx_recursive));
    check("mtx_init", mtx_init(&timed, mtx_timed));
    observe_open(0);
    for (int i = 0; i < THREADS; i++)
        check("thrd_create", thrd_create(&threads[i], body, (void *)(intptr_t)(i + 1)));
    for (int i = 0; i < THREADS; i++)
        check("thrd_join", thrd_join(threads[i], NULL));
    trail_print("plain", &trail);
    trail_print("recursive", &trail_recursive);
    trail_print("timed", &trail_timed);
    return 0;
}
