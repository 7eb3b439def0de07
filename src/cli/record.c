/* refrain record: runs the command, and keeps what the outside decided for it. */
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "detect.h"
#include "elf_facts.h"
#include "install.h"
#include "launch.h"
#include "location.h"
#include "manifest.h"
#include "messages.h"
#include "options.h"
#include "race_detect.h"
#include "ranks.h"
#include "status.h"
#include "summary.h"
#include "text.h"
#include "thread_logs.h"
#include "thread_notes.h"
#include "trace/holes.h"
#include "utf8.h"
#include "values.h"

static bool check_scheme(const char *scheme, struct rf_error *error) {
    static const char *const later[] = {"race", "cdc"};
    if (strcmp(scheme, "order") == 0 || strcmp(scheme, "data") == 0 ||
        strcmp(scheme, "sender") == 0)
        return true;
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        if (strcmp(scheme, later[i]) == 0) {
            rf_fail(error, RF_EXIT_USAGE, "--scheme %s: not available in this version", scheme);
            return rf_hint(error, "refrain record -s order COMMAND...");
        }
    rf_fail(error, RF_EXIT_USAGE, "--scheme %s: unknown scheme", scheme);
    return rf_hint(error, "refrain record -s order COMMAND...");
}

/* What is there for MCAPI need not be there for MPI, and messages not at all. */
static bool fits(const char *scheme, const char *mpi, struct rf_error *error) {
    bool order = strcmp(scheme, "order") == 0;
    if (order || strcmp(mpi, "mcapi") == 0 || (rf_is_mpi(mpi) && strcmp(scheme, "data") == 0))
        return true;
    rf_fail(error, RF_EXIT_USAGE, "--scheme %s: is for programs that use %s", scheme,
            rf_is_mpi(mpi) ? "MCAPI" : "MPI or MCAPI");
    return rf_hint(error, "refrain record -s order COMMAND...");
}

static bool check_thread_order(const char *order, struct rf_error *error) {
    static const char *const known[] = {"edges", "rolt", "every", "rolt-no-unlocks",
                                        "rolt-no-joins"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!order || strcmp(order, known[i]) == 0)
            return true;
    rf_fail(error, RF_EXIT_USAGE, "--thread-order %s: unknown order: edges, rolt or every", order);
    return rf_hint(error, "refrain record --threads COMMAND...");
}

/* How the order between threads is to be kept, or NULL. A thread is told values as what it does
   depends on; without the order of threads they would soon be asked by others. */
static const char *thread_order(const struct rf_options *options) {
    bool wanted = options->threads || options->values;
    return options->thread_order ? options->thread_order : wanted ? "edges" : NULL;
}

/* Messages between threads of one process have no place in an order of clocks, and nothing stands
   before the functions of a program that Refrain is linked into. */
static bool threads_fit(const char *order, const struct rf_detected *detected,
                        struct rf_error *error) {
    if (!order || strcmp(detected->mpi, "mcapi") != 0)
        return true;
    if (strncmp(order, "rolt", 4) == 0) {
        rf_fail(error, RF_EXIT_USAGE,
                "--thread-order %s: is not for programs that use MCAPI: nodes may be threads, "
                "and clocks know nothing of their messages",
                order);
        return rf_hint(error, "refrain record --threads COMMAND...");
    }
    if (!detected->instrumented)
        return true;
    rf_fail(error, RF_EXIT_USAGE,
            "--threads: is not for programs made by refrain instrument: use one that is linked "
            "with the shared MCAPI library");
    return rf_hint(error, "refrain record COMMAND...");
}

static bool check_checksum(const char *name, struct rf_error *error) {
    if (strcmp(name, "none") == 0 || strcmp(name, "xor") == 0 || strcmp(name, "crc32c") == 0)
        return true;
    rf_fail(error, RF_EXIT_USAGE, "--check %s: unknown checksum: none, xor or crc32c", name);
    return rf_hint(error, "refrain record --check crc32c COMMAND...");
}

