#include "engine/replay.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "engine/session.h"

static void progress_path(char *path, size_t room, const char *run, int rank) {
    snprintf(path, room, "%s/rank-%d.progress", run, rank);
}

bool rf_replay_taken(const char *run, int rank, int size) {
    char path[4096];
    struct rf_progress first = {0};
    progress_path(path, sizeof path, run, rank);
    if (access(path, F_OK) == 0)
        return true;
    /* A rank that the job before did not have. */
    progress_path(path, sizeof path, run, 0);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool other = file >= 0 && pread(file, &first, sizeof first, 0) == sizeof first && first.size &&
                 first.size != size;
    if (file >= 0)
        close(file);
    return other;
}

static struct rf_progress *map_progress(const char *run, int rank, struct rf_error *error) {
    char path[4096];
    progress_path(path, sizeof path, run, rank);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct rf_progress))) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be created", path);
        if (file >= 0)
            close(file);
        return NULL;
    }
    void *address =
        mmap(NULL, sizeof(struct rf_progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (address == MAP_FAILED) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be mapped", path);
        return NULL;
    }
    return address;
}

bool rf_replay_open(struct rf_replayer *replayer, const char *trace, const char *run, int rank,
                    struct rf_error *error) {
    memset(replayer, 0, sizeof *replayer);
    replayer->progress = run ? map_progress(run, rank, error) : NULL;
    replayer->watched = replayer->progress != NULL;
    if (!replayer->watched)
        replayer->progress = &replayer->own;
    if (run && !replayer->watched)
        return false;
    struct rf_progress *progress = replayer->progress;
    progress->rank = rank;
    progress->pid = (int32_t)getpid();
    gethostname(progress->host, sizeof progress->host - 1);
    progress->state = RF_STATE_STARTING;
    __atomic_store_n(&progress->magic, RF_PROGRESS_MAGIC, __ATOMIC_RELEASE);
    replayer->reader = rf_reader_open(trace, rank, error);
    return replayer->reader != NULL;
}

static struct rf_cursor *cursor_of(struct rf_replayer *replayer) {
    return replayer->shared && rf_strand_here ? &rf_strand_here->cursor : &replayer->cursor;
}

const struct rf_event *rf_replay_peek(struct rf_session *session) {
    struct rf_replayer *replayer = &session->replayer;
    if (replayer->shared)
        return rf_strand_here ? rf_strand_peek(session) : NULL;
    struct rf_cursor *cursor = &replayer->cursor;
    if (cursor->ready || replayer->free)
        return cursor->ready ? &cursor->event : NULL;
    struct rf_error error;
    for (;;) {
        enum rf_read result = rf_reader_next(replayer->reader, &cursor->event, &error);
        if (result == RF_READ_DAMAGED)
            rf_diverge(session, NULL, NULL, NULL, "%s", error.text);
        if (result == RF_READ_END) {
            const struct rf_ending *ending = rf_reader_ending(replayer->reader);
            if (ending->how == RF_END_NONE || ending->incomplete) {
                replayer->free = true;
                replayer->progress->free = 1;
            }
            return NULL;
        }
        if (cursor->event.kind == RF_THREAD)
            rf_diverge(session, NULL, NULL, NULL,
                       "the recording tells threads apart, and this replay cannot: the library "
                       "for threads is not loaded");
        if (cursor->event.kind == RF_LATE)
            continue; /* what came late is already in its place */
        if (cursor->event.kind == RF_END) {
            replayer->free = true; /* the call that comes did not come to its end */
            replayer->progress->free = 1;
            return NULL;
        }
        cursor->ready = true;
        cursor->used = 0;
        return &cursor->event;
    }
}

const struct rf_event *rf_replay_need(struct rf_session *session) {
    /* One that waits for ever must not seem to do something. */
    enum { SHORTEST = 1000000, LONGEST = 64000000 };
    for (long pause = SHORTEST;; pause = pause < LONGEST ? pause * 2 : LONGEST) {
        const struct rf_event *event = rf_replay_peek(session);
        if (event || !rf_replay_at_cut(session))
            return event;
        if (rf_strand_here)
            rf_strand_forgive(session);
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    }
}

