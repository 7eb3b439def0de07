/* Playing the recorded order: a thread waits until those that came before it have come. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "threads/adapter.h"
#include "threads/races.h"
#include "threads/real.h"
#include "threads/rolt.h"
#include "threads/state.h"

#define LOOKS 400            /* before a thread sleeps, */
#define LOOKS_EACH 20        /* so many before it lets others run */
#define FAR 64               /* operations: it sleeps at once */
#define SLEEP_FIRST 1000000L /* nanoseconds; a thread may be late in waking others: see wake() */
#define SLEEP_MOST 64000000L
#define STILL_SECONDS 1.0
#define STILL_LOOKS 250
#define BUSY 0.2           /* seconds of STILL_SECONDS in which it computes: that is not still */
#define CANCEL_SECONDS 5.0 /* in which nothing moves */

const char *rf_operation_name(uint32_t operation) {
    static const char *const names[RF_OPERATIONS] = {
        "?",
#define RF_OPERATION(symbol, name) name,
#include "threads/operations.def"
#undef RF_OPERATION
    };
    return names[operation < RF_OPERATIONS ? operation : 0];
}

/* ---- waking ---- */

/* Only threads of this process sleep there. */
static void ring(struct rf_place *place) {
    __atomic_store_n(&place->wake, 0, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&place->bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &place->bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* What a thread has done is seen at once by who looks, but it wakes who sleeps only when it lets go
   of what it has, or at its next operation: a thread that is woken when a lock is taken would only
   go on waiting for the lock. */
void rf_turn_wake_soon(struct rf_thread *self) {
    struct rf_place *place = self->place;
    uint64_t wake = place->wake;
    if (__builtin_expect(rf_threads.races, 0))
        rf_races_look(self);
    if (__builtin_expect(wake && place->done >= wake, 0))
        ring(place);
}

/* Who is about to sleep says so and looks again; this one has done something and looks who sleeps.
   With a fence between, one of them sees the other. */
void rf_turn_wake(struct rf_thread *self) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    rf_turn_wake_soon(self);
}

/* ---- what the command line sees ---- */

static void show(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    struct rf_place *place = self->place;
    if (place->address == address && place->operation == (uint32_t)what)
        return;
    self->inside++;
    const struct rf_address *where = rf_address_of(address);
    memcpy(place->module, where->module.path, sizeof place->module);
    place->offset = where->offset;
    place->address = address;
    place->operation = what;
    strncpy(place->function, rf_operation_name(what), sizeof place->function - 1);
    self->inside--;
}

void rf_turn_blocks(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    show(self, what, address);
    self->place->state = RF_PLACE_BLOCKS;
}

void rf_turn_goes_on(struct rf_thread *self) {
    self->place->state = RF_PLACE_RUNS;
}

/* The recorded operation that would have been next or, where its entry names none, the first one
   after it that has a name. The entries before that are lost: nothing is played any more. */
static void find_expected(struct rf_thread *self, struct rf_call *expected) {
    struct rf_error ignored = {0};
    uint64_t operation = self->done + 1;
    struct rf_thread_log_entry *next = &self->next;
    const struct rf_thread_log_site *site = NULL;
    *expected = (struct rf_call){.peer = RF_NO_PEER, .tag = RF_NO_PEER};
    while (next->operation && !(site = rf_thread_log_site(rf_threads.turns, next->site)))
        if (rf_thread_log_next(&self->cursor, next, &ignored) != RF_READ_EVENT)
            next->operation = 0;
    if (site) {
        const struct rf_log_module *module = rf_thread_log_module(rf_threads.turns, site->module);
        snprintf(expected->function, sizeof expected->function, "%s",
                 rf_operation_name(site->operation));
        if (module)
            memcpy(expected->module, module->path, sizeof expected->module);
        expected->offset = site->offset;
        if (next->operation > operation)
            snprintf(expected->detail, sizeof expected->detail,
                     "operation %llu, the next that the recording names",
                     (unsigned long long)next->operation);
    } else if (operation <= self->recorded) {
        snprintf(expected->detail, sizeof expected->detail,
                 "the operations up to number %llu, which the recording does not name",
                 (unsigned long long)self->recorded);
    } else {
        snprintf(expected->detail, sizeof expected->detail, "the end of the thread");
    }
}

_Noreturn void rf_turn_differs(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                               const char *format, ...) {
    char text[200], whole[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof whole, "thread %u, operation %llu: %s", self->number,
             (unsigned long long)self->done + 1, text);
    self->inside++;
    struct rf_call expected;
    find_expected(self, &expected);
    rf_threads_differ(rf_operation_name(what), address, &expected, whole);
}

/* ---- waiting ---- */

static double clock_seconds(clockid_t clock) {
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds(void) {
    return clock_seconds(CLOCK_MONOTONIC);
}

/* The functions that are hooked leave errno alone, and so does waiting for their turns. */
void rf_nap(long nanoseconds) {
    struct timespec time = {0, nanoseconds};
    int before = errno;
    syscall(SYS_nanosleep, &time, NULL);
    errno = before;
}

void rf_sleep_on(const volatile uint32_t *word, uint32_t value, long nanoseconds) {
    struct timespec time = {0, nanoseconds};
    int before = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &time, NULL, 0);
    errno = before;
}

/* Who sleeps until the earliest is kept, also if that is due and not rung for yet; the others are
   woken with it and ask again. */
static void ask_to_be_woken(struct rf_place *place, uint64_t count) {
    uint64_t wake = place->wake;
    while ((wake == 0 || wake > count) &&
           !__atomic_compare_exchange_n(&place->wake, &wake, count, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
        ;
}

static bool has_done(const struct rf_place *place, uint64_t count) {
    return __atomic_load_n(&place->done, __ATOMIC_ACQUIRE) >= count;
}

/* Does it run, or is it about to? One that was woken needs longer to run than to come to what is
   waited for: who went to sleep meanwhile would have to be woken in its turn, and so on. */
static bool moves(const struct rf_place *place) {
    return place->state == RF_PLACE_RUNS ||
           (place->state == RF_PLACE_WAITS &&
            has_done(&rf_threads.places->place[place->thread], place->count));
}

/* It may be there in a moment, if it does anything at all, and has not much to do before. To be
   woken takes several times as long as all looks together. The thread that is waited for may need
   this one's processor: with more threads than processors, those that look for what is far away
   would only be in the way of those that get on. */
static bool comes_soon(const struct rf_place *place, uint64_t count) {
    uint64_t done = place->done;
    if (done < count && count - done > FAR)
        return false;
    for (int looks = 1; looks < LOOKS && moves(place); looks++) {
        if (has_done(place, count))
            return true;
        if (looks % LOOKS_EACH == 0)
            syscall(SYS_sched_yield);
        else
            __builtin_ia32_pause();
    }
    return has_done(place, count);
}

static void wait_for(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                     uint32_t thread, uint64_t count) {
    struct rf_place *other = &rf_threads.places->place[thread];
    if (has_done(other, count) || comes_soon(other, count))
        return;
    show(self, what, address);
    struct rf_place *place = self->place;
    place->thread = thread;
    place->count = count;
    place->state = RF_PLACE_WAITS;
    for (long nap = SLEEP_FIRST; !has_done(other, count) && !rf_threads.places->free;) {
        uint32_t bell = __atomic_load_n(&other->bell, __ATOMIC_ACQUIRE);
        ask_to_be_woken(other, count);
        if (!has_done(other, count))
            rf_sleep_on(&other->bell, bell, nap);
        nap = nap * 2 > SLEEP_MOST ? SLEEP_MOST : nap * 2;
    }
    place->state = RF_PLACE_RUNS;
    if (rf_threads.places->free && !has_done(other, count)) {
        place->state = RF_PLACE_FREE;
        self->free = true;
    }
}

void rf_turn_wait_for(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                      uint32_t thread, uint64_t count) {
    if (thread < rf_threads.places->count)
        wait_for(self, what, address, thread, count);
}

/* ---- the end of what was recorded ---- */

static uint64_t movement(void) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rf_threads.places->count; i++)
        sum += rf_threads.places->place[i].done + rf_threads.places->place[i].state;
    return sum;
}

/* Does the kernel have it sleep? On a busy machine one that could go on may have to wait for long.
 */
static bool sleeps(const struct rf_place *place) {
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)place->task);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, line, sizeof line - 1);
    if (file >= 0)
        close(file);
    const char *end = got > 0 ? strrchr(line, ')') : NULL;
    return end && end[1] == ' ' && end[2] == 'S';
}