/* What the ranks know and the command line did not, before they ran. */
static void complete(json_t *manifest, const struct rf_summary *summary, double seconds, int status,
                     int launcher_status) {
    json_t *hosts = json_array(), *logs = json_array();
    const char *version = "";
    for (size_t i = 0; i < summary->count; i++) {
        const struct rf_node *node = &summary->ranks[i].node;
        bool known = false;
        size_t j;
        const json_t *host;
        json_array_foreach(hosts, j, host) known =
            known || strcmp(json_string_value(host), node->host) == 0;
        if (!known && node->host[0])
            json_array_append_new(hosts, json_string(node->host));
        if (!*version)
            version = node->library;
        if (summary->ranks[i].threads.exists)
            json_array_append_new(logs, json_integer(summary->ranks[i].rank));
    }
    json_object_set_new(json_object_get(manifest, "mpi"), "version", json_string(version));
    json_object_set_new(manifest, "hosts", hosts);
    json_object_set_new(manifest, "ranks", json_integer(summary->size));
    if (json_array_size(logs))
        json_object_set(manifest, "thread_logs", logs);
    json_decref(logs);
    json_object_set_new(manifest, "duration", json_real(seconds));
    json_object_set_new(manifest, "status", json_integer(status));
    json_object_set_new(manifest, "launcher_status", json_integer(launcher_status));
    json_object_set_new(manifest, "state", json_string("complete"));
}

static void warn(const struct rf_summary *summary, const char *directory, const char *shown) {
    if (summary->unsupported_count) {
        char *names = rf_summary_unsupported(summary);
        rf_say("not recorded: %s: a replay may differ where the program depends on them", names);
        if (strstr(names, "several threads of one node"))
            rf_say_hint("refrain record --threads --scheme order COMMAND...");
        free(names);
    }
    bool threads = false;
    for (size_t i = 0; i < summary->count; i++) {
        const struct rf_rank_summary *rank = &summary->ranks[i];
        threads = threads || (rank->node.thread_level == 3 && !rank->threads.exists);
        if (rank->damaged)
            rf_say("rank %d: %s", rank->rank, rank->error.text);
        else if (rank->ending.incomplete)
            rf_say("rank %d is recorded only up to event %llu: %s", rank->rank,
                   (unsigned long long)rank->events, rank->ending.reason);
        if (rank->threads.stopped)
            rf_say(
                "rank %d: the order of its threads is recorded only up to a point: its log could "
                "not be lengthened",
                rank->rank);
    }
    rf_thread_notes_tell(directory, summary);
    if (threads)
        rf_say("threads: the program asked for MPI_THREAD_MULTIPLE: the order between threads is "
               "not kept");
    if ((size_t)summary->size > summary->count)
        rf_say("%s: only %zu of %d ranks left a file", shown, summary->count, summary->size);
}

static void announce_json(const struct rf_summary *summary, const struct rf_new_trace *trace,
                          int status) {
    rf_say_json(json_pack("{s:o,s:I,s:I,s:I,s:i,s:o}", "recorded", rf_utf8_json(trace->shown),
                          "bytes", (json_int_t)rf_directory_bytes(trace->path), "events",
                          (json_int_t)summary->events, "ranks", (json_int_t)summary->count,
                          "status", status, "not_recorded", rf_summary_unsupported_json(summary)));
}

static void announce(const struct rf_summary *summary, const struct rf_new_trace *trace) {
    char size[RF_SIZE_TEXT];
    char *threads = rf_summary_threads_text(summary, UINT64_MAX);
    rf_say("recorded: %s: %s, %llu event%s, %zu rank%s%s", trace->shown,
           rf_size_text(rf_directory_bytes(trace->path), size), (unsigned long long)summary->events,
           rf_plural(summary->events), summary->count, rf_plural(summary->count), threads);
    free(threads);
    struct rf_error ignored = {0};
    const char *verb = rf_summary_whole(summary, trace->shown, &ignored) ? "replay" : "check";
    if (trace->numbered) {
        rf_say_hint("refrain %s", verb);
        return;
    }
    char *named = rf_named(trace->shown);
    rf_say_hint("refrain %s%s", verb, named);
    free(named);
}

