#include "panes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "detect.h"
#include "install.h"
#include "launch.h"
#include "messages.h"
#include "run_directory.h"
#include "text.h"
#include "tmux.h"

enum kind { NOTHING, TMUX, XTERM };

/* What the panes have told, by rank. */
enum { SILENT = -2 }; /* and RF_PANE_BEGINS, and exit codes */

struct panes {
    enum kind kind;
    int ranks;
    int *codes;
    char *directory;
    int reader, writer; /* of the pipe; we write nothing, but keep it from ending too early */
    struct rf_tmux tmux;
    pid_t attached; /* tmux in our terminal; 0: none */
    pid_t *xterms;
};

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value;
}

static bool is_installed(const char *name) {
    char *path = rf_find_executable(name);
    free(path);
    return path != NULL;
}

static enum kind find_kind(void) {
    bool terminal = is_set("TMUX") || (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
    if (terminal && is_installed("tmux"))
        return TMUX;
    return is_set("DISPLAY") && is_installed("xterm") ? XTERM : NOTHING;
}

bool rf_panes_possible(const char *named, struct rf_error *error) {
    if (find_kind() != NOTHING)
        return true;
    if (is_installed("tmux")) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "debug --all: there is no terminal to show ranks in");
        return rf_hint(error, "refrain debug --all --batch backtrace%s", named);
    }
    rf_fail(error, RF_EXIT_ENVIRONMENT, "tmux: not found in PATH, nor an xterm and its display");
    return rf_hint(error, "apt-get install tmux");
}

static bool write_texts(const struct panes *panes, const char *name, const char *const *texts,
                        struct rf_error *error) {
    char *path = rf_text("%s/%s", panes->directory, name);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    for (; file && *texts; texts++)
        fwrite(*texts, 1, strlen(*texts) + 1, file);
    bool good = file && fclose(file) == 0;
    if (!good)
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be written: %s", path, strerror(errno));
    free(path);
    return good;
}

static bool open_pipe(struct panes *panes, struct rf_error *error) {
    char *path = rf_text("%s/" RF_PANE_PIPE, panes->directory);
    if (mkfifo(path, 0600) == 0) {
        panes->reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        panes->writer = open(path, O_WRONLY | O_CLOEXEC);
    }
    bool good = panes->reader >= 0 && panes->writer >= 0;
    if (!good)
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be created: %s", path, strerror(errno));
    free(path);
    return good;
}

static bool open_xterms(struct panes *panes, const char *program, struct rf_error *error) {
    panes->xterms = rf_allocate((size_t)panes->ranks, sizeof *panes->xterms);
    bool good = true;
    fflush(NULL);
    for (int rank = 0; rank < panes->ranks && good; rank++) {
        pid_t child = fork();
        if (child == 0) {
            char *number = rf_text("%d", rank), *title = rf_text("rank %d", rank);
            execlp("xterm", "xterm", "-T", title, "-e", program, "--pane", panes->directory, number,
                   (char *)NULL);
            _exit(127);
        }
        panes->xterms[rank] = child > 0 ? child : 0;
        good = child > 0;
    }
    return good ||
           rf_fail(error, RF_EXIT_ENVIRONMENT, "xterm: cannot be started: %s", strerror(errno));
}

static bool open_panes(struct panes *panes, struct rf_error *error) {
    char *program = rf_find_self();
    bool good = panes->kind == TMUX
                    ? rf_tmux_open(&panes->tmux, panes->ranks, program, panes->directory, error)
                    : open_xterms(panes, program, error);
    free(program);
    return good;
}

static void close_panes(struct panes *panes) {
    if (panes->kind == TMUX)
        rf_tmux_close(&panes->tmux);
    for (int i = 0; panes->xterms && i < panes->ranks; i++)
        if (panes->xterms[i] > 0)
            kill(panes->xterms[i], SIGTERM);
}

/* Takes what the panes have told; false when none of them is there any more. */
static bool hear(struct panes *panes) {
    struct rf_pane_note note;
    ssize_t got;
    while ((got = read(panes->reader, &note, sizeof note)) == (ssize_t)sizeof note)
        if (note.rank >= 0 && note.rank < panes->ranks)
            panes->codes[note.rank] = note.code;
    return got != 0;
}

