/* Producers and consumers with a small buffer between them. */
#include "trails.h"

enum { PRODUCERS = 2, CONSUMERS = 3, ROOM = 3, ITEMS = 60 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static long buffer[ROOM];
static int first, count, producers = PRODUCERS;
static struct trail put, got;

static void produce(int number) {
    for (int i = 0; i < ITEMS; i++) {
        work();
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        while (count == ROOM)
            must("pthread_cond_wait", pthread_cond_wait(&not_full, &mutex));
        buffer[(first + count++) % ROOM] = number * 1000 + i;
        step("put", &put);
        must("pthread_cond_signal", pthread_cond_signal(&not_empty));
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
    }
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    if (--producers == 0)
        must("pthread_cond_broadcast", pthread_cond_broadcast(&not_empty));
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void consume(void) {
    for (;;) {
        must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
        while (count == 0 && producers > 0) {
            observe("waits", got.length);
            must("pthread_cond_wait", pthread_cond_wait(&not_empty, &mutex));
        }
        if (count == 0)
            break;
        long item = buffer[first];
        first = (first + 1) % ROOM;
        count--;
        step_value("got", &got, item);
        must("pthread_cond_signal", pthread_cond_signal(&not_full));
        must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
        observe("item", item);
        work();
    }
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void body(int number) {
    if (number <= PRODUCERS)
        produce(number);
    else
        consume();
}

int main(void) {
    observe_open(0);
    run_threads(PRODUCERS + CONSUMERS, body);
    trail_print("put", &put);
    trail_print("got", &got);
    return 0;
}
