/* What runs in a pane: refrain debug for one rank, and a word to those who wait for it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "install.h"
#include "launch.h"
#include "messages.h"
#include "panes.h"
#include "text.h"

/* These belong to the terminal that the pane is; a server that has run for long has its own idea of
   all the others. */
static bool is_terminals(const char *variable) {
    static const char *const names[] = {"TERM=",      "TERM_PROGRAM=", "TERM_PROGRAM_VERSION=",
                                        "COLORTERM=", "COLUMNS=",      "LINES=",
                                        "TMUX=",      "TMUX_PANE=",    "WINDOWID="};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (rf_starts_with(variable, names[i]))
            return true;
    return false;
}

/* The texts of a file, each ended by a zero byte, as a list that ends with NULL. */
static char **read_texts(const char *directory, const char *name) {
    char *path = rf_text("%s/%s", directory, name), *text = NULL;
    FILE *file = fopen(path, "re");
    size_t room = 0, count = 0;
    char **texts = rf_allocate(1, sizeof *texts);
    while (file && getdelim(&text, &room, 0, file) > 0) {
        texts = rf_grow(texts, count + 1, sizeof *texts);
        texts[count++] = rf_copy(text);
        texts[count] = NULL;
    }
    if (file)
        fclose(file);
    free(text);
    free(path);
    return texts;
}

static char **join_environments(char **theirs) {
    char **joined = rf_allocate(1, sizeof *joined);
    size_t count = 0;
    for (int own = 0; own < 2; own++)
        for (char **at = own ? environ : theirs; at && *at; at++)
            if (is_terminals(*at) == (own == 1)) {
                joined = rf_grow(joined, count + 1, sizeof *joined);
                joined[count++] = *at;
                joined[count] = NULL;
            }
    return joined;
}

static void become_debugger(const char *rank, char **words) {
    char *self = rf_find_self();
    size_t count = 0;
    while (words[count])
        count++;
    char **all = rf_allocate(count + 5, sizeof *all);
    all[0] = self;
    all[1] = (char *)"debug";
    all[2] = (char *)"--rank";
    all[3] = (char *)rank;
    memcpy(all + 4, words, count * sizeof *all);
    execv(self, all);
    _exit(RF_EXIT_ENVIRONMENT);
}

static void note(int pipe, const char *rank, int code) {
    struct rf_pane_note note = {atoi(rank), code};
    /* Nobody waits any more if that fails. */
    ssize_t sent = write(pipe, &note, sizeof note);
    (void)sent;
}

/* What the rank has said would be gone with its pane. */
static void wait_for_reader(const char *rank, int code) {
    rf_say("rank %s: ended with status %d; Enter closes this", rank, code);
    for (int got = getchar(); got != EOF && got != '\n';)
        got = getchar();
}

int rf_pane(char **words) {
    if (!words[0] || !words[1])
        return RF_EXIT_USAGE;
    char *path = rf_text("%s/" RF_PANE_PIPE, words[0]);
    int pipe = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    free(path);
    char **debug = read_texts(words[0], RF_PANE_WORDS);
    char **environment = read_texts(words[0], RF_PANE_ENVIRONMENT);
    char **joined = join_environments(environment);
    note(pipe, words[1], RF_PANE_BEGINS);
    rf_signals_guard(0);
    pid_t child = fork();
    if (child == 0) {
        environ = joined;
        become_debugger(words[1], debug);
    }
    signal(SIGPIPE, SIG_IGN);
    rf_signals_guard(child);
    int status = child > 0 ? rf_launch_wait(child) : -1;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    /* A pane that is closed from outside is one that somebody has finished with. */
    if (rf_signal_seen() == SIGHUP || rf_signal_seen() == SIGTERM)
        code = RF_EXIT_OK;
    note(pipe, words[1], code);
    if (code != RF_EXIT_OK)
        wait_for_reader(words[1], code);
    rf_free_words(debug);
    free(joined);
    rf_free_words(environment);
    return code;
}
