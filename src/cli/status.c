#include "status.h"

#include <signal.h>
#include <sys/wait.h>

#include "launch.h"

int rf_own_code(const struct rf_ending *ending) {
    bool own = ending->how == RF_END_ABORT || ending->how == RF_END_EXIT;
    return own ? ending->code & 0xff : 0;
}

int rf_summary_code(const struct rf_summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (rf_own_code(&summary->ranks[i].ending))
            return rf_own_code(&summary->ranks[i].ending);
    return 0;
}

/* What a rank left with by _exit(), or a library did that gave up; 0 if none did. */
static int left_code(const struct rf_summary *summary) {
    for (size_t i = 0; i < summary->count; i++) {
        const struct rf_ending *ending = &summary->ranks[i].ending;
        if (ending->how == RF_END_NONE && rf_is_left(ending->code) && rf_left_status(ending->code))
            return rf_left_status(ending->code);
    }
    return 0;
}

enum rf_fate rf_summary_fate(const struct rf_summary *summary) {
    if (rf_summary_code(summary))
        return RF_FATE_LEFT;
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].ending.how == RF_END_NONE)
            return RF_FATE_CRASHED;
    return RF_FATE_GOOD;
}

int rf_summary_signal(const struct rf_summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].ending.how == RF_END_NONE && summary->ranks[i].ending.code > 0)
            return summary->ranks[i].ending.code;
    return 0;
}

/* Did a rank see this signal come? */
static bool was_noted(const struct rf_summary *summary, int signal) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].ending.how == RF_END_NONE && summary->ranks[i].ending.code == signal)
            return true;
    return false;
}

/* Hydra exits with the signal's bare number; worse, it ORs the statuses of all ranks, and it ends
   the other ranks with SIGKILL (9) itself: SIGABRT (6) shows as 6 or as 15, and from version 4.1 on
   any signal may show as 9 or 0. Of the signals that were noted and give the number seen, the one
   that programs die of most often is taken; 0 for a number that is rather the class of an MPI
   error, which MPICH exits with when it is fatal. Nobody notes SIGKILL. */
static int hydra_signal(const struct rf_summary *summary, int number) {
    static const int likely[] = {SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE, SIGINT, SIGTERM};
    if (number == 0 || number == SIGKILL)
        return rf_summary_signal(summary) ? rf_summary_signal(summary) : SIGKILL;
    for (size_t i = 0; i < sizeof likely / sizeof likely[0]; i++)
        if ((likely[i] == number || (likely[i] | SIGKILL) == number) &&
            was_noted(summary, likely[i]))
            return likely[i];
    return 0;
}

bool rf_hydra_hides(int wait_status, enum rf_launcher launcher, enum rf_fate fate) {
    if (launcher != RF_LAUNCHER_HYDRA || !WIFEXITED(wait_status))
        return false;
    int code = WEXITSTATUS(wait_status);
    return code == SIGKILL || (code == 0 && fate != RF_FATE_GOOD);
}

int rf_program_status(int wait_status, enum rf_launcher launcher, enum rf_fate fate,
                      const struct rf_summary *summary) {
    if (WIFSIGNALED(wait_status))
        return 128 + WTERMSIG(wait_status);
    int code = WEXITSTATUS(wait_status);
    int own = summary ? rf_summary_code(summary) : 0;
    if (summary && !own)
        own = left_code(summary);
    if (own && rf_hydra_hides(wait_status, launcher, fate))
        return own;
    if (fate != RF_FATE_CRASHED)
        return code;
    /* What we were sent ourselves is what the ranks died of; hydra may call that a success. */
    if (rf_signal_seen())
        return 128 + rf_signal_seen();
    int signal = 0;
    if (launcher == RF_LAUNCHER_HYDRA && summary)
        signal = hydra_signal(summary, code);
    return signal ? 128 + signal : code;
}
