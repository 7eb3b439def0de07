#include "report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "detect.h"
#include "elf_facts.h"
#include "manifest.h"
#include "messages.h"
#include "places.h"
#include "ranks.h"
#include "text.h"
#include "thread_logs.h"
#include "utf8.h"

/* The recorded facts about a module, so that lines of another build are not shown as if they were
   the recorded ones. */
static struct rf_module recorded_module(const char *directory, int rank, const char *path) {
    struct rf_module found = {0};
    struct rf_error ignored = {0};
    struct rf_reader *reader = rf_reader_open(directory, rank, &ignored);
    const struct rf_module *module;
    for (uint32_t i = 0; reader && (module = rf_reader_module(reader, i)); i++)
        if (strcmp(module->path, path) == 0)
            found = *module;
    if (reader)
        rf_reader_close(reader);
    if (!found.path[0] && !rf_thread_log_find(directory, rank, path, &found))
        snprintf(found.path, sizeof found.path, "%s", path);
    return found;
}

/* Wildcards have other numbers in each MPI. */
static bool is_any(const char *mpi, bool tag, int32_t value) {
    return value == (strcmp(mpi, "mpich") == 0 && !tag ? -2 : -1);
}

/* "source 2, tag 7": whom a call waits for; empty when it names nobody. */
static char *partner_text(const struct rf_replayed *replayed, const struct rf_call *call) {
    static const char *const sending[] = {"MPI_Send",  "MPI_Ssend",  "MPI_Rsend",  "MPI_Bsend",
                                          "MPI_Isend", "MPI_Issend", "MPI_Irsend", "MPI_Ibsend"};
    if (call->peer == RF_NO_PEER)
        return rf_copy("");
    /* The calls that send and receive show what they receive. */
    bool receives = true;
    for (size_t i = 0; i < sizeof sending / sizeof sending[0]; i++)
        if (rf_starts_with(call->function, sending[i]))
            receives = strstr(call->function, "recv") != NULL;
    const char *mpi = rf_manifest_mpi(replayed->manifest);
    char *peer = receives && is_any(mpi, false, call->peer)
                     ? rf_copy("any source")
                     : rf_text("%s %d", receives ? "source" : "destination", call->peer);
    char *text = is_any(mpi, true, call->tag) ? rf_text("%s, any tag", peer)
                 : call->tag != RF_NO_PEER    ? rf_text("%s, tag %d", peer, call->tag)
                                              : rf_copy(peer);
    free(peer);
    return text;
}

static void print_waiting(const struct rf_replayed *replayed, struct rf_symbols *symbols,
                          const struct rf_progress *rank) {
    const struct rf_call *call = &rank->current;
    char place[RF_PLACE_TEXT];
    struct rf_module module = {0};
    snprintf(module.path, sizeof module.path, "%s", call->module);
    char *partner = partner_text(replayed, call);
    fprintf(stderr, "waits in %s at %s%s%s", call->function,
            rf_symbols_place(symbols, &module, call->offset, place), *partner ? " for " : "",
            partner);
    if (call->requests)
        fprintf(stderr, " (%d of %d requests)", call->chosen, call->requests);
    if (rank->free)
        fputs(", past the end of its recording", stderr);
    free(partner);
}

/* Where the call was; empty if nobody knows. */
static const char *place_of(const struct rf_replayed *replayed, struct rf_symbols *symbols,
                            int rank, const struct rf_call *call, bool recorded,
                            char place[RF_PLACE_TEXT]) {
    struct rf_module module = {0};
    if (!call->module[0])
        return "";
    /* The running program is asked as it is now, the recorded one only if it is still the same. */
    if (recorded)
        module = recorded_module(replayed->directory, rank, call->module);
    else
        snprintf(module.path, sizeof module.path, "%s", call->module);
    return rf_symbols_place(symbols, &module, call->offset, place);
}

static void print_call(const struct rf_replayed *replayed, struct rf_symbols *symbols, int rank,
                       const char *label, const struct rf_call *call, bool recorded) {
    char place[RF_PLACE_TEXT];
    const char *where = place_of(replayed, symbols, rank, call, recorded, place);
    bool named = call->function[0];
    if (!named && !call->detail[0])
        return;
    fprintf(stderr, "  %-9s %s", label, named ? call->function : call->detail);
    if (*where)
        fprintf(stderr, " at %s", where);
    if (named && call->detail[0])
        fprintf(stderr, " (%s)", call->detail);
    fputc('\n', stderr);
}

