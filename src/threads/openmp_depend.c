/* The lists of a depend clause. */
#include "threads/openmp_task.h"

/* The old form has the number of addresses first. The new one, which has 0 there, goes on with
   their number and the numbers of three kinds of them; what is left are dependence objects, each an
   address and its kind. */
size_t rf_omp_depend_count(void **depend) {
    return depend[0] ? (uintptr_t)depend[0] : (uintptr_t)depend[1];
}

void rf_omp_depend_copy(void **depend, void **addresses) {
    size_t count = rf_omp_depend_count(depend);
    size_t plain = count;
    void **list = depend + 2;
    if (!depend[0]) {
        plain = (uintptr_t)depend[2] + (uintptr_t)depend[3] + (uintptr_t)depend[4];
        list = depend + 5;
    }
    for (size_t i = 0; i < count; i++)
        addresses[i] = i < plain ? list[i] : *(void **)list[i];
}

void rf_omp_depend_turns(uintptr_t address, void *const *addresses, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct rf_thread *self = rf_here();
        if (!self)
            return;
        if (!rf_threads.replays) {
            rf_take(self, RF_OP_OMP_DEPEND, address, addresses[i]);
        } else {
            rf_turn_await(self, RF_OP_OMP_DEPEND, address);
            rf_turn_played(self);
            rf_turn_wake(self);
        }
    }
}
