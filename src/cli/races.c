#include "races.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "ranks.h"
#include "text.h"
#include "threads/race_tools.h"
#include "utf8.h"

/* ---- whose code it is ---- */

enum owner {
    OWNER_PROGRAM,
    OWNER_ANYBODY, /* does what its caller wants: the C library, the tools themselves */
    OWNER_RUNTIME, /* has ways to order its threads that the tools do not see */
    OWNER_OPENMP,  /* the same, and what it shares with the program is ordered by it */
    OWNER_REFRAIN,
};

static enum owner owner_of(const struct rf_race_frame *frame) {
    static const struct {
        const char *prefix;
        enum owner owner;
    } objects[] = {
        {"librefrain-", OWNER_REFRAIN}, {"libc.so", OWNER_ANYBODY},
        {"libpthread", OWNER_ANYBODY},  {"libm.so", OWNER_ANYBODY},
        {"libstdc++", OWNER_ANYBODY},   {"libgcc_s", OWNER_ANYBODY},
        {"libgfortran", OWNER_ANYBODY}, {"ld-linux", OWNER_ANYBODY},
        {"vgpreload_", OWNER_ANYBODY},  {"libtsan", OWNER_ANYBODY},
        {"libmpi", OWNER_RUNTIME},      {"libopen-", OWNER_RUNTIME},
        {"mca_", OWNER_RUNTIME},        {"libpmix", OWNER_RUNTIME},
        {"libevent", OWNER_RUNTIME},    {"libhwloc", OWNER_RUNTIME},
        {"libucp", OWNER_RUNTIME},      {"libucs", OWNER_RUNTIME},
        {"libuct", OWNER_RUNTIME},      {"libucm", OWNER_RUNTIME},
        {"libfabric", OWNER_RUNTIME},   {"libpsm", OWNER_RUNTIME},
        {"libibverbs", OWNER_RUNTIME},  {"libmcapi", OWNER_RUNTIME},
        {"libgomp", OWNER_OPENMP},      {"libomp", OWNER_OPENMP},
        {"libiomp5", OWNER_OPENMP},
    };
    const char *name = frame->object ? rf_base_name(frame->object) : "";
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (rf_starts_with(name, objects[i].prefix))
            return objects[i].owner;
    /* ThreadSanitizer may be a part of the program. */
    return frame->file && strstr(frame->file, "sanitizer") ? OWNER_ANYBODY : OWNER_PROGRAM;
}

/* Who made the access. */
static enum owner owner(const struct rf_race_access *access) {
    for (size_t i = 0; i < access->count; i++)
        if (owner_of(&access->frames[i]) != OWNER_ANYBODY)
            return owner_of(&access->frames[i]);
    return OWNER_ANYBODY;
}

/* The innermost frame of the program itself; NULL: there is none. `through`: the function of
   another one that it has called there, or NULL. */
static const struct rf_race_frame *place_of(const struct rf_race_access *access,
                                            const char **through) {
    *through = NULL;
    for (size_t i = 0; i < access->count; i++) {
        const struct rf_race_frame *frame = &access->frames[i];
        if (owner_of(frame) == OWNER_PROGRAM)
            return frame;
        if (frame->function)
            *through = frame->function + (rf_starts_with(frame->function, "PMPI_") ? 1 : 0);
    }
    return NULL;
}

/* What message-passing libraries do among themselves is not the program's matter, but what one of
   them does, when it is called, to memory that the program uses at the same time is. */
static bool concerns_program(const struct rf_race *race) {
    enum owner now = owner(&race->now), before = owner(&race->before);
    return now != OWNER_REFRAIN && before != OWNER_REFRAIN && now != OWNER_OPENMP &&
           before != OWNER_OPENMP && (now == OWNER_PROGRAM || before == OWNER_PROGRAM);
}

/* ---- the list ---- */

struct rf_race_frame *rf_race_frame_add(struct rf_race_access *access) {
    access->frames = rf_grow(access->frames, access->count, sizeof *access->frames);
    access->frames[access->count] = (struct rf_race_frame){0};
    return &access->frames[access->count++];
}

static void clear_access(struct rf_race_access *access) {
    for (size_t i = 0; i < access->count; i++) {
        free(access->frames[i].function);
        free(access->frames[i].file);
        free(access->frames[i].object);
    }
    free(access->frames);
}

void rf_race_clear(struct rf_race *race) {
    clear_access(&race->now);
    clear_access(&race->before);
    free(race->data);
    *race = (struct rf_race){0};
}