/* NULL if nothing is known of it. */
static json_t *call_json(const struct rf_replayed *replayed, struct rf_symbols *symbols, int rank,
                         const struct rf_call *call, bool recorded) {
    char place[RF_PLACE_TEXT];
    const char *where = place_of(replayed, symbols, rank, call, recorded, place);
    if (!call->function[0] && !call->detail[0])
        return NULL;
    json_t *object = json_object();
    if (call->function[0])
        json_object_set_new(object, "function", rf_utf8_json(call->function));
    if (*where)
        json_object_set_new(object, "at", rf_utf8_json(where));
    if (call->detail[0])
        json_object_set_new(object, "detail", rf_utf8_json(call->detail));
    return object;
}

/* A signature that differs names no call: what comes next in the recording shows where it was. */
struct next {
    struct rf_reader *reader;
    struct rf_event event;
    const struct rf_site *site; /* NULL: no decision is left */
    char place[RF_PLACE_TEXT];
    char *calls;  /* "the same 12 calls as recorded" */
    char *ending; /* how the recorded rank ended */
};

static bool find_next(const struct rf_replayed *replayed, struct rf_symbols *symbols,
                      const struct rf_progress *rank, struct next *next) {
    struct rf_error ignored = {0};
    const struct rf_rank_summary *recorded = rf_summary_rank(replayed->summary, rank->rank);
    *next = (struct next){.reader = rf_reader_open(replayed->directory, rank->rank, &ignored)};
    if (!next->reader || !recorded) {
        rf_reader_close(next->reader);
        return false;
    }
    bool found = false;
    while (!found && rf_reader_next(next->reader, &next->event, &ignored) == RF_READ_EVENT)
        found =
            rf_is_decision(next->event.kind) && next->event.number + next->event.run > rank->event;
    next->site = found ? rf_reader_site(next->reader, next->event.site) : NULL;
    if (next->site)
        rf_symbols_place(symbols, rf_reader_module(next->reader, next->site->module),
                         next->site->offset, next->place);
    /* Where a check differs, the rank says how many calls it covers. */
    bool check = rank->expected.function[0] == '(';
    next->calls =
        rf_text("the same %s%scall%s as recorded", check ? rank->expected.detail : "",
                check ? " " : "", check && !strcmp(rank->expected.detail, "1") ? "" : "s");
    next->ending = rf_ending_text(recorded, symbols);
    return true;
}

static void free_next(struct next *next) {
    free(next->calls);
    free(next->ending);
    rf_reader_close(next->reader);
}

static void print_next_recorded(const struct rf_replayed *replayed, struct rf_symbols *symbols,
                                const struct rf_progress *rank) {
    struct next next;
    if (!find_next(replayed, symbols, rank, &next))
        return;
    fprintf(stderr, "  %-9s %s; ", "expected", next.calls);
    if (next.site) {
        fprintf(stderr, "the next decision is event %llu, %s at %s (",
                (unsigned long long)next.event.number, next.site->function, next.place);
        rf_describe(&next.event, stderr);
        fputs(")\n", stderr);
    } else {
        fprintf(stderr, "no decision is left, the rank %s\n", next.ending);
    }
    free_next(&next);
}

static json_t *next_json(const struct rf_replayed *replayed, struct rf_symbols *symbols,
                         const struct rf_progress *rank) {
    struct next next;
    if (!find_next(replayed, symbols, rank, &next))
        return NULL;
    json_t *object = json_pack("{s:s}", "detail", next.calls);
    if (next.site) {
        char *detail = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&detail, &size);
        if (stream) {
            rf_describe(&next.event, stream);
            fclose(stream);
        }
        json_object_set_new(object, "next",
                            json_pack("{s:I,s:o,s:o,s:s}", "event", (json_int_t)next.event.number,
                                      "function", rf_utf8_json(next.site->function), "at",
                                      rf_utf8_json(next.place), "detail", detail ? detail : ""));
        free(detail);
    } else {
        json_object_set_new(object, "end", rf_utf8_json(next.ending));
    }
    free_next(&next);
    return object;
}

