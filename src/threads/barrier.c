/* A barrier orders its threads by itself; only who is the one that is told so is open. */
#include "threads/hook.h"

RF_HOOK int pthread_barrier_wait(pthread_barrier_t *barrier) {
    RF_PASS(pthread_barrier_wait(barrier));
    int code;
    if (rf_clocks())
        rf_tick(self, RF_OP_BARRIER_ARRIVE, RF_HERE_ADDRESS, barrier);
    if (!rf_threads.replays) {
        code = rf_real_functions.pthread_barrier_wait(barrier);
        if (code)
            rf_value_record(self, RF_OP_BARRIER_WAIT, RF_HERE_ADDRESS, code);
        else
            rf_step_record(self, RF_OP_BARRIER_WAIT);
        if (rf_clocks())
            rf_tick(self, RF_OP_BARRIER_LEAVE, RF_HERE_ADDRESS, barrier);
        return code;
    }
    /* Others may have passed it, even if this thread did not come out any more. */
    rf_turn_wake(self);
    int64_t recorded = 0;
    /* With clocks the others have to know when this one leaves, or they would wait for it and never
       arrive. */
    bool early = rf_clocks() && !rf_turn_cut(self);
    if (early)
        rf_step_play(self, RF_OP_BARRIER_WAIT, RF_HERE_ADDRESS, &recorded);
    rf_turn_blocks(self, RF_OP_BARRIER_WAIT, RF_HERE_ADDRESS);
    code = rf_real_functions.pthread_barrier_wait(barrier);
    rf_turn_goes_on(self);
    if (!early)
        rf_step_play(self, RF_OP_BARRIER_WAIT, RF_HERE_ADDRESS, &recorded);
    if (rf_clocks() && !self->free)
        rf_tick(self, RF_OP_BARRIER_LEAVE, RF_HERE_ADDRESS, barrier);
    return self->free ? code : (int)recorded;
}