static bool all_began(const struct panes *panes) {
    for (int i = 0; i < panes->ranks; i++)
        if (panes->codes[i] == SILENT)
            return false;
    return true;
}

static bool all_xterms_ended(struct panes *panes) {
    bool all = panes->xterms != NULL;
    for (int i = 0; panes->xterms && i < panes->ranks; i++) {
        if (panes->xterms[i] > 0 && waitpid(panes->xterms[i], NULL, WNOHANG) != 0)
            panes->xterms[i] = 0;
        all = all && panes->xterms[i] == 0;
    }
    return all;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Has our terminal been taken from the session, which goes on without us? */
static bool is_detached(struct panes *panes) {
    if (panes->attached <= 0 || waitpid(panes->attached, NULL, WNOHANG) == 0)
        return false;
    panes->attached = 0;
    return rf_tmux_lives(&panes->tmux);
}

/* A session outlives its terminal; everything else that is meant to end us ends the panes. */
static bool is_to_end(const struct panes *panes) {
    int number = rf_signal_seen();
    return number != 0 && (number != SIGHUP || !panes->tmux.session);
}

/* Until every pane has ended; false when the session is left to itself. */
static bool watch(struct panes *panes) {
    /* A pane that has not begun by then never will. */
    enum { BEGIN_SECONDS = 20 };
    double start = seconds();
    bool closed = false;
    for (;;) {
        struct pollfd polled = {.fd = panes->reader, .events = POLLIN};
        poll(&polled, 1, 200);
        bool there = hear(panes);
        bool late = all_xterms_ended(panes) || seconds() - start > BEGIN_SECONDS;
        if (panes->writer >= 0 && (late || closed || all_began(panes))) {
            close(panes->writer);
            panes->writer = -1;
        } else if (panes->writer < 0 && !there) {
            return true;
        }
        if (is_detached(panes))
            return false;
        if (!closed && is_to_end(panes)) {
            close_panes(panes);
            closed = true;
        }
    }
}

static int conclude(const struct panes *panes) {
    for (int rank = 0; rank < panes->ranks; rank++)
        if (panes->codes[rank] == SILENT && !rf_signal_seen()) {
            rf_say("rank %d: its %s did not open", rank, panes->kind == TMUX ? "pane" : "window");
            return RF_EXIT_ENVIRONMENT;
        }
    for (int rank = 0; rank < panes->ranks; rank++)
        if (panes->codes[rank] > 0)
            return panes->codes[rank];
    return is_to_end(panes) ? 128 + rf_signal_seen() : RF_EXIT_OK;
}

static int run(struct panes *panes, bool quiet) {
    struct rf_error error = {0};
    rf_signals_guard(0);
    if (!open_panes(panes, &error)) {
        close_panes(panes);
        return rf_report_error(&error);
    }
    if (panes->kind == TMUX)
        panes->attached = rf_tmux_enter(&panes->tmux);
    rf_signals_guard(panes->attached);
    if (!watch(panes)) {
        if (!quiet) {
            rf_say("the ranks stay in tmux's session %s", panes->tmux.session);
            rf_say_hint("tmux attach -t %s", panes->tmux.session);
        }
        return RF_EXIT_OK;
    }
    if (panes->attached > 0)
        rf_launch_wait(panes->attached);
    return conclude(panes);
}

int rf_panes_show(int ranks, const char *const *words, bool quiet) {
    struct rf_error error = {0};
    struct panes panes = {.kind = find_kind(), .ranks = ranks, .reader = -1, .writer = -1};
    int code;
    panes.codes = rf_allocate((size_t)ranks, sizeof *panes.codes);
    for (int i = 0; i < ranks; i++)
        panes.codes[i] = SILENT;
    panes.directory = rf_run_directory(&error);
    if (panes.directory && write_texts(&panes, RF_PANE_WORDS, words, &error) &&
        write_texts(&panes, RF_PANE_ENVIRONMENT, (const char *const *)environ, &error) &&
        open_pipe(&panes, &error))
        code = run(&panes, quiet);
    else
        code = rf_report_error(&error);
    if (panes.reader >= 0)
        close(panes.reader);
    if (panes.writer >= 0)
        close(panes.writer);
    if (panes.directory)
        rf_run_directory_remove(panes.directory);
    rf_tmux_free(&panes.tmux);
    free(panes.xterms);
    free(panes.codes);
    return code;
}
