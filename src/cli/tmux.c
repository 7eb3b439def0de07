#include "tmux.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"
#include "text.h"

enum { WORDS_MOST = 24 };

/* Runs tmux with these words, up to NULL; its first line of output, or NULL and an error. */
static char *run(struct rf_error *error, ...) {
    char *words[WORDS_MOST] = {(char *)"tmux"};
    va_list arguments;
    va_start(arguments, error);
    for (size_t i = 1; i < WORDS_MOST - 1 && (words[i] = va_arg(arguments, char *));)
        i++;
    va_end(arguments);
    int ends[2] = {-1, -1};
    fflush(NULL);
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execvp(words[0], words);
        _exit(127);
    }
    close(ends[1]);
    char line[256] = "", rest[256];
    FILE *output = child > 0 ? fdopen(ends[0], "r") : NULL;
    if (output && fgets(line, sizeof line, output))
        while (fgets(rest, sizeof rest, output))
            continue;
    if (output)
        fclose(output);
    line[strcspn(line, "\n")] = 0;
    int status = child > 0 ? rf_launch_wait(child) : -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return rf_copy(line);
    rf_fail(error, RF_EXIT_ENVIRONMENT, "tmux %s: %s", words[1], *line ? line : "failed");
    return NULL;
}

static bool done(char *answer) {
    free(answer);
    return answer != NULL;
}

/* Columns and lines of what the panes will share. */
static void find_size(bool inside, int *columns, int *lines) {
    struct rf_error ignored = {0};
    struct winsize size = {0};
    *columns = 80;
    *lines = 24;
    char *answer = inside ? run(&ignored, "display-message", "-p",
                                "#{window_width} #{window_height}", (char *)NULL)
                          : NULL;
    if (answer) {
        char *end = NULL;
        long width = strtol(answer, &end, 10), height = strtol(end, NULL, 10);
        *columns = width > 0 ? (int)width : *columns;
        *lines = height > 0 ? (int)height : *lines;
    } else if (!inside && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        *columns = size.ws_col;
        *lines = size.ws_row;
    }
    free(answer);
}

/* As many as can be read at once, in the rows and columns that tmux tiles so many panes into, but
   the same number in every window. */
static int panes_for_window(int ranks, int columns, int lines) {
    static const struct { int columns, lines; } tilings[] = {{3, 3}, {2, 3}, {2, 2}, {1, 2}};
    enum { READABLE_COLUMNS = 40, READABLE_LINES = 12 };
    int most = 1;
    for (size_t i = 0; i < sizeof tilings / sizeof tilings[0] && most == 1; i++)
        if (columns / tilings[i].columns >= READABLE_COLUMNS &&
            lines / tilings[i].lines >= READABLE_LINES)
            most = tilings[i].columns * tilings[i].lines;
    int windows = (ranks + most - 1) / most;
    return (ranks + windows - 1) / windows;
}

/* What is the same for all panes. */
struct plan {
    const char *program, *directory;
    char *here; /* the working directory */
    int columns, lines;
};

/* A window with its first pane; returns the ids of both, the first in tmux->windows. */
static char *open_window(struct rf_tmux *tmux, const struct plan *plan, size_t number, int first,
                         int last, struct rf_error *error) {
    static const char format[] = "#{window_id} #{pane_id}";
    char *rank = rf_text("%d", first);
    char *name = first == last ? rf_text("rank %d", first) : rf_text("ranks %d-%d", first, last);
    char *width = rf_text("%d", plan->columns), *height = rf_text("%d", plan->lines);
    char *answer;
    if (number == 0 && !tmux->inside) {
        tmux->session = rf_text("refrain-%d", (int)getpid());
        /* A server whose last session has just ended still listens, for a moment. */
        int tries = 0;
        do {
            usleep(tries ? 50000 : 0);
            answer = run(error, "new-session", "-d", "-P", "-F", format, "-s", tmux->session, "-n",
                         name, "-x", width, "-y", height, "-c", plan->here, plan->program, "--pane",
                         plan->directory, rank, (char *)NULL);
        } while (!answer && strstr(error->text, "server exited") && tries++ < 20);
    } else {
        char *target = tmux->inside ? NULL : rf_text("%s:", tmux->session);
        answer =
            target
                ? run(error, "new-window", "-d", "-P", "-F", format, "-n", name, "-c", plan->here,
                      "-t", target, plan->program, "--pane", plan->directory, rank, (char *)NULL)
                : run(error, "new-window", "-d", "-P", "-F", format, "-n", name, "-c", plan->here,
                      plan->program, "--pane", plan->directory, rank, (char *)NULL);
        free(target);
    }
    free(height);
    free(width);
    free(name);
    free(rank);
    char *blank = answer ? strchr(answer, ' ') : NULL;
    if (!blank) {
        free(answer);
        return NULL;
    }
    char *pane = rf_copy(blank + 1);
    *blank = 0;
    tmux->windows = rf_grow(tmux->windows, number + 1, sizeof *tmux->windows);
    tmux->windows[number] = answer;
    tmux->windows[number + 1] = NULL;
    return pane;
}

