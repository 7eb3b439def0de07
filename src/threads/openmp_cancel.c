/* Cancelling. Who notices when that a loop or the sections are cancelled is a value of the thread
   that is told. A replay tells it the same again, and libgomp is not asked: for it nothing is ever
   cancelled, and the threads meet at the end of the loop as always.

   A cancelled parallel region or group of tasks is not kept: barriers let go of some threads, and
   tasks are thrown away, at moments of libgomp's own. */
#include "threads/openmp.h"

enum { LOOP = 2, SECTIONS = 4 };

static bool point(struct rf_thread *self, uintptr_t address, int which, bool wanted) {
    int64_t value;
    if (rf_threads.replays) {
        bool cancelled = rf_step_play(self, RF_OP_OMP_CANCEL, address, &value);
        return self->free ? rf_gomp()->GOMP_cancel(which, wanted) : cancelled;
    }
    bool cancelled = rf_gomp()->GOMP_cancel(which, wanted);
    if (cancelled)
        rf_value_record(self, RF_OP_OMP_CANCEL, address, 1);
    else
        rf_step_record(self, RF_OP_OMP_CANCEL);
    return cancelled;
}

bool GOMP_cancel(int which, bool wanted) {
    struct rf_thread *self = rf_omp_member && rf_gomp()->omp_get_cancellation() ? rf_here() : NULL;
    if (self && which & (LOOP | SECTIONS))
        return point(self, RF_HERE_ADDRESS, which, wanted);
    if (self)
        rf_unseen(RF_UNSEEN_CANCEL);
    return rf_gomp()->GOMP_cancel(which, wanted);
}

/* The same as to cancel if something that is false. */
bool GOMP_cancellation_point(int which) {
    struct rf_thread *self = rf_omp_member && rf_gomp()->omp_get_cancellation() ? rf_here() : NULL;
    if (self && which & (LOOP | SECTIONS))
        return point(self, RF_HERE_ADDRESS, which, false);
    return rf_gomp()->GOMP_cancellation_point(which);
}
