/* Readers and writers who do not wait. */
#include "trails.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct trail trail;

static void body(int number) {
    for (int i = 0; i < ROUNDS * 2; i++) {
        int writes = (i + number) % 3 == 0;
        int code = writes ? pthread_rwlock_trywrlock(&lock) : pthread_rwlock_tryrdlock(&lock);
        observe(writes ? "write" : "read", code);
        if (code == 0) {
            if (writes)
                step("wrote", &trail);
            else
                observe("saw", trail.length);
            work();
            must("pthread_rwlock_unlock", pthread_rwlock_unlock(&lock));
        } else if (code != EBUSY) {
            must("try", code);
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