/* The pane after another one. */
static char *split(const char *before, const struct plan *plan, int number,
                   struct rf_error *error) {
    char *rank = rf_text("%d", number);
    char *pane = run(error, "split-window", "-d", "-P", "-F", "#{pane_id}", "-c", plan->here, "-t",
                     before, plan->program, "--pane", plan->directory, rank, (char *)NULL);
    /* Tiled at once, or there is soon no room for the next one. */
    if (pane && !done(run(error, "select-layout", "-t", before, "tiled", (char *)NULL))) {
        free(pane);
        pane = NULL;
    }
    free(rank);
    return pane;
}

static bool entitle(const char *pane, int rank, struct rf_error *error) {
    char *title = rf_text("rank %d", rank);
    bool good = done(run(error, "select-pane", "-t", pane, "-T", title, (char *)NULL));
    free(title);
    return good;
}

static bool fill_window(struct rf_tmux *tmux, const struct plan *plan, size_t number, int first,
                        int last, struct rf_error *error) {
    char *top = open_window(tmux, plan, number, first, last, error);
    const char *window = top ? tmux->windows[number] : "";
    bool good = top &&
                done(run(error, "set-option", "-w", "-t", window, "pane-border-status", "top",
                         (char *)NULL)) &&
                done(run(error, "set-option", "-w", "-t", window, "pane-border-format",
                         " #{pane_title} ", (char *)NULL)) &&
                entitle(top, first, error);
    char *before = top ? rf_copy(top) : NULL;
    for (int rank = first + 1; rank <= last && good; rank++) {
        char *pane = split(before, plan, rank, error);
        good = pane && entitle(pane, rank, error);
        free(before);
        before = pane;
    }
    good = good && done(run(error, "select-pane", "-t", top, (char *)NULL));
    free(before);
    free(top);
    return good;
}

bool rf_tmux_open(struct rf_tmux *tmux, int ranks, const char *program, const char *directory,
                  struct rf_error *error) {
    const char *server = getenv("TMUX");
    *tmux = (struct rf_tmux){.inside = server && *server};
    struct plan plan = {program, directory, getcwd(NULL, 0), 0, 0};
    find_size(tmux->inside, &plan.columns, &plan.lines);
    int each = panes_for_window(ranks, plan.columns, plan.lines);
    bool good = plan.here != NULL;
    size_t number = 0;
    for (int first = 0; first < ranks && good; first += each) {
        int last = first + each < ranks ? first + each - 1 : ranks - 1;
        good = fill_window(tmux, &plan, number++, first, last, error);
    }
    if (!good) {
        rf_tmux_close(tmux);
        rf_tmux_free(tmux);
    }
    free(plan.here);
    return good;
}

pid_t rf_tmux_enter(const struct rf_tmux *tmux) {
    struct rf_error ignored = {0};
    done(run(&ignored, "select-window", "-t", tmux->windows[0], (char *)NULL));
    if (tmux->inside)
        return 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execlp("tmux", "tmux", "attach-session", "-t", tmux->session, (char *)NULL);
        _exit(127);
    }
    return child;
}

bool rf_tmux_lives(const struct rf_tmux *tmux) {
    struct rf_error ignored = {0};
    return tmux->session && done(run(&ignored, "has-session", "-t", tmux->session, (char *)NULL));
}

void rf_tmux_close(const struct rf_tmux *tmux) {
    struct rf_error ignored = {0};
    for (size_t i = 0; tmux->windows && tmux->windows[i]; i++)
        done(run(&ignored, "kill-window", "-t", tmux->windows[i], (char *)NULL));
}

void rf_tmux_free(struct rf_tmux *tmux) {
    rf_free_words(tmux->windows);
    free(tmux->session);
    *tmux = (struct rf_tmux){0};
}
