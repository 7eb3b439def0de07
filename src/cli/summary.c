#include "summary.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "detect.h"
#include "extracted.h"
#include "manifest.h"
#include "ranks.h"
#include "start.h"
#include "text.h"
#include "trace/checksum.h"
#include "trace/holes.h"

static void note_unsupported(struct rf_summary *summary, const char *name) {
    for (size_t i = 0; i < summary->unsupported_count; i++)
        if (strcmp(summary->unsupported[i], name) == 0)
            return;
    summary->unsupported =
        rf_grow(summary->unsupported, summary->unsupported_count, sizeof *summary->unsupported);
    summary->unsupported[summary->unsupported_count++] = rf_copy(name);
}

/* What the threads did that nobody put into an order. */
static void note_unseen(struct rf_summary *summary, uint32_t unseen) {
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {
        {RF_UNSEEN_DETACH, "OpenMP tasks with detach"},
        {RF_UNSEEN_CANCEL, "OpenMP's cancel parallel and cancel taskgroup"},
        {RF_UNSEEN_OPENMP, "OpenMP by Clang's library"},
        {RF_UNSEEN_FUTEX,
         "futexes used directly, as by std::atomic::wait and std::future::wait_for"},
        {RF_UNSEEN_STRANGERS, "calls in threads that are not recorded, as for timers"},
        {RF_UNSEEN_PYTHON, "switches between Python's threads by time"},
        {RF_UNSEEN_PYTHON_LOCKS, "the locks of Python 3.13 and later"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (unseen & names[i].bit)
            note_unsupported(summary, names[i].name);
}

static void read_events(struct rf_reader *reader, struct rf_rank_summary *rank,
                        struct rf_summary *summary, uint32_t *last) {
    struct rf_event event;
    enum rf_read result;
    while ((result = rf_reader_next(reader, &event, &rank->error)) == RF_READ_EVENT) {
        /* The end is a mark, not something that happened to the program's messages. */
        if (event.kind == RF_END)
            continue;
        summary->kinds[event.kind] += event.run;
        if (rf_is_decision(event.kind)) {
            rank->events += event.run;
            *last = event.site;
        }
        if (event.kind != RF_LATE)
            rank->played += event.run;
    }
    if (result == RF_READ_DAMAGED)
        rank->damaged = true;
    else
        rank->ending = *rf_reader_ending(reader);
}

void rf_rank_stood(struct rf_rank_summary *rank, struct rf_reader *reader, uint32_t last) {
    const struct rf_in_flight *flight = &rank->ending.in_flight;
    const struct rf_site *site =
        rf_reader_site(reader, flight->active ? rf_packed_site(flight->what) : last);
    if (!site || !(flight->active || rank->events))
        return;
    rank->site = *site;
    const struct rf_module *module = rf_reader_module(reader, site->module);
    if (module)
        rank->module = *module;
}

/* Files of several recordings, put together by hand, are no trace. */
static bool is_foreign(const char *directory, const json_t *manifest,
                       struct rf_rank_summary *rank) {
    const char *mpi = rf_manifest_mpi(manifest), *adapter = rank->node.adapter;
    return *mpi && rf_is_mpi(mpi) && *adapter && strcmp(adapter, mpi) != 0 &&
           !rf_fail(&rank->error, RF_EXIT_TRACE,
                    "%s/rank-%d.trace: was recorded with %s, the trace with %s", directory,
                    rank->rank, rf_mpi_title(adapter), rf_mpi_title(mpi));
}

static void read_rank(const char *directory, const json_t *manifest, struct rf_rank_summary *rank,
                      struct rf_summary *summary) {
    struct rf_reader *reader = rf_reader_open(directory, rank->rank, &rank->error);
    if (!reader) {
        rank->damaged = true;
        return;
    }
    rank->node = *rf_reader_node(reader);
    /* Libraries put tabs into their names, and a file may hold anything. */
    for (char *at = rank->node.library; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    uint32_t last = 0;
    read_events(reader, rank, summary, &last);
    rf_rank_stood(rank, reader, last);
    rank->bytes = rf_reader_bytes(reader);
    rank->unmatched = rf_reader_unmatched(reader);
    const char *name;
    for (size_t i = 0; (name = rf_reader_unsupported(reader, i)); i++)
        note_unsupported(summary, name);
    rf_reader_close(reader);
    if (is_foreign(directory, manifest, rank) ||
        rf_thread_log_missing(directory, manifest, rank->rank, &rank->error) ||
        !rf_thread_counts(directory, rank->rank, &rank->threads, &rank->error))
        rank->damaged = true;
    note_unseen(summary, rank->threads.unseen);
}

static bool is_sparse(const struct rf_summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (strcmp(summary->ranks[i].node.adapter, "mcapi") == 0)
            return true;
    return false;
}

bool rf_summary_read(const char *directory, const json_t *manifest, struct rf_summary *summary,
                     struct rf_error *error) {
    *summary = (struct rf_summary){0};
    int *numbers = NULL;
    if (!rf_trace_ranks(directory, &numbers, &summary->count, error))
        return false;
    summary->ranks = rf_allocate(summary->count, sizeof *summary->ranks);
    for (size_t i = 0; i < summary->count; i++) {
        struct rf_rank_summary *rank = &summary->ranks[i];
        rank->rank = numbers[i];
        read_rank(directory, manifest, rank, summary);
        summary->events += rank->events;
        summary->bytes += rank->bytes;
        summary->damaged += rank->damaged;
        if (rank->node.size > summary->size)
            summary->size = rank->node.size;
    }
    summary->sparse = is_sparse(summary);
    if (summary->sparse)
        summary->size = (int32_t)summary->count;
    /* If every rank was killed before it said anything. */
    if (!summary->size && summary->count)
        summary->size = numbers[summary->count - 1] + 1;
    free(numbers);
    return true;
}

static void read_kept(struct rf_rank_summary *rank, const char *directory, const char *kind) {
    struct rf_error error = {0};
    bool incomplete;
    if (rank->kept_damaged || rf_kept_whole(directory, rank->rank, kind, &incomplete, &error))
        return;
    rank->kept = error;
    rank->kept_damaged = !incomplete;
}

static void read_start(struct rf_rank_summary *rank, const char *directory) {
    struct rf_start start;
    struct rf_error error = {0};
    if (rank->kept_damaged)
        return;
    if (rf_start_load(&start, directory, rank->rank, &error)) {
        rf_start_free(&start);
    } else {
        rank->kept = error;
        rank->kept_damaged = true;
    }
}

void rf_summary_read_kept(struct rf_summary *summary, const char *directory, const json_t *manifest,
                          bool all) {
    bool checks = rf_checksum_named(rf_manifest_check(manifest)) != RF_CHECKSUM_NONE;
    bool data = strcmp(rf_manifest_text(manifest, "scheme"), "data") == 0;
    for (size_t i = 0; i < summary->count; i++) {
        struct rf_rank_summary *rank = &summary->ranks[i];
        /* One that was killed at its start may have come no further than to its own file. */
        if (!rank->events && rank->ending.how == RF_END_NONE)
            continue;
        bool node = strcmp(rank->node.adapter, "mcapi") == 0;
        if (checks && !node)
            read_kept(rank, directory, "checks");
        if (data ? all || node : all && rf_extracted_bytes(directory, rank->rank)) {
            read_kept(rank, directory, "contents");
            if (!node)
                read_start(rank, directory);
        }
    }
}

void rf_summary_free(struct rf_summary *summary) {
    for (size_t i = 0; i < summary->unsupported_count; i++)
        free(summary->unsupported[i]);
    free(summary->unsupported);
    free(summary->ranks);
}

int *rf_summary_numbers(const struct rf_summary *summary, size_t *count) {
    size_t missing = summary->sparse ? 0 : (size_t)summary->size;
    int *numbers = rf_allocate(summary->count + missing + 1, sizeof *numbers);
    size_t next = 0;
    *count = 0;
    for (size_t i = 0; i < missing; i++) {
        numbers[(*count)++] = (int)i;
        while (next < summary->count && summary->ranks[next].rank <= (int)i)
            next++;
    }
    /* A rank beyond the size that the others know of is odd, but one. */
    for (; next < summary->count; next++)
        numbers[(*count)++] = summary->ranks[next].rank;
    return numbers;
}

const struct rf_rank_summary *rf_summary_rank(const struct rf_summary *summary, int rank) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].rank == rank)
            return &summary->ranks[i];
    return NULL;
}