/* Not even what one rank sets aside, and so the ranks have said that nothing is recorded of them.
 */
static bool is_full(const char *path) {
    enum { SET_ASIDE = 4 << 20 };
    struct statvfs facts;
    return statvfs(path, &facts) == 0 && (uint64_t)facts.f_bavail * facts.f_frsize < SET_ASIDE;
}

/* Nothing is in the trace: it is taken away again, and `latest` is what it was. */
static int nothing_recorded(struct rf_new_trace *trace, const char *begin,
                            const struct rf_launch *launch, int status) {
    struct rf_error error = {0};
    char *text = rf_command_text(launch->command);
    char *threaded = rf_thread_notes_program(trace->path);
    bool advise = threaded && launch->launcher == RF_LAUNCHER_NONE;
    struct rf_elf_facts facts;
    bool mcapi = advise && rf_elf_facts(threaded, &facts) && facts.calls_mcapi;
    const char *option = mcapi ? "--mpi mcapi" : "--threads";
    bool full = is_full(trace->path);
    rf_new_trace_discard(trace);
    if (full) { /* which does no harm to the program */
        rf_say("nothing recorded: there is no room for the file of a rank in %s", trace->shown);
        rf_say_hint("refrain record -o ELSEWHERE -- %s", text);
    } else if (status != 0) {
        rf_say("nothing recorded: the command ended with status %d before any %s", status, begin);
        if (advise)
            rf_say_hint("refrain record %s -- %s", option, text);
    } else if (advise) {
        rf_fail(&error, RF_EXIT_ENVIRONMENT,
                "nothing recorded: no %s with Refrain in it; but %s %s", begin, threaded,
                mcapi ? "uses MCAPI" : "created threads");
        rf_hint(&error, "refrain record %s -- %s", option, text);
    } else {
        rf_fail(&error, RF_EXIT_ENVIRONMENT,
                "nothing recorded: no %s with Refrain in it: the command is no such program, or "
                "the preload does not reach it",
                begin);
        rf_hint(&error, "refrain doctor -- %s", text);
    }
    free(threaded);
    free(text);
    return full || status != 0 ? status : rf_report_error(&error);
}

/* What ranks that were killed have left need not take the room that they might have needed. False
   if some of them may still be writing. */
static bool tidy(const char *trace, const struct rf_summary *summary) {
    static const char *const kept[] = {"tail", "contents.tail", "checks.tail", "threads"};
    bool over = true;
    for (size_t i = 0; i < summary->count; i++)
        for (size_t j = 0; j < sizeof kept / sizeof *kept; j++) {
            int rank = summary->ranks[i].rank;
            char *path = rf_text("%s/rank-%d.%s", trace, rank, kept[j]);
            if (access(path, F_OK) != 0)
                ;
            else if (!rf_nobody_writes(path))
                over = false;
            else if (strcmp(kept[j], "threads") == 0)
                rf_thread_log_tidy(trace, rank);
            else
                rf_dig_holes(path);
            free(path);
        }
    return over;
}

/* Logs of processes with threads that never became a node: what started the nodes, perhaps. */
static void remove_nameless(const char *trace) {
    DIR *directory = opendir(trace);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        if (fnmatch("process-*.threads", entry->d_name, 0) != 0)
            continue;
        char *path = rf_text("%s/%s", trace, entry->d_name);
        if (rf_nobody_writes(path))
            unlink(path);
        free(path);
    }
    if (directory)
        closedir(directory);
}

/* A launcher that is killed ends before its ranks. Most end soon after, and what they do until then
   belongs to the recording. */