bool rf_replay_at_cut(struct rf_session *session) {
    struct rf_replayer *replayer = &session->replayer;
    if (!replayer->shared || rf_replay_peek(session) || replayer->free)
        return false;
    const struct rf_ending *ending = rf_reader_ending(replayer->reader);
    return ending->how != RF_END_FINALIZE || ending->incomplete;
}

/* A debugger has its breakpoint here: one stop, however many events are played before. */
__attribute__((noinline)) void rf_replay_stop(void) {
    __asm__ volatile("");
}

static void lock_shown(struct rf_replayer *replayer) {
    if (replayer->shared)
        rf_lock(&replayer->lock);
}

static void unlock_shown(struct rf_replayer *replayer) {
    if (replayer->shared)
        rf_unlock(&replayer->lock);
}

void rf_replay_take(struct rf_replayer *replayer) {
    struct rf_cursor *cursor = cursor_of(replayer);
    const struct rf_event *event = &cursor->event;
    bool decision = rf_is_decision(event->kind);
    lock_shown(replayer);
    if (cursor->used == 0 && event->kind != RF_NONE && event->kind != RF_CHECK)
        replayer->history[replayer->remembered++ % RF_PROGRESS_HISTORY] = *event;
    uint64_t number = replayer->progress->events += decision;
    replayer->progress->played++;
    unlock_shown(replayer);
    if (replayer->shared) /* which of several threads is first may differ: stop at this very one */
        number = event->number + cursor->used + 1;
    if (++cursor->used >= event->run) {
        cursor->ready = false;
        if (replayer->shared)
            rf_strand_played(replayer->shared);
    }
    if (decision && __builtin_expect(number == replayer->stop_at, 0))
        rf_replay_stop();
}

/* Where the site is the recorded one, so is the function. */
static bool is_function(const struct rf_session *session, const struct rf_event *event,
                        const struct rf_here *here) {
    const struct rf_site *site = rf_reader_site(session->replayer.reader, event->site);
    return site && strcmp(site->function, here->name) == 0;
}

const struct rf_event *rf_replay_expect(struct rf_session *session, const struct rf_here *here,
                                        uint32_t kinds, uint32_t channel,
                                        const struct rf_asked *asked) {
    const struct rf_event *event = rf_replay_need(session);
    if (!event) {
        if (!session->replayer.free)
            rf_diverge(session, here, NULL, asked, "the recorded run made no such call any more");
        return NULL;
    }
    uint32_t number = rf_here_site(session, here);
    if (event->site && number != event->site && !is_function(session, event, here))
        rf_diverge(session, here, event, asked, "another call than in the recording");
    if (!(kinds & 1u << event->kind))
        rf_diverge(session, here, event, asked, "the call has another outcome in the recording");
    if (event->site && number != RF_SITE_ANY && number != event->site)
        rf_diverge(session, here, event, asked, "the call comes from another place");
    if (event->channel != channel && channel != RF_CHANNEL_ANY)
        rf_diverge(session, here, event, asked,
                   "the call uses another communicator (number %u, recorded %u)", channel,
                   event->channel);
    return event;
}

