/* Reads the output of valgrind's Helgrind: XML, with one element or one end of an element on each
   line. A process that was killed leaves a beginning of it, which is read as well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "races.h"
#include "text.h"
#include "threads/race_tools.h"

struct reading {
    struct rf_races *races;
    size_t first; /* of the races of this process */
    int rank;
    int *threads; /* our number by Helgrind's; -1: not one of ours */
    size_t known;
    bool inside; /* an error */
    bool is_race;
    struct rf_race race;
    struct rf_race_access *access; /* whose text or frames come; NULL: nobody's */
    struct rf_race_frame *frame;
    size_t at; /* the line */
    int named; /* the thread that the error is about, in our numbers */
};

/* The text of <name>text</name> on the line, or, if that goes on, what is there of it; else NULL.
 */
static char *element(const char *line, const char *name) {
    size_t length = strlen(name);
    if (line[0] != '<' || strncmp(line + 1, name, length) != 0 || line[length + 1] != '>')
        return NULL;
    char *text = rf_copy(line + length + 2);
    char *end = strstr(text, "</");
    if (end)
        *end = 0;
    static const struct {
        const char *name;
        char sign;
    } signs[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char *to = text;
    for (const char *from = text; *from;) {
        size_t i = 0, count = sizeof signs / sizeof *signs;
        while (i < count && strncmp(from, signs[i].name, strlen(signs[i].name)) != 0)
            i++;
        if (i == count) {
            *to++ = *from++;
        } else {
            *to++ = signs[i].sign;
            from += strlen(signs[i].name);
        }
    }
    *to = 0;
    return text;
}

static void name_thread(struct reading *reading, long id, int number) {
    while (reading->known <= (size_t)id) {
        reading->threads = rf_grow(reading->threads, reading->known, sizeof *reading->threads);
        reading->threads[reading->known++] = -1;
    }
    reading->threads[id] = number;
}

/* "Possible data race during write of size 8 at ..." */
static void describe(struct rf_race_access *access, const char *text) {
    const char *size = strstr(text, " of size ");
    access->writes = strstr(text, " write of size ") != NULL;
    access->bytes = size ? atoi(size + strlen(" of size ")) : 0;
}

static void read_text(struct reading *reading, const char *text) {
    const char *named = strstr(text, RF_RACES_THREAD);
    if (strstr(text, "data race during")) {
        reading->access = &reading->race.now;
        describe(reading->access, text);
    } else if (strstr(text, "conflicts with a previous")) {
        reading->access = &reading->race.before;
        describe(reading->access, text);
    } else if (named) {
        reading->named = atoi(named + strlen(RF_RACES_THREAD));
    } else {
        /* Where the memory comes from may have a stack too. */
        reading->access = NULL;
        if (!reading->race.data)
            reading->race.data = rf_copy(text);
    }
}

static void read_id(struct reading *reading, long id) {
    if (reading->named >= 0 && id >= 0)
        name_thread(reading, id, reading->named);
    reading->named = -1;
    if (reading->access && reading->access->id < 0)
        reading->access->id = id;
}

static void read_frame(struct reading *reading, const char *line) {
    struct rf_race_frame *frame = reading->frame;
    char *text;
    if ((text = element(line, "obj"))) {
        frame->object = text;
    } else if ((text = element(line, "fn"))) {
        frame->function = text;
    } else if ((text = element(line, "file"))) {
        frame->file = text;
    } else if ((text = element(line, "line"))) {
        frame->line = atoi(text);
        free(text);
    } else if (strcmp(line, "</frame>") == 0) {
        reading->frame = NULL;
    }
}

static int number_of(const struct reading *reading, long id) {
    return id >= 0 && (size_t)id < reading->known ? reading->threads[id] : -1;
}

static void end_error(struct reading *reading) {
    struct rf_race *race = &reading->race;
    race->now.thread = number_of(reading, race->now.id);
    race->before.thread = number_of(reading, race->before.id);
    race->end = reading->at;
    if (reading->is_race)
        rf_race_add(reading->races, race);
    else
        rf_race_clear(race);
    reading->inside = false;
}

static void read_error(struct reading *reading, const char *line) {
    char *text;
    if (reading->frame) {
        read_frame(reading, line);
    } else if (strcmp(line, "</error>") == 0) {
        end_error(reading);
    } else if (strcmp(line, "<frame>") == 0 && reading->access) {
        reading->frame = rf_race_frame_add(reading->access);
    } else if ((text = element(line, "kind"))) {
        reading->is_race = strcmp(text, "Race") == 0;
        free(text);
    } else if ((text = element(line, "text")) || (text = element(line, "auxwhat"))) {
        read_text(reading, text);
        free(text);
    } else if ((text = element(line, "hthreadid"))) {
        read_id(reading, atol(text));
        free(text);
    }
}

static void read_line(struct reading *reading, const char *line) {
    char *text;
    if (reading->inside) {
        read_error(reading, line);
    } else if (strcmp(line, "<error>") == 0) {
        reading->inside = true;
        reading->is_race = false;
        reading->race = (struct rf_race){.now = {.id = -1}, .before = {.id = -1}};
        reading->access = NULL;
        reading->frame = NULL;
        reading->named = -1;
    } else if ((text = element(line, "text"))) {
        sscanf(text, "refrain rank %d", &reading->rank);
        for (size_t i = reading->first; i < reading->races->count; i++)
            rf_race_place(&reading->races->list[i], text);
        free(text);
    }
}

void rf_helgrind_read(struct rf_races *races, const char *path) {
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    struct reading reading = {.races = races, .first = races->count, .rank = -1, .named = -1};
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        reading.at++;
        read_line(&reading, line + strspn(line, " "));
    }
    if (reading.inside)
        rf_race_clear(&reading.race);
    for (size_t i = reading.first; i < races->count; i++)
        races->list[i].rank = reading.rank;
    races->processes += reading.known > 0;
    free(line);
    free(reading.threads);
    fclose(file);
}