void rf_race_add(struct rf_races *races, struct rf_race *race) {
    if (!concerns_program(race)) {
        rf_race_clear(race);
        return;
    }
    races->list = rf_grow(races->list, races->count, sizeof *races->list);
    races->list[races->count++] = *race;
}

void rf_race_place(struct rf_race *race, const char *mark) {
    int thread, end = 0;
    uint64_t done;
    if (race->now.when != RF_RACE_SOMETIME ||
        sscanf(mark, "refrain at %d %" SCNu64 " %*u%n", &thread, &done, &end) != 2 ||
        thread != race->now.thread)
        return;
    race->now.when = RF_RACE_AFTER;
    race->now.operation = done;
    int other, length;
    for (const char *at = mark + end; sscanf(at, " %d:%" SCNu64 "%n", &other, &done, &length) == 2;
         at += length)
        if (other == race->before.thread) {
            race->before.when = RF_RACE_UNTIL;
            race->before.operation = done;
        }
}

/* A library that several threads call, or that has threads of its own, lets any of them do what
   another one has asked for, and orders that in its own ways. */
static bool is_ordered_by_library(const struct rf_race *race, const struct rf_summary *summary) {
    enum { MULTIPLE = 3 };
    const struct rf_rank_summary *rank = rf_summary_rank(summary, race->rank);
    const struct rf_race_access *library =
        owner(&race->now) == OWNER_PROGRAM ? &race->before : &race->now;
    return owner(library) == OWNER_RUNTIME &&
           (library->thread < 0 || !rank || rank->node.thread_level == MULTIPLE);
}

static void drop_ordered(struct rf_races *races, const struct rf_summary *summary) {
    size_t kept = 0;
    for (size_t i = 0; i < races->count; i++)
        if (is_ordered_by_library(&races->list[i], summary))
            rf_race_clear(&races->list[i]);
        else
            races->list[kept++] = races->list[i];
    races->count = kept;
}

static int by_rank(const void *one, const void *other) {
    const struct rf_race *a = one, *b = other;
    return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
                              : (a->end > b->end) - (a->end < b->end);
}

void rf_races_read(struct rf_races *races, const char *run, const struct rf_summary *summary) {
    DIR *entries = opendir(run);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char *path = rf_text("%s/%s", run, entry->d_name);
        if (rf_starts_with(entry->d_name, RF_RACES_HELGRIND_FILE))
            rf_helgrind_read(races, path);
        else if (rf_starts_with(entry->d_name, RF_RACES_MARKS_FILE))
            rf_tsan_read(races, run, entry->d_name + strlen(RF_RACES_MARKS_FILE));
        free(path);
    }
    if (entries)
        closedir(entries);
    drop_ordered(races, summary);
    if (races->count)
        qsort(races->list, races->count, sizeof *races->list, by_rank);
}

void rf_races_free(struct rf_races *races) {
    for (size_t i = 0; i < races->count; i++)
        rf_race_clear(&races->list[i]);
    free(races->list);
    *races = (struct rf_races){0};
}

/* ---- what is said ---- */

/* "race.c:8", or "race+0x12" is not known here: then the function or the object. */
static char *place_text(const struct rf_race_frame *frame) {
    if (!frame)
        return rf_copy("?");
    if (frame->file && frame->line)
        return rf_text("%s:%d", rf_base_name(frame->file), frame->line);
    return rf_copy(frame->function ? frame->function
                                   : (frame->object ? rf_base_name(frame->object) : "?"));
}

static char *where(const struct rf_race_access *access) {
    const char *through;
    return place_text(place_of(access, &through));
}

static char *thread_text(const struct rf_race_access *access) {
    return access->thread < 0 ? rf_copy("a thread that is not recorded")
                              : rf_text("thread %d", access->thread);
}