/* What stands in brackets is no function. */
static bool names_expected(const struct rf_progress *rank) {
    const struct rf_call *expected = &rank->expected;
    return isalpha((unsigned char)expected->function[0]) ||
           (!expected->function[0] && expected->detail[0]);
}

/* Checks are all that some ranks have; they are shown only when asked for. */
static void hint_dump(const struct rf_replayed *replayed, int rank) {
    const struct rf_rank_summary *recorded = rf_summary_rank(replayed->summary, rank);
    char *named = rf_named(replayed->trace);
    rf_say_hint("refrain dump %s--rank %d%s", recorded && !recorded->events ? "--all " : "", rank,
                named);
    free(named);
}

void rf_hint_info(const struct rf_replayed *replayed) {
    char *named = rf_named(replayed->trace);
    rf_say_hint("refrain info%s", named);
    free(named);
}

static void print_reason(bool *first, const char *text) {
    fprintf(stderr, "  %-9s ", *first ? "likely" : "");
    rf_print_plain(text, stderr);
    fputc('\n', stderr);
    *first = false;
}

/* The modules of the recorded rank that are other files by now. */
static void changed_modules(const struct rf_replayed *replayed, int rank, bool *first) {
    struct rf_error ignored = {0};
    struct rf_reader *reader = rf_reader_open(replayed->directory, rank, &ignored);
    const struct rf_module *module;
    for (uint32_t i = 0; reader && (module = rf_reader_module(reader, i)); i++) {
        uint8_t id[20];
        unsigned length = module->path[0] ? rf_elf_build_id(module->path, id) : 0;
        if (!length || !module->build_id_length ||
            (length == module->build_id_length && memcmp(id, module->build_id, length) == 0))
            continue;
        char *text = rf_text("%s was built anew since the recording", module->path);
        print_reason(first, text);
        free(text);
    }
    if (reader)
        rf_reader_close(reader);
}

static void changed_command(const struct rf_replayed *replayed, bool *first) {
    char **recorded = rf_manifest_command(replayed->manifest);
    char *before = rf_command_text(recorded), *now = rf_command_text(replayed->command);
    if (strcmp(before, now) != 0) {
        char *text = rf_text("the command differs: recorded was: %s", before);
        print_reason(first, text);
        free(text);
    }
    free(before);
    free(now);
    rf_manifest_free_command(recorded);
}

/* The first thing in a text that looks like "4.1.4"; empty when nothing does. */
static void version_in(const char *text, char version[32]) {
    version[0] = 0;
    for (const char *at = text; *at; at++) {
        size_t length = strspn(at, "0123456789.");
        if (length >= 3 && length < 31 && isdigit((unsigned char)*at) && memchr(at, '.', length)) {
            snprintf(version, 32, "%.*s", (int)length, at);
            return;
        }
        if (length)
            at += length - 1;
    }
}

static void changed_mpi(const struct rf_replayed *replayed, bool *first) {
    const char *library = replayed->summary->count ? replayed->summary->ranks[0].node.library : "";
    char *path = rf_find_executable(replayed->command[0]);
    const char *how;
    char text[4096], before[32], now[32] = "";
    if (path && rf_launcher_of(path, &how) != RF_LAUNCHER_NONE &&
        rf_version_text(path, text, sizeof text))
        version_in(text, now);
    version_in(library, before);
    if (before[0] && now[0] && strcmp(before, now) != 0) {
        char *line = rf_text("the MPI differs: recorded with %s, now it is %s", library, now);
        print_reason(first, line);
        free(line);
    }
    free(path);
}

/* Others that cannot follow their recordings any more send what comes. */
static void others_run_free(const struct rf_replayed *replayed, const struct rf_progress *rank,
                            bool *first) {
    for (size_t i = 0; i < replayed->supervision->count; i++) {
        const struct rf_progress *other = &replayed->supervision->ranks[i];
        if (other->rank == rank->rank || !other->free || !other->reason[0])
            continue;
        char *text = rf_text("rank %d runs free: %s", other->rank, other->reason);
        print_reason(first, text);
        free(text);
    }
}

static bool is_other_size(const struct rf_replayed *replayed, const struct rf_progress *rank) {
    return rank->size && rank->size != replayed->summary->size;
}

/* What can be seen from outside; first comes what is known already (`likely`, may be empty), then
   the rank's own guess. */
