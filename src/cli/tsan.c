/* Reads the reports of ThreadSanitizer, and the marks that the library for threads has left beside
   them: they say at which size of the file of reports a thread was where. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "races.h"
#include "text.h"
#include "threads/race_tools.h"

enum { MAIN_THREAD = 0 };

struct name {
    long id;  /* T1, T2, ... */
    long tid; /* of the system */
};

struct reading {
    bool inside;
    struct rf_race race;
    struct rf_race_access *access; /* whose frames come; NULL: nobody's */
    struct name *names;            /* of the threads of the report */
    size_t count;
    bool threads;          /* some were replayed */
    struct rf_race *found; /* all of this process, with the system's names for threads */
    size_t races_count;
};

/* "  Previous atomic write of size 8 at 0x7b04 by thread T1 (mutexes: write M1):" */
static bool read_access(struct reading *reading, const char *line) {
    const char *size = strstr(line, " of size ");
    const char *by = strstr(line, " by ");
    if (!size || !by || strncmp(line, "  ", 2) != 0 || line[2] == ' ')
        return false;
    bool before = rf_starts_with(line, "  Previous ");
    reading->access = before ? &reading->race.before : &reading->race.now;
    reading->access->writes = (size >= line + 5 && strncasecmp(size - 5, "write", 5) == 0);
    reading->access->bytes = atoi(size + strlen(" of size "));
    reading->access->id = MAIN_THREAD;
    if (rf_starts_with(by, " by thread T"))
        reading->access->id = atol(by + strlen(" by thread T"));
    return true;
}

/* "    #0 work /tmp/race.c:8 (race+0x1241) (BuildId: 12ab)" */
static bool read_frame(struct reading *reading, const char *line) {
    int end = 0;
    if (sscanf(line, "    #%*d %n", &end) == EOF || end == 0)
        return false;
    if (!reading->access)
        return true;
    struct rf_race_frame *frame = rf_race_frame_add(reading->access);
    char *text = rf_copy(line + end);
    char *module = strstr(text, "+0x");
    while (module && module > text && *module != '(')
        module--;
    if (module && *module == '(') {
        frame->object = rf_text("%.*s", (int)strcspn(module + 1, "+"), module + 1);
        *module = 0;
        if (module > text && module[-1] == ' ')
            module[-1] = 0;
    }
    char *place = strrchr(text, ' ');
    char *colon = place ? strchr(place, ':') : NULL;
    if (colon) {
        frame->line = atoi(colon + 1);
        frame->file = rf_text("%.*s", (int)(colon - place - 1), place + 1);
    }
    if (place)
        *place = 0;
    frame->function = text;
    return true;
}

/* "  Thread T2 (tid=21266, running) created by main thread at:" */
static bool read_thread(struct reading *reading, const char *line) {
    long id;
    const char *tid = strstr(line, "tid=");
    if (sscanf(line, "  Thread T%ld", &id) != 1 || !tid)
        return false;
    reading->names = rf_grow(reading->names, reading->count, sizeof *reading->names);
    reading->names[reading->count++] = (struct name){id, atol(tid + strlen("tid="))};
    return true;
}

static long system_name(const struct reading *reading, long id, long process) {
    if (id == MAIN_THREAD)
        return process;
    for (size_t i = 0; i < reading->count; i++)
        if (reading->names[i].id == id)
            return reading->names[i].tid;
    return -1;
}

static void end_report(struct reading *reading, size_t end, long process) {
    struct rf_race *race = &reading->race;
    race->now.id = system_name(reading, race->now.id, process);
    race->before.id = system_name(reading, race->before.id, process);
    race->end = end;
    reading->found = rf_grow(reading->found, reading->races_count, sizeof *reading->found);
    reading->found[reading->races_count++] = *race;
    reading->inside = false;
    reading->count = 0;
}

static void read_reports(struct reading *reading, const char *path, long process) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    for (size_t at = 0; file && (length = getline(&line, &room, file)) > 0; at += (size_t)length) {
        line[strcspn(line, "\n")] = 0;
        if (rf_starts_with(line, "WARNING: ThreadSanitizer: data race")) {
            reading->inside = true;
            reading->race = (struct rf_race){.now = {.id = -1}, .before = {.id = -1}};
            reading->access = NULL;
        } else if (reading->inside && rf_starts_with(line, "==================")) {
            end_report(reading, at, process);
        } else if (reading->inside && !read_access(reading, line) && !read_frame(reading, line) &&
                   strncmp(line, "  ", 2) == 0) {
            read_thread(reading, line);
            if (rf_starts_with(line, "  Location is ") && !reading->race.data)
                reading->race.data = rf_copy(line + 2);
            reading->access =
                strstr(line, "[failed to restore the stack]") ? reading->access : NULL;
        }
    }
    if (reading->inside)
        rf_race_clear(&reading->race);
    free(line);
    if (file)
        fclose(file);
}

static void number(struct rf_race_access *access, long tid, int thread) {
    if (access->id == tid)
        access->thread = thread;
}

/* The marks stand in the order in which they were made. A number of the system that is used again
   names another thread from then on, but that is rare, and the first one is taken. */
static int read_marks(struct reading *reading, const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    int rank = -1;
    while (file && getline(&line, &room, file) > 0) {
        int thread;
        long tid;
        uint64_t bytes = 0;
        sscanf(line, "refrain rank %d", &rank);
        bool begins = sscanf(line, "refrain thread %d tid %ld", &thread, &tid) == 2;
        reading->threads = reading->threads || begins;
        bool marks = sscanf(line, "refrain at %*d %*d %" SCNu64, &bytes) == 1;
        for (size_t i = 0; i < reading->races_count; i++) {
            struct rf_race *race = &reading->found[i];
            if (begins && race->now.thread < 0)
                number(&race->now, tid, thread);
            if (begins && race->before.thread < 0)
                number(&race->before, tid, thread);
            if (marks && race->end <= bytes)
                rf_race_place(race, line);
        }
    }
    free(line);
    if (file)
        fclose(file);
    return rank;
}

void rf_tsan_read(struct rf_races *races, const char *run, const char *process) {
    struct reading reading = {0};
    char *reports = rf_text("%s/" RF_RACES_TSAN_FILE "%s", run, process);
    char *marks = rf_text("%s/" RF_RACES_MARKS_FILE "%s", run, process);
    read_reports(&reading, reports, atol(process));
    for (size_t i = 0; i < reading.races_count; i++)
        reading.found[i].now.thread = reading.found[i].before.thread = -1;
    int rank = read_marks(&reading, marks);
    for (size_t i = 0; i < reading.races_count; i++) {
        reading.found[i].rank = rank;
        rf_race_add(races, &reading.found[i]);
    }
    races->processes += reading.threads;
    free(reading.found);
    free(reading.names);
    free(marks);
    free(reports);
}
