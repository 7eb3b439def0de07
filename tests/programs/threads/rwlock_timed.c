/* Readers and writers who wait for a while, by either clock. */
#include "trails.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct trail trail;

static int take(int writes, int way) {
    struct timespec limit = from_now(way == 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME, 15000);
    if (way == 2)
        limit = (struct timespec){1, 0};
    if (way == 1)
        return writes ? pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &limit)
                      : pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &limit);
    return writes ? pthread_rwlock_timedwrlock(&lock, &limit)
                  : pthread_rwlock_timedrdlock(&lock, &limit);
}

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        int writes = (i + number) % 2;
        int code = take(writes, (i / 2 + number) % 3);
        observe(writes ? "write" : "read", code);
        if (code == 0) {
            if (writes)
                step("wrote", &trail);
            else
                observe("saw", trail.length);
            work();
            must("pthread_rwlock_unlock", pthread_rwlock_unlock(&lock));
        } else if (code != ETIMEDOUT) {
            must("take", code);
        }
        work();
    }
}

int main(void) {
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("writes", &trail);
    return 0;
}
