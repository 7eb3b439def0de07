#include "engine/signals.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static struct watched {
    int number;
    bool free; /* the program had not taken it */
    struct sigaction before;
} watched[] = {{.number = SIGSEGV}, {.number = SIGBUS},  {.number = SIGFPE}, {.number = SIGILL},
               {.number = SIGABRT}, {.number = SIGTERM}, {.number = SIGINT}};

enum { WATCHED = sizeof watched / sizeof watched[0] };

static rf_signal_function *tell;

/* An overflown stack has no room for a handler. */
static char other_stack[1 << 16];

static void note(int number, siginfo_t *info, void *context) {
    (void)context;
    tell(number);
    for (int i = 0; i < WATCHED; i++)
        if (watched[i].number == number)
            sigaction(number, &watched[i].before, NULL);
    /* What an instruction has done it will do again; what was sent is sent again, and comes when
       this handler has returned. */
    if (info->si_code <= 0)
        raise(number);
}

/* Some libraries take them as they are loaded or started, to print where it happened, and go on
   dying. */
static bool is_helpful(const struct sigaction *now) {
    Dl_info info;
    const char *name;
    return dladdr((const void *)(uintptr_t)now->sa_sigaction, &info) &&
           (name = strrchr(info.dli_fname, '/')) &&
           (strncmp(name, "/libucs.so", 10) == 0 || strncmp(name, "/libgfortran.so", 15) == 0);
}

void rf_signals_look(void) {
    for (int i = 0; i < WATCHED; i++) {
        struct sigaction now;
        watched[i].free = sigaction(watched[i].number, NULL, &now) == 0 &&
                          (now.sa_handler == SIG_DFL || is_helpful(&now));
    }
}

void rf_signals_watch(rf_signal_function *function) {
    tell = function;
    stack_t stack;
    if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_DISABLE) {
        stack = (stack_t){.ss_sp = other_stack, .ss_size = sizeof other_stack};
        sigaltstack(&stack, NULL);
    }
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < WATCHED; i++) {
        struct sigaction before;
        /* Nodes that are threads come here one after the other, or at the same time. */
        if (watched[i].free && sigaction(watched[i].number, &action, &before) == 0 &&
            before.sa_sigaction != note)
            watched[i].before = before;
    }
}
