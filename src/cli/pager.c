#include "pager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"

static pid_t pager;
static int terminal = -1;

void rf_pager_begin(void) {
    const char *command = getenv("PAGER");
    if (!isatty(STDOUT_FILENO) || (command && (!*command || strcmp(command, "cat") == 0)))
        return;
    int ends[2];
    if (pipe(ends) != 0)
        return;
    fflush(stdout);
    pager = fork();
    if (pager == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        /* Short output stays on the screen, colours pass. */
        setenv("LESS", "FRX", 0);
        if (command) {
            execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        } else {
            execlp("less", "less", (char *)NULL);
            execlp("more", "more", (char *)NULL); /* a small system has no less */
        }
        _exit(127);
    }
    close(ends[0]);
    if (pager > 0) {
        terminal = dup(STDOUT_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        /* The reader may leave before the end: that is no error. */
        signal(SIGPIPE, SIG_IGN);
    }
    close(ends[1]);
}

void rf_pager_end(void) {
    fflush(stdout);
    if (pager <= 0)
        return;
    clearerr(stdout); /* all that can have gone wrong is that the reader left */
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    rf_launch_wait(pager);
    pager = 0;
}