/* What people read of an event: its columns by name. */
void rf_describe_event(const struct rf_event *event, char *text, size_t size) {
    size_t length = 0;
    text[0] = 0;
    const int32_t values[2] = {event->first, event->second};
    for (int i = 0; i < 2; i++) {
        enum rf_column column = rf_kind_columns[event->kind][i];
        if (column == RF_COL_NONE || length >= size)
            continue;
        const char *comma = length ? ", " : "";
        if (values[i] == RF_UNKNOWN || values[i] == RF_UNDEFINED)
            length += (size_t)snprintf(text + length, size - length, "%s%s %s", comma,
                                       rf_column_names[column],
                                       values[i] == RF_UNKNOWN ? "unknown" : "undefined");
        else
            length += (size_t)snprintf(text + length, size - length, "%s%s %d", comma,
                                       rf_column_names[column], values[i]);
    }
    for (uint32_t i = 0; i < event->list_length && length < size; i++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s%d", i ? " " : ": ", event->list[i]);
}

static void describe_asked(const struct rf_asked *asked, char *text, size_t size) {
    char from[32] = "any source";
    char with[32] = "any tag";
    if (asked->source != RF_ANY)
        snprintf(from, sizeof from, "source %d", asked->source);
    if (asked->tag != RF_ANY)
        snprintf(with, sizeof with, "tag %d", asked->tag);
    snprintf(text, size, "%s, %s", from, with);
}

static void fill_here(struct rf_call *call, const struct rf_here *here,
                      const struct rf_asked *asked) {
    memset(call, 0, sizeof *call);
    call->peer = call->tag = RF_NO_PEER;
    if (here) {
        const struct rf_address *where = rf_address_of(here->address);
        snprintf(call->function, sizeof call->function, "%s", here->name);
        memcpy(call->module, where->module.path, sizeof call->module);
        call->offset = where->offset;
    }
    if (asked)
        describe_asked(asked, call->detail, sizeof call->detail);
}

static void fill_event(const struct rf_replayer *replayer, struct rf_call *call,
                       const struct rf_event *event) {
    memset(call, 0, sizeof *call);
    call->peer = call->tag = RF_NO_PEER;
    if (!event)
        return;
    if (event->kind == RF_CHECK) {
        snprintf(call->function, sizeof call->function, "%s", "(check of all calls so far)");
        snprintf(call->detail, sizeof call->detail, "%u", (unsigned)event->second);
        return;
    }
    const struct rf_site *site = rf_reader_site(replayer->reader, event->site);
    if (site && event->site) {
        const struct rf_module *module = rf_reader_module(replayer->reader, site->module);
        memcpy(call->function, site->function, sizeof call->function);
        call->offset = site->offset;
        if (module)
            memcpy(call->module, module->path, sizeof call->module);
    }
    rf_describe_event(event, call->detail, sizeof call->detail);
}

/* The ring of recent events becomes a list, oldest first. */
static void fill_history(struct rf_replayer *replayer) {
    struct rf_progress *progress = replayer->progress;
    uint32_t count = replayer->remembered;
    if (count > RF_PROGRESS_HISTORY)
        count = RF_PROGRESS_HISTORY;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = (replayer->remembered - count + i) % RF_PROGRESS_HISTORY;
        replayer->history[place].list_length = 0; /* the list is gone by now */
        fill_event(replayer, &progress->history[i], &replayer->history[place]);
    }
    progress->history_count = count;
}

/* Only the first thread that finds a difference gets past this. */
static void begin_difference(struct rf_session *session) {
    struct rf_replayer *replayer = &session->replayer;
    if (replayer->shared) {
        /* Others go on for a moment, as recorded; one of them may find a difference, too. */
        if (__atomic_exchange_n(&replayer->diverged, true, __ATOMIC_ACQ_REL))
            for (;;)
                pause();
    } else {
        session->mode = RF_OFF;
    }
}