static bool hint_check(const char *directory, struct rf_error *error) {
    char *named = rf_named(directory);
    rf_hint(error, "refrain check%s", named);
    free(named);
    return false;
}

bool rf_summary_whole(const struct rf_summary *summary, const char *directory,
                      struct rf_error *error) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].damaged) {
            *error = summary->ranks[i].error;
            error->code = RF_EXIT_TRACE;
            return error->hint[0] ? false : hint_check(directory, error);
        }
    for (size_t i = 0; i < summary->count; i++)
        if (summary->ranks[i].kept_damaged) {
            *error = summary->ranks[i].kept;
            return error->hint[0] ? false : hint_check(directory, error);
        }
    for (int32_t rank = 0; rank < summary->size && !summary->sparse; rank++)
        if ((size_t)rank >= summary->count || summary->ranks[rank].rank != rank) {
            rf_fail(error, RF_EXIT_TRACE,
                    "%s: the file of rank %d is missing: the program had %d ranks, and there is no "
                    "rank-%d.trace",
                    directory, rank, summary->size, rank);
            return hint_check(directory, error);
        }
    if (summary->count == 0)
        return rf_fail(error, RF_EXIT_TRACE, "%s: the trace holds no rank at all", directory);
    return true;
}

char *rf_summary_unsupported(const struct rf_summary *summary) {
    char *all = rf_copy("");
    for (size_t i = 0; i < summary->unsupported_count; i++) {
        char *longer = rf_text("%s%s%s", all, i ? ", " : "", summary->unsupported[i]);
        free(all);
        all = longer;
    }
    return all;
}