/* Is there a thread that may still do something by itself? */
static bool anybody_runs(bool thoroughly) {
    for (uint32_t i = 0; i < rf_threads.places->count; i++) {
        const struct rf_place *place = &rf_threads.places->place[i];
        if (place->state == RF_PLACE_RUNS)
            return true;
        if (place->state == RF_PLACE_WAITS && place->thread < rf_threads.places->count &&
            !rf_clocks() && has_done(&rf_threads.places->place[place->thread], place->count))
            return true;
        if (thoroughly && (place->state == RF_PLACE_WAITS || place->state == RF_PLACE_BLOCKS) &&
            !sleeps(place))
            return true;
    }
    return false;
}

bool rf_replay_at_end(const struct rf_thread *self) {
    return self->ended || rf_thread_log_head(rf_threads.turns)->finished == self->number + 1;
}

void rf_replay_settle(const struct rf_thread *self, uint32_t thread, uint64_t count) {
    const struct rf_place *place = &rf_threads.places->place[thread];
    uint64_t moved = movement();
    for (int still = 0; still < STILL_LOOKS; rf_nap(200000)) {
        bool waits_for_us = place->state == RF_PLACE_WAITS && place->thread == self->number;
        if (has_done(place, count) || waits_for_us || place->state == RF_PLACE_ENDED ||
            rf_threads.places->free)
            return;
        uint64_t now = movement();
        still = now == moved && sleeps(place) ? still + 1 : 0;
        moved = now;
    }
}

