/* Figure 8 of paper 004: nested locks. A thread has the outer mutex and takes the inner one, whose
   clock others have moved far ahead. If unlocks move no clock (left), the next lock of the outer
   one gets an earlier time stamp than the inner lock of the thread that still holds it, and both
   wait for each other. With ticking unlocks (right) it comes later. */
#include "trails.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail_outer, trail_inner;

static void take_inner(void) {
    must("pthread_mutex_lock", pthread_mutex_lock(&inner));
    step("inner", &trail_inner);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&inner));
}

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        if (number == 1) {
            for (int k = 0; k < 5; k++)
                take_inner();
            work();
        } else {
            must("pthread_mutex_lock", pthread_mutex_lock(&outer));
            step("outer", &trail_outer);
            if (number == 2)
                take_inner();
            must("pthread_mutex_unlock", pthread_mutex_unlock(&outer));
            work();
        }
    }
}

int main(void) {
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("outer", &trail_outer);
    trail_print("inner", &trail_inner);
    return 0;
}
