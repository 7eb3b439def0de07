#include "thread_notes.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "messages.h"
#include "text.h"

struct note {
    int pid;
    char program[PATH_MAX];
};

static FILE *notes_open(const char *directory, int rank, const char *kind) {
    char *path = rf_text("%s/rank-%d.%s", directory, rank, kind);
    FILE *notes = fopen(path, "r");
    if (notes)
        unlink(path);
    free(path);
    return notes;
}

/* "PID PROGRAM", one a line. */
static bool next_note(FILE *notes, struct note *note) {
    char line[PATH_MAX + 32];
    if (!notes || !fgets(line, sizeof line, notes))
        return false;
    char *rest;
    note->pid = (int)strtol(line, &rest, 10);
    rest[strcspn(rest, "\n")] = 0;
    snprintf(note->program, sizeof note->program, "%s", rest + (*rest == ' '));
    return true;
}

static void notes_close(FILE *notes) {
    if (notes)
        fclose(notes);
}

static void tell_others(const char *directory, int rank) {
    FILE *notes = notes_open(directory, rank, "others");
    struct note note;
    while (next_note(notes, &note))
        rf_say("not recorded: the threads of %s: rank %d had another process with threads before "
               "it",
               note.program, rank);
    notes_close(notes);
}

/* The rank itself, and not what started it. */
static bool is_unordered(const char *directory, const struct rf_rank_summary *rank) {
    FILE *notes = notes_open(directory, rank->rank, "unordered");
    struct note note;
    bool found = false;
    while (next_note(notes, &note))
        found = found || note.pid == rank->node.pid;
    notes_close(notes);
    return found && !rank->threads.exists;
}

void rf_thread_notes_tell(const char *directory, const struct rf_summary *summary) {
    uint64_t unordered = 0;
    for (size_t i = 0; i < summary->count; i++) {
        tell_others(directory, summary->ranks[i].rank);
        unordered += is_unordered(directory, &summary->ranks[i]);
    }
    if (unordered)
        rf_say("threads: %llu rank%s created threads: the order between them is kept with "
               "--threads",
               (unsigned long long)unordered, rf_plural(unordered));
}

char *rf_thread_notes_program(const char *directory) {
    char *program = NULL;
    DIR *folder = opendir(directory);
    int rank, length;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        length = 0;
        if (sscanf(entry->d_name, "rank-%d.unordered%n", &rank, &length) != 1 || !length)
            continue;
        FILE *notes = notes_open(directory, rank, "unordered");
        struct note note;
        if (next_note(notes, &note) && !program)
            program = rf_copy(note.program);
        notes_close(notes);
    }
    if (folder)
        closedir(folder);
    return program;
}