static bool others_are_behind(const struct rf_thread *self) {
    for (uint32_t i = 0; i < rf_threads.places->count; i++) {
        const struct rf_place *place = &rf_threads.places->place[i];
        if (!(self && place == self->place) && place->done < place->recorded)
            return true;
    }
    return false;
}

void rf_replay_await_others(const struct rf_thread *self) {
    double still = seconds(), used = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t moved = movement(); others_are_behind(self) && !rf_threads.places->free;) {
        rf_nap(10000000);
        double now = seconds(), more = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (movement() != moved || more - used > BUSY) {
            still = now;
            used = more;
        }
        if (now - still > STILL_SECONDS)
            return;
        moved = movement();
    }
}

/* It has come past the call before it was told. Where it is now it may have switched that off. */
void rf_replay_await_cancel(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    int state;
    if (!self->ended || self->cursor.record->cancelled != (RF_CANCEL_ASKED | RF_CANCEL_ENDED))
        return;
    rf_turn_wake(self);
    rf_turn_blocks(self, what, address);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    double still = seconds();
    for (uint64_t moved = movement(); seconds() - still < CANCEL_SECONDS; rf_nap(1000000)) {
        rf_real_functions.pthread_testcancel();
        if (movement() != moved)
            still = seconds();
        moved = movement();
    }
    pthread_setcancelstate(state, NULL);
    if (!rf_threads.places->free)
        rf_turn_differs(self, what, address, "the recorded thread was cancelled before this");
    rf_turn_goes_on(self);
}

/* The recorded thread never came out of this call. If it had ended before, this is another run. If
   the process ended, or the recording was cut off, the thread waits here; in the latter case until
   all the others have come to the end of theirs as well, and from there on the program runs free.
 */
static void come_to_the_end(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    const struct rf_thread_log_head *head = rf_thread_log_head(rf_threads.turns);
    rf_replay_await_cancel(self, what, address);
    if (rf_replay_at_end(self))
        rf_turn_differs(self, what, address, "the recorded thread had come to its end");
    show(self, what, address);
    self->place->state = RF_PLACE_PARKED;
    double still = seconds();
    for (uint64_t moved = movement(); !rf_threads.places->free;) {
        rf_nap(20000000);
        uint64_t now = movement();
        if (now != moved || head->finished || anybody_runs(false)) {
            moved = now;
            still = seconds();
        } else if (seconds() - still > STILL_SECONDS) {
            if (anybody_runs(true))
                still = seconds();
            else
                rf_threads.places->free = 1;
        }
    }
    self->place->state = RF_PLACE_FREE;
    self->free = true;
}

/* ---- entries ---- */

