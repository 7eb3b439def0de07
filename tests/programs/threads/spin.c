/* Spin locks: waited for, and tried. */
#include "trails.h"

static pthread_spinlock_t waited, tried;
static struct trail trail, trail_tried;

static void body(int number) {
    (void)number;
    for (int i = 0; i < ROUNDS * 3; i++) {
        must("pthread_spin_lock", pthread_spin_lock(&waited));
        step("took", &trail);
        must("pthread_spin_unlock", pthread_spin_unlock(&waited));
        int code = pthread_spin_trylock(&tried);
        observe("code", code);
        if (code == 0) {
            step("got", &trail_tried);
            work();
            must("pthread_spin_unlock", pthread_spin_unlock(&tried));
        }
        work();
    }
}

int main(void) {
    must("pthread_spin_init", pthread_spin_init(&waited, PTHREAD_PROCESS_PRIVATE));
    must("pthread_spin_init", pthread_spin_init(&tried, PTHREAD_PROCESS_PRIVATE));
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("waited for", &trail);
    trail_print("tried", &trail_tried);
    return 0;
}