static _Noreturn void tell_difference(struct rf_session *session) {
    struct rf_replayer *replayer = &session->replayer;
    struct rf_progress *progress = replayer->progress;
    fill_history(replayer);
    __atomic_store_n(&progress->state, RF_STATE_DIVERGED, __ATOMIC_RELEASE);
    if (!replayer->watched) {
        fprintf(stderr, "refrain: rank %d: event %llu: %s: %s\n", progress->rank,
                (unsigned long long)progress->event, progress->got.function, progress->difference);
    } else {
        /* The command line watches and stops the job; after a while nobody seems to. */
        for (int i = 0; i < 50; i++)
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    session->stop(RF_EXIT_DIVERGED);
    _exit(RF_EXIT_DIVERGED);
}

_Noreturn void rf_diverge(struct rf_session *session, const struct rf_here *here,
                          const struct rf_event *expected, const struct rf_asked *asked,
                          const char *format, ...) {
    struct rf_replayer *replayer = &session->replayer;
    struct rf_progress *progress = replayer->progress;
    begin_difference(session);
    progress->event = expected ? expected->number + cursor_of(replayer)->used : progress->events;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(progress->difference, sizeof progress->difference, format, arguments);
    va_end(arguments);
    fill_here(&progress->got, here, asked);
    fill_event(replayer, &progress->expected, expected);
    tell_difference(session);
}

_Noreturn void rf_diverge_from(struct rf_session *session, const struct rf_here *here,
                               const struct rf_call *expected, const char *text) {
    struct rf_progress *progress = session->replayer.progress;
    begin_difference(session);
    progress->event = progress->events;
    snprintf(progress->difference, sizeof progress->difference, "%s", text);
    fill_here(&progress->got, here, NULL);
    if (expected)
        progress->expected = *expected;
    tell_difference(session);
}

static void stop_process(int code) {
    _exit(code);
}

_Noreturn void rf_diverge_early(int rank, const struct rf_here *here,
                                const struct rf_call *expected, const char *text) {
    static struct rf_session session;
    struct rf_error ignored = {0};
    const char *trace = getenv("REFRAIN_TRACE"), *run = rank < 0 ? NULL : getenv("REFRAIN_RUN");
    /* What can be shown is shown, whether its recording can be read or not. */
    rf_replay_open(&session.replayer, trace ? trace : "", run, rank, &ignored);
    session.stop = stop_process;
    rf_diverge_from(&session, here, expected, text);
}

void rf_replay_finish(struct rf_session *session, const struct rf_here *here, enum rf_end how,
                      int32_t code) {
    static const char *const ways[] = {"", "finished", "aborted", "exited"};
    const struct rf_event *event = rf_replay_peek(session);
    if (!event && session->replayer.shared && how != RF_END_FINALIZE)
        rf_progress_wait(&session->replayer, here, RF_NO_PEER, RF_NO_PEER);
    /* Who ends the process does not wait for its other threads, but what they were told before is
       theirs. */
    while (!event && session->replayer.shared && !session->replayer.free &&
           (event = rf_strands_rest(session)) && how != RF_END_FINALIZE) {
        event = NULL;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (event)
        rf_diverge(session, here, event, NULL, "the program ends before the recording does");
    const struct rf_ending *ending = rf_reader_ending(session->replayer.reader);
    if (session->replayer.free || ending->how == RF_END_NONE)
        return;
    if (ending->how != how || ending->code != code)
        rf_diverge(session, here, NULL, NULL,
                   "the recorded run %s here (code %d), this one %s (%d)", ways[ending->how],
                   ending->code, ways[how], code);
}

/* A seqlock of one writer: the command line reads again when it saw an odd or a changed version. */
static void change_current(struct rf_progress *progress) {
    __atomic_store_n(&progress->current_version, progress->current_version + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Of an end, which one thread has come to, the others know nothing. */
static void show_state(struct rf_progress *progress, enum rf_state state) {
    if (progress->state < RF_STATE_DIVERGED)
        progress->state = state;
}

void rf_progress_go(struct rf_replayer *replayer) {
    lock_shown(replayer);
    replayer->progress->calls++;
    show_state(replayer->progress, RF_STATE_RUNNING);
    unlock_shown(replayer);
    if (replayer->show)
        replayer->show(NULL);
}

void rf_progress_wait(struct rf_replayer *replayer, const struct rf_here *here, int32_t peer,
                      int32_t tag) {
    struct rf_progress *progress = replayer->progress;
    struct rf_call *current = &progress->current;
    lock_shown(replayer);
    change_current(progress);
    /* Most waits happen where the last one did. */
    if (replayer->waited.address != here->address || replayer->waited.name != here->name) {
        const struct rf_address *where = rf_address_of(here->address);
        memcpy(current->module, where->module.path, sizeof current->module);
        current->offset = where->offset;
        strncpy(current->function, here->name, sizeof current->function - 1);
        replayer->waited = *here;
    }
    current->peer = peer;
    current->tag = tag;
    current->chosen = current->requests = 0;
    change_current(progress);
    show_state(progress, RF_STATE_WAITING);
    unlock_shown(replayer);
    if (replayer->show)
        replayer->show(here);
}

void rf_progress_requests(struct rf_replayer *replayer, int32_t chosen, int32_t requests) {
    struct rf_progress *progress = replayer->progress;
    lock_shown(replayer);
    change_current(progress);
    progress->current.chosen = chosen;
    progress->current.requests = requests;
    change_current(progress);
    unlock_shown(replayer);
}