void rf_replay_next(struct rf_thread *self) {
    struct rf_error error = {0};
    switch (rf_thread_log_next(&self->cursor, &self->next, &error)) {
    case RF_READ_EVENT:
        return;
    case RF_READ_END:
        self->next.operation = 0;
        return;
    default:
        self->inside++;
        rf_threads_differ("", 0, NULL, error.text);
    }
}

/* The entry says what was done; another operation is another program, or another course of it. Its
   place is not compared: compilers make several calls out of one, behind branches that need not
   matter. */
static void compare(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    const struct rf_thread_log_site *site = rf_thread_log_site(rf_threads.turns, self->next.site);
    if (site && site->operation != what)
        rf_turn_differs(self, what, address, "recorded was %s", rf_operation_name(site->operation));
}

static bool at_entry(const struct rf_thread *self) {
    return self->next.operation == self->done + 1;
}

bool rf_turn_cut(struct rf_thread *self) {
    return self->done >= self->recorded;
}

/* Is there an entry of this operation, or of one before it, that nobody has taken? Only a run of
   failures may go on. */
static bool has_left_out(const struct rf_thread *self) {
    const struct rf_thread_log_entry *next = &self->next;
    uint64_t operation = self->done + 1;
    return next->operation && next->operation <= operation &&
           !(next->type == RF_THREAD_LOG_FAILURE && next->operation + next->run - 1 > operation);
}

/* The checks of the signature lie behind the operation. What a signal handler does comes between
   the wait for a turn and its end, and takes the place of the operation. */
static void finish(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    self->signature = rf_thread_log_sign(self->signature, what);
    while (at_entry(self) && self->next.type == RF_THREAD_LOG_CHECK) {
        if (self->next.value != rf_thread_log_signed(self->signature))
            rf_turn_differs(self, what, address,
                            "the operations of the thread up to here are not the recorded ones");
        rf_replay_next(self);
    }
    if (__builtin_expect(has_left_out(self), 0))
        rf_turn_differs(self, what, address, "recorded was %s",
                        rf_operation_name(rf_replay_site_operation(self)));
    self->done++;
    __atomic_store_n(&self->place->done, self->done, __ATOMIC_RELEASE);
    if (rf_clocks())
        rf_rolt_show(self);
}

/* An unfinished run of failures has an entry that began before this operation. */
static bool plays_failure(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                          int *code) {
    const struct rf_thread_log_entry *next = &self->next;
    uint64_t operation = self->done + 1;
    if (next->type != RF_THREAD_LOG_FAILURE || !next->operation || operation < next->operation)
        return false;
    compare(self, what, address);
    *code = next->code;
    if (operation - next->operation + 1 >= next->run)
        rf_replay_next(self);
    return true;
}

bool rf_failure_play(struct rf_thread *self, enum rf_operation what, uintptr_t address, int *code) {
    rf_turn_wake_soon(self);
    if (!plays_failure(self, what, address, code))
        return false;
    finish(self, what, address);
    return true;
}

/* Moves a clock only if clocks tick. */
static bool joins(enum rf_operation what) {
    return what == RF_OP_JOIN || what == RF_OP_TRYJOIN || what == RF_OP_TIMEDJOIN ||
           what == RF_OP_THRD_JOIN;
}

int rf_turn_await(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    int code;
    rf_turn_wake_soon(self);
    self->what = what;
    self->address = address;
    if (__builtin_expect(rf_turn_cut(self), 0)) {
        come_to_the_end(self, what, address);
        return RF_TURN_CUT;
    }
    if (plays_failure(self, what, address, &code)) {
        finish(self, what, address);
        return code;
    }
    if (rf_clocks() && (rf_joins_tick() || !joins(what))) {
        if (at_entry(self) && self->next.type == RF_THREAD_LOG_JUMP)
            compare(self, what, address);
        show(self, what, address);
        rf_rolt_await(self);
    }
    while (at_entry(self) && self->next.type == RF_THREAD_LOG_EDGE && !self->free) {
        compare(self, what, address);
        wait_for(self, what, address, self->next.thread, self->next.count);
        rf_replay_next(self);
    }
    if (self->free)
        return RF_TURN_CUT;
    if (at_entry(self) && self->next.type != RF_THREAD_LOG_CHECK)
        rf_turn_differs(self, what, address, "recorded was %s, with a value",
                        rf_operation_name(rf_replay_site_operation(self)));
    return 0;
}

