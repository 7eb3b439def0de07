/* The clock of MPI, whose times are kept where the library for threads keeps those of the C
 * library.
 */
#include "mpi/adapter.h"

RF_WRAPPER(double, Wtime, (void)) {
    RF_ENTER(Wtime, ());
    const struct rf_threads_link *link = rf_order.found;
    bool kept = link && link->keeps_time();
    double now = rf_reals.Wtime();
    if (!kept)
        rf_note_unsupported(RF_FN_Wtime, here.name);
    rf_leave_quietly();
    return kept ? link->time("MPI_Wtime", here.address, now) : now;
}
