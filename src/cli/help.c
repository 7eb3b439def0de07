#include "help.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "detect.h"
#include "install.h"
#include "launch.h"
#include "text.h"

char *rf_option_text(const struct rf_option *option) {
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c%s", option->letter, option->name ? ", " : "");
    return rf_text("%s%s%s%s%s", letter, option->name ? "--" : "", option->name ? option->name : "",
                   option->argument ? " " : "", option->argument ? option->argument : "");
}

static void program_help(FILE *out) {
    fputs("refrain - record the message order of an MPI program, and run it again the same\n\n",
          out);
    for (size_t i = 0; i < RF_VERBS; i++)
        fprintf(out, "  refrain %-10s %-45s %s\n", rf_verbs[i].name, rf_verbs[i].synopsis,
                rf_verbs[i].summary);
    fputs("\nrefrain VERB -h: the options of a verb; refrain VERB --help: its manual page\n", out);
}

void rf_short_help(const struct rf_verb *verb, FILE *out) {
    if (!verb) {
        program_help(out);
        return;
    }
    fprintf(out, "usage: refrain %s %s\n%s\n\n", verb->name, verb->synopsis, verb->summary);
    for (size_t i = 0; i < rf_option_count; i++) {
        if (!rf_verb_takes(verb, &rf_option_table[i]))
            continue;
        char *text = rf_option_text(&rf_option_table[i]);
        fprintf(out, "  %-28s %s\n", text, rf_option_table[i].help);
        free(text);
    }
}

/* man does not notice when what it prints to a file is lost. */
static void copy_output(int from) {
    FILE *pages = fdopen(from, "re");
    char block[4096];
    size_t length;
    while (pages && (length = fread(block, 1, sizeof block, pages)) > 0)
        fwrite(block, 1, length, stdout);
    if (pages)
        fclose(pages);
}

/* On a terminal it has its own pager. True if it has shown the page. */
static bool run_man(const char *man, const char *page) {
    int ends[2] = {-1, -1};
    bool copies = !isatty(STDOUT_FILENO) && pipe2(ends, O_CLOEXEC) == 0;
    pid_t child = fork();
    if (child == 0) {
        if (copies)
            dup2(ends[1], STDOUT_FILENO);
        execl(man, "man", page, (char *)NULL);
        _exit(127);
    }
    if (copies) {
        close(ends[1]);
        copy_output(ends[0]);
    }
    int status = child > 0 ? rf_launch_wait(child) : -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int rf_show_manual(const struct rf_verb *verb) {
    char *name = verb ? rf_text("refrain-%s", verb->name) : rf_copy("refrain");
    char *page = rf_find_manual(name);
    char *man = rf_find_executable("man");
    if (!page || !man || !run_man(man, page))
        rf_short_help(verb, stdout);
    free(man);
    free(page);
    free(name);
    return RF_EXIT_OK;
}