json_t *rf_summary_unsupported_json(const struct rf_summary *summary) {
    json_t *names = json_array();
    for (size_t i = 0; i < summary->unsupported_count; i++)
        json_array_append_new(names, json_string(summary->unsupported[i]));
    return names;
}

static char *cause_text(const struct rf_ending *ending) {
    int32_t code = ending->code;
    const char *name = code > 0 ? sigabbrev_np(code) : NULL;
    if (code == RF_REPLACED)
        return rf_copy("was replaced by another program");
    /* Where the call is known it is named behind this. */
    if (rf_is_left(code))
        return rf_text("exited with status %d%s", rf_left_status(code),
                       ending->in_flight.active ? ""
                       : rf_left_within(code)   ? " within a call of MPI"
                                                : " without MPI_Finalize");
    return name ? rf_text("was ended by SIG%s", name) : rf_copy("was killed or crashed");
}

/* It did not come to an end by itself. */
static char *cut_off_text(const struct rf_rank_summary *rank, struct rf_symbols *symbols) {
    const struct rf_ending *ending = &rank->ending;
    char *how = cause_text(ending);
    char place[RF_PLACE_TEXT] = "";
    if (rank->site.function[0])
        rf_symbols_place(symbols, &rank->module, rank->site.offset, place);
    unsigned long long events = rank->events;
    char *text = ending->in_flight.active ? rf_text("%s in %s at %s (event %llu)", how,
                                                    rank->site.function, place, events)
                 : place[0] ? rf_text("%s after %llu event%s, the last one in %s at %s", how,
                                      events, rf_plural(rank->events), rank->site.function, place)
                            : rf_text("%s after %llu events", how, events);
    free(how);
    return text;
}

