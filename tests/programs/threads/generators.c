/* Random numbers that all threads draw from one state, and seed anew. */
#include "trails.h"

static void body(int number) {
    long sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        sum += rand() + random() + lrand48() + mrand48() + (long)(1e9 * drand48());
        if (i == 20 + number) {
            srand((unsigned)number);
            srand48(number);
        }
        observe("sum", sum);
        work();
    }
    char line[64];
    int length = snprintf(line, sizeof line, "thread %d: %ld\n", number, sum);
    observe_write(STDOUT_FILENO, line, length);
}

int main(void) {
    observe_open(0);
    run_threads(THREADS, body);
    return 0;
}