static void print_access(const struct rf_race_access *access, bool past) {
    const char *through;
    const struct rf_race_frame *frame = place_of(access, &through);
    char *place = place_text(frame);
    char *thread = thread_text(access);
    fprintf(stderr, "  %-9s %s ", past ? "against" : "found", thread);
    if (!access->count) {
        fprintf(stderr, "%s, where is not known any more\n", access->writes ? "wrote" : "read");
    } else {
        const char *verb =
            past ? (access->writes ? "wrote" : "read") : (access->writes ? "writes" : "reads");
        fprintf(stderr, "%s %d byte%s at %s", verb, access->bytes,
                rf_plural((uint64_t)access->bytes), place);
        if (frame && frame->function && frame->file)
            fprintf(stderr, " in %s", frame->function);
        if (through && frame)
            fprintf(stderr, ", through %s", through);
        if (access->when != RF_RACE_SOMETIME)
            fprintf(stderr, ", after operation %" PRIu64 "%s", access->operation,
                    access->when == RF_RACE_UNTIL ? " at the latest" : "");
        fputc('\n', stderr);
    }
    free(thread);
    free(place);
}

static void print_race(const struct rf_race *race) {
    char *now = where(&race->now), *before = where(&race->before);
    char *event = race->now.when == RF_RACE_AFTER
                      ? rf_text(", operation %" PRIu64, race->now.operation)
                      : rf_copy("");
    char *thread = thread_text(&race->now);
    rf_say("data race: rank %d, %s%s: %s against %s, and nothing in the program orders them",
           race->rank, thread, event, now, before);
    free(thread);
    print_access(&race->now, false);
    print_access(&race->before, true);
    if (race->data)
        fprintf(stderr, "  %-9s %s\n", "data", race->data);
    free(event);
    free(before);
    free(now);
}

/* How many more there are, by rank. */
static void print_others(const struct rf_races *races) {
    int *ranks = rf_allocate(races->count, sizeof *ranks);
    size_t count = 0;
    for (size_t i = 1; i < races->count; i++)
        if (!count || ranks[count - 1] != races->list[i].rank)
            ranks[count++] = races->list[i].rank;
    if (count) {
        char *text = rf_ranks_text(ranks, count);
        fprintf(stderr, "  %-9s %zu more in rank%s %s: see --verbose\n", "besides",
                races->count - 1, rf_plural(count), text);
        free(text);
    }
    free(ranks);
}

void rf_races_report(const struct rf_races *races, const char *trace, bool all) {
    if (races->openmp_unseen)
        rf_say(
            "the program uses OpenMP: %s does not see all of how its library orders threads, and "
            "may take what is in order for a race",
            races->tool);
    if (!races->count) {
        rf_say("no data race on this run's synchronisation order (%s looked at %d process%s)",
               races->tool, races->processes, races->processes == 1 ? "" : "es");
        return;
    }
    for (size_t i = 0; i < (all ? races->count : 1); i++)
        print_race(&races->list[i]);
    if (!all)
        print_others(races);
    char *named = rf_named(trace);
    rf_say_hint("refrain dump --rank %d%s", races->list[0].rank, named);
    free(named);
}

static json_t *access_json(const struct rf_race_access *access) {
    static const char *const when[] = {"sometime", "after", "until"};
    json_t *stack = json_array();
    for (size_t i = 0; i < access->count; i++) {
        const struct rf_race_frame *frame = &access->frames[i];
        json_t *object = json_object();
        if (frame->function)
            json_object_set_new(object, "function", rf_utf8_json(frame->function));
        if (frame->file)
            json_object_set_new(object, "file", rf_utf8_json(frame->file));
        if (frame->line)
            json_object_set_new(object, "line", json_integer(frame->line));
        if (frame->object)
            json_object_set_new(object, "object", rf_utf8_json(frame->object));
        json_array_append_new(stack, object);
    }
    char *place = where(access);
    json_t *object =
        json_pack("{s:s,s:i,s:s,s:s,s:o}", "access", access->writes ? "write" : "read", "bytes",
                  access->bytes, "at", place, "when", when[access->when], "stack", stack);
    free(place);
    if (access->thread >= 0)
        json_object_set_new(object, "thread", json_integer(access->thread));
    if (access->when != RF_RACE_SOMETIME)
        json_object_set_new(object, "operation", json_integer((json_int_t)access->operation));
    return object;
}

json_t *rf_races_json(const struct rf_races *races) {
    json_t *list = json_array();
    for (size_t i = 0; i < races->count; i++) {
        const struct rf_race *race = &races->list[i];
        json_t *object = json_pack("{s:i,s:o,s:o}", "rank", race->rank, "found",
                                   access_json(&race->now), "against", access_json(&race->before));
        if (race->data)
            json_object_set_new(object, "data", json_string(race->data));
        json_array_append_new(list, object);
    }
    return json_pack("{s:s,s:i,s:o}", "tool", races->tool, "processes", races->processes, "found",
                     list);
}