char *rf_ending_text(const struct rf_rank_summary *rank, struct rf_symbols *symbols) {
    const struct rf_ending *ending = &rank->ending;
    if (rank->damaged)
        return rf_text("has a damaged file, %llu events are readable",
                       (unsigned long long)rank->events);
    if (ending->incomplete)
        return rf_text("is recorded only up to event %llu: %s", (unsigned long long)rank->events,
                       ending->reason);
    switch (ending->how) {
    case RF_END_FINALIZE:
        return rf_copy("finished");
    case RF_END_ABORT:
        return rf_text("aborted with code %d", ending->code);
    case RF_END_EXIT:
        return rf_text("exited with status %d without %s", ending->code,
                       strcmp(rank->node.adapter, "mcapi") == 0 ? "mcapi_finalize"
                                                                : "MPI_Finalize");
    case RF_END_NONE:
        break;
    }
    return cut_off_text(rank, symbols);
}

int rf_ending_code(const struct rf_ending *ending) {
    bool left = ending->how == RF_END_NONE && rf_is_left(ending->code);
    return left ? rf_left_status(ending->code) : ending->code;
}

/* The words that follow "rank 7" as they follow "ranks 7,8". */
static void print_plural(const char *text, FILE *out) {
    static const char *const forms[][2] = {
        {"was ", "were "}, {"has a ", "have a "}, {"is ", "are "}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (rf_starts_with(text, forms[i][0])) {
            fputs(forms[i][1], out);
            text += strlen(forms[i][0]);
            break;
        }
    rf_print_plain(text, out);
}

void rf_summary_endings(const struct rf_summary *summary, struct rf_symbols *symbols,
                        const char *prefix, FILE *out) {
    char **texts = rf_allocate(summary->count, sizeof *texts);
    for (size_t i = 0; i < summary->count; i++)
        texts[i] = rf_ending_text(&summary->ranks[i], symbols);
    int *alike = rf_allocate(summary->count, sizeof *alike);
    for (size_t i = 0; i < summary->count; i++) {
        if (!texts[i])
            continue;
        size_t count = 0;
        for (size_t j = i; j < summary->count; j++)
            if (texts[j] && strcmp(texts[i], texts[j]) == 0) {
                alike[count++] = summary->ranks[j].rank;
                if (j != i) {
                    free(texts[j]);
                    texts[j] = NULL;
                }
            }
        char *ranks = rf_ranks_text(alike, count);
        fprintf(out, "%srank%s %s ", prefix, rf_plural(count), ranks);
        if (count > 1)
            print_plural(texts[i], out);
        else
            rf_print_plain(texts[i], out);
        fputc('\n', out);
        free(ranks);
        free(texts[i]);
        texts[i] = NULL;
    }
    free(alike);
    free(texts);
}

struct rf_thread_counts rf_summary_threads(const struct rf_summary *summary) {
    struct rf_thread_counts all = {0};
    for (size_t i = 0; i < summary->count; i++) {
        const struct rf_thread_counts *rank = &summary->ranks[i].threads;
        if (!rank->exists)
            continue;
        all.exists = true;
        all.stopped = all.stopped || rank->stopped;
        all.order = rank->order;
        all.threads += rank->threads;
        all.operations += rank->operations;
        all.turns += rank->turns;
        all.failures += rank->failures;
        all.values += rank->values;
        all.bytes += rank->bytes;
    }
    return all;
}

char *rf_summary_threads_text(const struct rf_summary *summary, uint64_t played) {
    struct rf_thread_counts all = rf_summary_threads(summary);
    if (!all.exists)
        return rf_copy("");
    char *some =
        played < all.operations ? rf_text("%llu of ", (unsigned long long)played) : rf_copy("");
    char *text =
        rf_text(", %u thread%s, %s%llu operation%s", (unsigned)all.threads, rf_plural(all.threads),
                some, (unsigned long long)all.operations, rf_plural(all.operations));
    free(some);
    return text;
}

uint64_t rf_directory_bytes(const char *directory) {
    uint64_t bytes = 0;
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        struct stat facts;
        if (fstatat(dirfd(entries), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(facts.st_mode))
            bytes += rf_bytes_on_disk(&facts);
    }
    if (entries)
        closedir(entries);
    return bytes;
}