static void print_reasons(const struct rf_replayed *replayed, const struct rf_progress *rank,
                          const char *likely) {
    bool first = true;
    if (*likely)
        print_reason(&first, likely);
    if (rank->reason[0])
        print_reason(&first, rank->reason);
    others_run_free(replayed, rank, &first);
    if (is_other_size(replayed, rank)) {
        char *text = rf_text("the number of ranks differs: recorded were %d, now there are %d",
                             replayed->summary->size, rank->size);
        print_reason(&first, text);
        free(text);
    }
    changed_command(replayed, &first);
    changed_modules(replayed, rank->rank, &first);
    changed_mpi(replayed, &first);
    if (replayed->summary->unsupported_count) {
        char *names = rf_summary_unsupported(replayed->summary);
        char *text = rf_text("the program depends on something that is not recorded: %s", names);
        print_reason(&first, text);
        free(text);
        free(names);
    }
    for (size_t i = 0; i < replayed->summary->count; i++)
        if (replayed->summary->ranks[i].node.thread_level == 3 &&
            !replayed->summary->ranks[i].threads.exists) {
            print_reason(&first, "several threads call MPI: the order between them is not kept");
            break;
        }
    if (first)
        print_reason(&first, "the program depends on its input, the time, random numbers or memory "
                             "that was never set");
}

static void print_others(const struct rf_supervision *supervision) {
    int *ranks = rf_allocate(supervision->count, sizeof *ranks);
    size_t count = 0;
    for (size_t i = 0; i < supervision->count; i++)
        if ((int)i != supervision->first_diverged &&
            supervision->ranks[i].state == RF_STATE_DIVERGED)
            ranks[count++] = supervision->ranks[i].rank;
    if (count) {
        char *text = rf_ranks_text(ranks, count);
        fprintf(stderr, "  %-9s rank%s %s differ%s as well\n", "besides", rf_plural(count), text,
                count == 1 ? "s" : "");
        free(text);
    }
    free(ranks);
}

void rf_report_divergence(const struct rf_replayed *replayed) {
    const struct rf_supervision *supervision = replayed->supervision;
    const struct rf_progress *rank = &supervision->ranks[supervision->first_diverged];
    struct rf_symbols *symbols = rf_symbols_new();
    rf_say("the replay diverged: rank %d, event %llu: %s", rank->rank,
           (unsigned long long)rank->event,
           rank->difference[0] ? rank->difference : "the call is not the recorded one");
    if (names_expected(rank))
        print_call(replayed, symbols, rank->rank, "expected", &rank->expected, true);
    else if (!is_other_size(replayed, rank))
        print_next_recorded(replayed, symbols, rank);
    print_call(replayed, symbols, rank->rank, "came", &rank->got, false);
    uint32_t count =
        rank->history_count < RF_PROGRESS_HISTORY ? rank->history_count : RF_PROGRESS_HISTORY;
    for (uint32_t i = 0; i < count; i++)
        print_call(replayed, symbols, rank->rank, i ? "" : "before", &rank->history[i], true);
    print_others(supervision);
    print_reasons(replayed, rank, "");
    hint_dump(replayed, rank->rank);
    rf_symbols_free(symbols);
}

void rf_divergence_json(const struct rf_replayed *replayed, json_t *object) {
    const struct rf_supervision *supervision = replayed->supervision;
    const struct rf_progress *rank = &supervision->ranks[supervision->first_diverged];
    struct rf_symbols *symbols = rf_symbols_new();
    json_t *expected = NULL, *before = json_array();
    if (names_expected(rank))
        expected = call_json(replayed, symbols, rank->rank, &rank->expected, true);
    else if (!is_other_size(replayed, rank))
        expected = next_json(replayed, symbols, rank);
    json_t *came = call_json(replayed, symbols, rank->rank, &rank->got, false);
    for (uint32_t i = 0; i < rank->history_count && i < RF_PROGRESS_HISTORY; i++)
        json_array_append_new(before,
                              call_json(replayed, symbols, rank->rank, &rank->history[i], true));
    json_object_set_new(object, "rank", json_integer(rank->rank));
    json_object_set_new(object, "event", json_integer((json_int_t)rank->event));
    json_object_set_new(object, "difference", rf_utf8_json(rank->difference));
    json_object_set_new(object, "expected", expected ? expected : json_null());
    json_object_set_new(object, "came", came ? came : json_null());
    json_object_set_new(object, "before", before);
    rf_symbols_free(symbols);
}