static bool read_all(const char *trace, const json_t *manifest, struct rf_summary *summary,
                     struct rf_error *error) {
    enum { LOOKS = 100 };
    if (!rf_summary_read(trace, manifest, summary, error))
        return false;
    if (tidy(trace, summary))
        return true;
    for (int i = 0; i < LOOKS && !tidy(trace, summary); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    rf_summary_free(summary);
    return rf_summary_read(trace, manifest, summary, error);
}

/* A later job of the command may have had more ranks than the one that is recorded. */
static bool remove_later(const char *trace, const json_t *manifest, struct rf_summary *summary,
                         struct rf_error *error) {
    bool known = !summary->sparse && summary->count && summary->ranks[0].rank == 0;
    int size = known ? summary->ranks[0].node.size : 0;
    bool found = false;
    DIR *directory = size ? opendir(trace) : NULL;
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        char *path = rf_text("%s/%s", trace, entry->d_name);
        if (strncmp(entry->d_name, "rank-", 5) == 0 && strtol(entry->d_name + 5, NULL, 10) >= size)
            found = unlink(path) == 0 || found;
        free(path);
    }
    if (directory)
        closedir(directory);
    if (!found)
        return true;
    rf_summary_free(summary);
    return rf_summary_read(trace, manifest, summary, error);
}

static bool all_ran_here(const struct rf_summary *summary) {
    char here[sizeof summary->ranks->node.host] = "";
    gethostname(here, sizeof here - 1);
    for (size_t i = 0; i < summary->count; i++) {
        const char *host = summary->ranks[i].node.host; /* empty: it was killed while it began */
        if (*host && strcmp(host, here) != 0)
            return false;
    }
    return true;
}

/* When one rank fails others may be ended before they have begun. Of these there is a mark, as of
   one that was killed while it began; else it would seem that a file was lost. If the job did not
   fail, or ran elsewhere as well, that may be so. */
static bool mark_not_begun(const char *trace, const json_t *manifest, struct rf_summary *summary,
                           struct rf_error *error) {
    int *marked = NULL;
    size_t count = 0;
    for (int rank = 0; !summary->sparse && rank < summary->size; rank++) {
        char *path = rf_text("%s/rank-%d.new", trace, rank);
        int file = rf_trace_has_rank(trace, rank)
                       ? -1
                       : open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        if (file >= 0) {
            close(file);
            marked = rf_grow(marked, count, sizeof *marked);
            marked[count++] = rank;
        }
        free(path);
    }
    if (!count)
        return true;
    char *text = rf_ranks_text(marked, count);
    rf_say("rank%s %s had not begun when the job failed: nothing is recorded of %s",
           count == 1 ? "" : "s", text, count == 1 ? "it" : "them");
    free(text);
    free(marked);
    rf_summary_free(summary);
    return rf_summary_read(trace, manifest, summary, error);
}

/* From the launch to the finished manifest; returns the exit code. */
static int run(const struct rf_launch *launch, struct rf_new_trace *trace, json_t *manifest,
               const struct rf_options *options) {
    struct rf_error error = {0};
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    rf_signals_guard(0);
    pid_t child = rf_launch(launch, &error);
    if (child < 0) {
        rf_new_trace_discard(trace);
        return rf_report_error(&error);
    }
    rf_signals_guard(child);
    rf_new_trace_latest(trace);
    int raw = rf_launch_wait(child);
    clock_gettime(CLOCK_MONOTONIC, &end);

    struct rf_summary summary;
    if (!read_all(trace->path, manifest, &summary, &error) ||
        !remove_later(trace->path, manifest, &summary, &error))
        return rf_report_error(&error);
    remove_nameless(trace->path);
    int status = rf_program_status(raw, launch->launcher, rf_summary_fate(&summary), &summary);
    if (status != 0 && all_ran_here(&summary) &&
        !mark_not_begun(trace->path, manifest, &summary, &error))
        return rf_report_error(&error);
    if (summary.count == 0) {
        rf_summary_free(&summary);
        return nothing_recorded(trace, rf_begin_of(rf_manifest_mpi(manifest)), launch, status);
    }
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    complete(manifest, &summary, seconds, status, raw);
    /* The program's status is worth more than ours: say it, and go on. */
    if (!rf_manifest_save(manifest, trace->path, &error))
        rf_report_error(&error);
    warn(&summary, trace->path, trace->shown);
    if (!options->quiet && options->json)
        announce_json(&summary, trace, status);
    else if (!options->quiet)
        announce(&summary, trace);
    rf_summary_free(&summary);
    return status;
}

