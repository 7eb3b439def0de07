#include "status.h"

#include <signal.h>
#include <sys/wait.h>

#include "launch.h"

bool rf_summary_crashed(const struct rf_summary *summary) {
    bool crashed = false;
    for (size_t i = 0; i < summary->count; i++) {
        const struct rf_ending *ending = &summary->ranks[i].ending;
        if ((ending->how == RF_END_ABORT || ending->how == RF_END_EXIT) && ending->code != 0)
            return false;
        crashed = crashed || ending->how == RF_END_NONE;
    }
    return crashed;
}

/* Hydra exits with the signal's bare number; worse, it ORs the statuses of all ranks, and it ends
   the other ranks with SIGKILL (9) itself: SIGABRT (6) shows as 6 or as 15. Of the signals that give
   the number seen, the one that programs die of most often is taken. */
static int hydra_signal(int number) {
    static const int likely[] = {SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof likely / sizeof likely[0]; i++)
        if (likely[i] == number || (likely[i] | SIGKILL) == number)
            return likely[i];
    return number;
}

int rf_program_status(int wait_status, enum rf_launcher launcher, bool crashed) {
    if (WIFSIGNALED(wait_status))
        return 128 + WTERMSIG(wait_status);
    int code = WEXITSTATUS(wait_status);
    if (launcher != RF_LAUNCHER_HYDRA || !crashed || code == 0 || code >= 32)
        return code;
    /* What we were sent ourselves is what the ranks died of. */
    return 128 + (rf_signal_seen() ? rf_signal_seen() : hydra_signal(code));
}