bool rf_at_cut(const struct rf_summary *summary, const struct rf_progress *rank) {
    const struct rf_rank_summary *recorded = rf_summary_rank(summary, rank->rank);
    return rank->free ||
           (recorded && recorded->ending.how == RF_END_NONE && rank->played >= recorded->played);
}

/* Nodes of MCAPI may be threads of one process. */
static bool same_process(const struct rf_progress *one, const struct rf_progress *other) {
    return one->pid == other->pid && strcmp(one->host, other->host) == 0;
}

static bool has_finished(const struct rf_supervision *supervision, const struct rf_progress *rank) {
    for (size_t i = 0; i < supervision->count; i++)
        if (same_process(&supervision->ranks[i], rank) &&
            supervision->ranks[i].state != RF_STATE_FINISHED)
            return false;
    return true;
}

/* It waits in no call of its library, and its threads are not shown with it. */
static void print_absent(const struct rf_supervision *supervision, const struct rf_progress *rank) {
    for (size_t i = 0; i < supervision->count; i++) {
        const struct rf_progress *other = &supervision->ranks[i];
        const struct rf_places *threads =
            same_process(other, rank) ? rf_places_map(supervision->run, other->rank) : NULL;
        if (!threads)
            continue;
        rf_places_unmap(threads);
        fprintf(stderr, "one of the threads of rank %d", other->rank);
        return;
    }
    fputs("its process is gone", stderr);
}

void rf_report_stall(const struct rf_replayed *replayed) {
    const struct rf_supervision *supervision = replayed->supervision;
    struct rf_symbols *symbols = rf_symbols_new();
    bool cut = true;
    const struct rf_progress *stuck = NULL;
    for (size_t i = 0; i < supervision->count; i++)
        if (supervision->ranks[i].state == RF_STATE_WAITING) {
            cut = cut && rf_at_cut(replayed->summary, &supervision->ranks[i]);
            if (!stuck || !rf_at_cut(replayed->summary, &supervision->ranks[i]))
                stuck = &supervision->ranks[i];
        }
    if (cut && stuck)
        rf_say("the replay stands still: the recording was cut off here, and every rank has waited "
               "for %g second%s",
               supervision->stall_timeout, supervision->stall_timeout == 1 ? "" : "s");
    else
        rf_say("the replay stands still: every rank has waited for %g second%s",
               supervision->stall_timeout, supervision->stall_timeout == 1 ? "" : "s");
    for (size_t i = 0; i < supervision->count; i++) {
        const struct rf_progress *rank = &supervision->ranks[i];
        fprintf(stderr, "  rank %-4d event %llu: ", rank->rank, (unsigned long long)rank->events);
        const struct rf_places *threads = rf_places_map(supervision->run, rank->rank);
        if (rank->state == RF_STATE_WAITING)
            print_waiting(replayed, symbols, rank);
        else if (rank->state == RF_STATE_FINISHED)
            fputs("finished", stderr);
        else if (threads)
            fputs("its threads", stderr);
        else
            print_absent(supervision, rank);
        fputc('\n', stderr);
        if (threads && !has_finished(supervision, rank))
            rf_places_print(threads, symbols, stderr);
        rf_places_unmap(threads);
    }
    if (!cut && stuck)
        print_reasons(replayed, stuck, "");
    rf_hint_info(replayed);
    rf_symbols_free(symbols);
}

void rf_report_lost_rank(const struct rf_replayed *replayed, const struct rf_progress *rank) {
    struct rf_symbols *symbols = rf_symbols_new();
    rf_say("the replay broke off: rank %d ended at event %llu, in the recording it went on",
           rank->rank, (unsigned long long)rank->events);
    if (rank->state == RF_STATE_WAITING) {
        fprintf(stderr, "  %-9s ", "last");
        print_waiting(replayed, symbols, rank);
        fputc('\n', stderr);
    }
    const struct rf_places *threads = rf_places_map(replayed->supervision->run, rank->rank);
    if (threads)
        rf_places_print(threads, symbols, stderr);
    rf_places_unmap(threads);
    print_reasons(replayed, rank, "it crashed, or was killed from outside");
    hint_dump(replayed, rank->rank);
    rf_symbols_free(symbols);
}