void rf_turn_await_any(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    rf_turn_wake_soon(self);
    if (rf_clocks()) {
        show(self, what, address);
        rf_rolt_await_any(self);
    }
    while (at_entry(self) && self->next.type == RF_THREAD_LOG_EDGE && !self->free) {
        wait_for(self, what, address, self->next.thread, self->next.count);
        rf_replay_next(self);
    }
}

uint32_t rf_replay_site_operation(const struct rf_thread *self) {
    const struct rf_thread_log_site *site = rf_thread_log_site(rf_threads.turns, self->next.site);
    return site ? site->operation : RF_OP_NONE;
}

bool rf_replay_fails(const struct rf_thread *self, enum rf_operation what) {
    return at_entry(self) && self->next.type == RF_THREAD_LOG_FAILURE &&
           rf_replay_site_operation(self) == (uint32_t)what;
}

bool rf_replay_has_value(const struct rf_thread *self, enum rf_operation what) {
    return at_entry(self) && self->next.type == RF_THREAD_LOG_VALUE &&
           rf_replay_site_operation(self) == (uint32_t)what;
}

static bool is_same_build(const struct rf_log_module *one, const struct rf_module *other) {
    return one->build_id_length && one->build_id_length == other->build_id_length &&
           memcmp(one->build_id, other->build_id, one->build_id_length) == 0;
}

bool rf_replay_is_here(struct rf_thread *self, uintptr_t address) {
    const struct rf_thread_log_site *site = rf_thread_log_site(rf_threads.turns, self->next.site);
    const struct rf_log_module *recorded =
        site ? rf_thread_log_module(rf_threads.turns, site->module) : NULL;
    if (!recorded)
        return true;
    self->inside++;
    const struct rf_address *here = rf_address_of(address);
    self->inside--;
    return is_same_build(recorded, &here->module)
               ? site->offset == here->offset
               : strcmp(rf_name_of(recorded->path), rf_name_of(here->module.path)) == 0;
}

void rf_turn_played(struct rf_thread *self) {
    if (self->free)
        return;
    finish(self, self->what, self->address);
}

bool rf_step_play(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                  int64_t *value) {
    rf_turn_wake_soon(self);
    if (__builtin_expect(rf_turn_cut(self), 0)) {
        come_to_the_end(self, what, address);
        return false;
    }
    bool has = at_entry(self) && self->next.type == RF_THREAD_LOG_VALUE;
    if (has) {
        compare(self, what, address);
        *value = self->next.value;
        rf_replay_next(self);
    } else if (at_entry(self) && self->next.type != RF_THREAD_LOG_CHECK) {
        compare(self, what, address);
        rf_turn_differs(self, what, address, "recorded was something else");
    }
    finish(self, what, address);
    return has;
}

int64_t rf_value_play(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    int64_t value = 0;
    if (!rf_step_play(self, what, address, &value) && !self->free)
        rf_turn_differs(self, what, address, "recorded was another operation, without a value");
    return value;
}

void rf_bytes_play(struct rf_thread *self, enum rf_operation what, uintptr_t address, void *bytes,
                   size_t size) {
    rf_turn_wake_soon(self);
    if (rf_turn_cut(self)) {
        come_to_the_end(self, what, address);
        return;
    }
    if (!at_entry(self) || self->next.type != RF_THREAD_LOG_BYTES)
        rf_turn_differs(self, what, address, "recorded was another operation");
    compare(self, what, address);
    if (self->next.total != size)
        rf_turn_differs(self, what, address, "asks for %zu bytes, recorded were %u", size,
                        self->next.total);
    size_t got = 0;
    while (at_entry(self) && self->next.type == RF_THREAD_LOG_BYTES &&
           got + self->next.size <= size) {
        memcpy((char *)bytes + got, self->next.bytes, self->next.size);
        got += self->next.size;
        rf_replay_next(self);
    }
    finish(self, what, address);
}

/* A thread that ends has to have done what it did in the recording. */
void rf_replay_end(struct rf_thread *self) {
    if (!self->free && self->done < self->recorded)
        rf_turn_differs(self, RF_OP_NONE, 0,
                        "the thread ends before its recording does, with %llu operations",
                        (unsigned long long)self->recorded);
    rf_thread_log_leave(&self->cursor);
    rf_turn_wake(self);
    self->place->state = RF_PLACE_ENDED;
    rf_turn_wake(self);
}
