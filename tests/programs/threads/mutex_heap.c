/* Mutexes that come and go with the things they are in: addresses are used again, by other threads,
   and differ from run to run. */
#include "trails.h"

struct thing {
    pthread_mutex_t mutex;
    struct trail trail;
};

enum { PLACES = 3 };

static pthread_mutex_t places_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct thing *places[PLACES];
static struct trail all;

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        int place = (i + number) % PLACES;
        must("pthread_mutex_lock", pthread_mutex_lock(&places_mutex));
        struct thing *thing = places[place];
        if (!thing) {
            size_t size = sizeof *thing + (size_t)dice(3) * 64;
            thing = places[place] = (struct thing *)calloc(1, size);
            must("pthread_mutex_init", pthread_mutex_init(&thing->mutex, NULL));
            step_value("made", &all, place);
        }
        must("pthread_mutex_lock", pthread_mutex_lock(&thing->mutex));
        step("used", &thing->trail);
        int over = thing->trail.length == 5;
        if (over) {
            places[place] = NULL;
            step_value("taken away", &all, (long)thing->trail.hash);
        }
        must("pthread_mutex_unlock", pthread_mutex_unlock(&thing->mutex));
        must("pthread_mutex_unlock", pthread_mutex_unlock(&places_mutex));
        if (over) {
            must("pthread_mutex_destroy", pthread_mutex_destroy(&thing->mutex));
            free(thing);
        }
        work();
    }
}

int main(void) {
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("things", &all);
    return 0;
}
