/* What it asks for is chosen by ASKS, so that a replay can be made to ask for something else:
   plain, other (function), size, more, fewer, bound, thread (another one asks more). */
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

static const char *way;

static int is(const char *name) {
    return strcmp(way, name) == 0;
}

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_nsec;
}

static void *second(void *argument) {
    now();
    if (is("thread"))
        now();
    return argument;
}

int main(void) {
    unsigned char bytes[64];
    pthread_t thread;
    way = getenv("ASKS") ? getenv("ASKS") : "plain";
    SAY("time %ld", (long)time(NULL));
    long value = is("other") ? (long)clock() : now();
    SAY("value %ld", value);
    if (!is("fewer"))
        SAY("value %ld", now());
    MUST(getrandom(bytes, is("size") ? 32 : 16, 0) > 0);
    SAY("bytes %016llx", digest(bytes, 16));
    MUST(pthread_create(&thread, NULL, second, NULL) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    if (is("more"))
        SAY("value %ld", now());
    if (is("crash"))
        abort();
    return 0;
}
