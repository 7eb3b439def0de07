/* observe.h for the programs in Fortran. */
#include "observe.h"

void program_open(int rank);
void program_observe(const char *what, int value);
void program_close(void);
void program_dawdle(void);

void program_open(int rank) {
    observe_open(rank);
}

void program_observe(const char *what, int value) {
    observe(what, value);
}

void program_close(void) {
    observe_close();
}

void program_dawdle(void) {
    dawdle();
}
