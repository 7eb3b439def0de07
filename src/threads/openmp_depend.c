/* The lists of a depend clause. */
#include "threads/openmp_task.h"
#include "threads/races.h"

/* The old form has the number of addresses first. The new one, which has 0 there, goes on with
   their number and the numbers of three kinds of them; what is left are dependence objects, each an
   address and its kind. Those that are only read come last of each form. */
size_t rf_omp_depend_count(void **depend) {
    return depend[0] ? (uintptr_t)depend[0] : (uintptr_t)depend[1];
}

size_t rf_omp_depend_copy(void **depend, void **addresses) {
    enum { IN = 1 };
    size_t count = rf_omp_depend_count(depend);
    size_t plain = count, written = (uintptr_t)depend[1];
    void **list = depend + 2;
    if (!depend[0]) {
        written = (uintptr_t)depend[2] + (uintptr_t)depend[3];
        plain = written + (uintptr_t)depend[4];
        list = depend + 5;
    }
    size_t first = 0, last = count;
    for (size_t i = 0; i < count; i++) {
        void **object = list[i];
        bool reads = i < plain ? i >= written : (uintptr_t)object[1] == IN;
        addresses[reads ? --last : first++] = i < plain ? object : object[0];
    }
    return first;
}

/* Who reads comes after those who wrote, who writes after all others: the address stands for those
   who wrote, the byte behind it for those who read. */
void rf_omp_depend_after(void *const *addresses, size_t count, size_t written) {
    for (size_t i = 0; i < count; i++) {
        rf_race_after(addresses[i]);
        if (i < written)
            rf_race_after((const char *)addresses[i] + 1);
    }
}

void rf_omp_depend_before(void *const *addresses, size_t count, size_t written) {
    for (size_t i = 0; i < count; i++)
        rf_race_before((const char *)addresses[i] + (i < written ? 0 : 1));
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
