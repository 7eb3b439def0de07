/* Inside loops whose iterations wait for each other. Nothing is decided there: a replay hands out
   the recorded parts, and the rest follows. Only tools that look for data races are told of the
   order. */
#include <stdarg.h>

#include "threads/openmp.h"
#include "threads/races.h"

typedef unsigned long long ull;

enum { CROSSING_MOST = 16 }; /* loops in each other, all of them named in one depend clause */

void GOMP_ordered_start(void) {
    rf_gomp()->GOMP_ordered_start();
    if (rf_omp_member)
        rf_race_after(&rf_omp_member->team->marks.ordered);
}

void GOMP_ordered_end(void) {
    if (rf_omp_member)
        rf_race_before(&rf_omp_member->team->marks.ordered);
    rf_gomp()->GOMP_ordered_end();
}

/* An iteration is known by its numbers. Two that share a mark are taken to be in order, which may
   hide a race between them, but never shows one where there is none. */
static const char *mark_of(const ull *numbers) {
    struct rf_omp_marks *marks = &rf_omp_member->team->marks;
    ull sum = 0;
    for (unsigned i = 0; i < rf_omp_member->crossing; i++)
        sum = sum * 31 + numbers[i];
    return &marks->crossing[sum % sizeof marks->crossing];
}

void rf_omp_crossing(unsigned count) {
    if (rf_omp_member)
        rf_omp_member->crossing = count < CROSSING_MOST ? count : CROSSING_MOST;
}

void GOMP_doacross_post(long *numbers) {
    if (rf_omp_member)
        rf_race_before(mark_of((ull *)numbers));
    rf_gomp()->GOMP_doacross_post(numbers);
}

void GOMP_doacross_ull_post(ull *numbers) {
    if (rf_omp_member)
        rf_race_before(mark_of(numbers));
    rf_gomp()->GOMP_doacross_ull_post(numbers);
}

/* libgomp takes as many numbers as the loop has; more do no harm. */
#define PASS_ON(real, n)                                                                           \
    real(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], n[13],   \
         n[14], n[15])

#define WAIT(name, type)                                                                           \
    void name(type first, ...) {                                                                   \
        type numbers[CROSSING_MOST] = {first};                                                     \
        unsigned count = rf_omp_member ? rf_omp_member->crossing : CROSSING_MOST;                  \
        va_list others;                                                                            \
        va_start(others, first);                                                                   \
        for (unsigned i = 1; i < count; i++)                                                       \
            numbers[i] = va_arg(others, type);                                                     \
        va_end(others);                                                                            \
        PASS_ON(rf_gomp()->name, numbers);                                                         \
        if (rf_omp_member)                                                                         \
            rf_race_after(mark_of((ull *)numbers));                                                \
    }

WAIT(GOMP_doacross_wait, long)
WAIT(GOMP_doacross_ull_wait, ull)