static json_t *describe(const struct rf_options *options, const char *values,
                        const struct rf_detected *detected) {
    json_t *manifest = rf_manifest_new(options->command, detected->mpi, options->scheme);
    if (manifest && strcmp(options->check, "none") != 0)
        json_object_set_new(manifest, "check", json_string(options->check));
    if (manifest && thread_order(options))
        json_object_set_new(manifest, "threads", json_string(thread_order(options)));
    if (manifest && *values)
        json_object_set_new(manifest, "values", json_string(values));
    if (manifest && options->fill)
        json_object_set_new(manifest, "fill", json_true());
    return manifest;
}

/* The adapter, and besides it the library for threads, unless that is all there is. */
static bool find_adapter(const char *mpi, const char *order, char **adapter, char **threads,
                         struct rf_error *error) {
    *adapter = rf_find_adapter(mpi);
    /* Whether threads call MPI at the same time shows only when the program runs. */
    if (*adapter && (order || rf_is_mpi(mpi)) && strcmp(mpi, RF_NO_MESSAGES) != 0)
        *threads = rf_find_adapter(RF_NO_MESSAGES);
    if (*adapter)
        return true;
    rf_fail(error, RF_EXIT_ENVIRONMENT,
            "librefrain-%s.so: not found: this Refrain was built without %s", mpi,
            rf_mpi_title(mpi));
    return rf_hint(error, "refrain doctor");
}

int rf_verb_record(const struct rf_options *options) {
    struct rf_error error = {0};
    struct rf_detected detected = {0};
    struct rf_new_trace trace = {0};
    char *adapter = NULL, *threads = NULL, values[RF_VALUES_TEXT] = "";
    json_t *manifest = NULL;
    int code;
    if (!check_scheme(options->scheme, &error) || !check_checksum(options->check, &error) ||
        !check_thread_order(options->thread_order, &error) ||
        (options->values && !rf_values_parse(options->values, values, &error)) ||
        !rf_mpi_option(options->mpi, &error) ||
        !rf_detect(options->command, options->mpi, thread_order(options) != NULL, &detected,
                   &error) ||
        !fits(options->scheme, detected.mpi, &error) ||
        !threads_fit(thread_order(options), &detected, &error) ||
        !find_adapter(detected.mpi, thread_order(options), &adapter, &threads, &error) ||
        !rf_new_trace(&trace, options->output, detected.program, &error)) {
        code = rf_report_error(&error);
    } else if (!(manifest = describe(options, values, &detected)) ||
               !rf_manifest_save(manifest, trace.path, &error)) {
        rf_new_trace_discard(&trace);
        code = rf_report_error(&error);
    } else {
        if (options->verbose)
            rf_say("MPI: %s: %s", rf_mpi_title(detected.mpi), detected.because);
        char *tsan = rf_tsan_suppressions(&detected);
        struct rf_launch launch = {.command = options->command,
                                   .launcher = detected.launcher,
                                   .adapter = adapter,
                                   .mode = "record",
                                   .trace = trace.path,
                                   .scheme = options->scheme,
                                   .check = rf_manifest_check(manifest),
                                   .threads = threads,
                                   .order = thread_order(options),
                                   .values = rf_manifest_values(manifest),
                                   .same_addresses = rf_manifest_same_addresses(manifest),
                                   .fill = options->fill,
                                   .tsan_options = tsan,
                                   .verbose = options->verbose};
        code = run(&launch, &trace, manifest, options);
        free(tsan);
    }
    json_decref(manifest);
    free(threads);
    free(adapter);
    rf_new_trace_free(&trace);
    rf_detected_free(&detected);
    return code;
}
