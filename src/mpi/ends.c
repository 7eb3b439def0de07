/* Ends without what exit() does: _exit() and its like, called by the program or by a library that
   gives up. Whoever calls them may be a handler of signals, or a child made by vfork, which has our
   memory: nothing here locks, allocates or looks up anything (with --values, asking which process
   this is does, the first time), and only the recorded process is noted. Nothing else happens, and
   a replay does nothing about them: as a recording goes on to the last instruction, such an end is
   none of its events. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi/adapter.h"

typedef void end_function(int status);

static end_function *real__exit, *real__Exit, *real_quick_exit;

static void find(end_function **real, const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    memcpy(real, &function, sizeof function);
}

static __attribute__((constructor)) void find_reals(void) {
    find(&real__exit, "_exit");
    find(&real__Exit, "_Exit");
    find(&real_quick_exit, "quick_exit");
}

void rf_note_left(int status) {
    rf_recorder_cut_off(&rf_the_session.recorder, rf_left(status, rf_inside()));
}

/* A library that is loaded before us may come here before we are ready. */
static _Noreturn void end(end_function *real, int status) {
    rf_note_left(status);
    if (real)
        real(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

RF_EXPORT _Noreturn void _exit(int status) {
    end(real__exit, status);
}

RF_EXPORT _Noreturn void _Exit(int status) {
    end(real__Exit, status);
}

RF_EXPORT _Noreturn void quick_exit(int status) {
    end(real_quick_exit, status);
}
