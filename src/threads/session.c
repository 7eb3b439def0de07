/* From the first thread that is created to the end of the process. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/signals.h"
#include "threads/adapter.h"
#include "threads/lineage.h"
#include "threads/races.h"
#include "threads/real.h"
#include "threads/rolt.h"
#include "threads/state.h"

struct rf_threads rf_threads = {.unlocks = true};
_Thread_local struct rf_thread *rf_self;
_Thread_local unsigned rf_inside_early;

static struct rf_thread main_thread;
static pthread_key_t ending;
static pid_t owner;
static bool begun;
static rf_adapter_rank *adapter_rank; /* NULL: the launcher has told the number of this process */
static rf_adapter_ends *adapter_ends; /* or NULL */
static bool wanted_first;

uintptr_t rf_pages[RF_PAGES];

bool rf_page_learn(uintptr_t address) {
    uintptr_t page = address >> 12;
    if (rf_self)
        rf_self->inside++;
    bool internal = rf_address_of(address)->internal;
    if (rf_self)
        rf_self->inside--;
    __atomic_store_n(&rf_pages[page % RF_PAGES], page << 1 | internal, __ATOMIC_RELAXED);
    return internal;
}

rf_adapter_differs *rf_find_adapter(void) {
    static rf_adapter_differs *found;
    static bool asked;
    if (!asked) {
        void *symbol = dlsym(RTLD_DEFAULT, RF_ADAPTER_DIFFERS);
        /* What it would say of a failure lies in the program's heap: told once, it is freed, always
           at the same time. */
        dlerror();
        dlerror();
        memcpy(&found, &symbol, sizeof found);
        asked = true;
    }
    return found;
}

static void tell_adapter_of_end(int signal) {
    if (adapter_ends)
        adapter_ends(signal);
}

/* Programs that take signals to print something let them go when they have. */
static bool ends_process(int signal) {
    static const int deadly[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
    struct sigaction now;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        if (signal == deadly[i])
            return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
    return signal == SIGKILL;
}

void rf_threads_raise(int signal) {
    if (ends_process(signal))
        tell_adapter_of_end(signal);
}

/* A difference was found, by this thread or by another one. */
static int differs;
static _Thread_local bool differs_here;

_Noreturn void rf_threads_differ(const char *function, uintptr_t address,
                                 const struct rf_call *expected, const char *text) {
    if (!__atomic_exchange_n(&differs, 1, __ATOMIC_ACQ_REL)) {
        differs_here = true;
        rf_adapter_differs *adapter = rf_find_adapter();
        rf_threads.on = false; /* the end is ours */
        struct rf_here here = {function, 0, address};
        if (adapter)
            adapter(function, address, expected, rf_threads.rank, text);
        else
            rf_diverge_from(&rf_the_session, address ? &here : NULL, expected, text);
    }
    for (;;) /* another thread was first */
        pause();
}

static void copy_variable(char *to, size_t size, const char *name) {
    const char *value = getenv(name);
    snprintf(to, size, "%s", value ? value : "");
}

/* Launchers tell each process which rank it will be, and we one that runs alone. */
static int find_rank(void) {
    static const char *const names[] = {"REFRAIN_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "PMIX_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return (int)strtol(value, NULL, 10);
    }
    return 0;
}

/* Where only one thread ever called, as in most programs that ask for all of MPI's thread support,
   there is no order to follow; but a rank alone on the contents of its recording makes the calls
   that it made there. A log that cannot be read will be complained about. */
static bool is_to_be_replayed(void) {
    struct rf_error ignored = {0};
    if (!rf_thread_log_exist(rf_threads.trace, rf_threads.rank))
        return false;
    struct rf_thread_log *log = rf_thread_log_open(rf_threads.trace, rf_threads.rank, &ignored);
    const char *scheme = getenv("REFRAIN_SCHEME");
    bool alone = log && rf_thread_log_threads(log) <= 1 && !rf_thread_log_head(log)->teams &&
                 !getenv("REFRAIN_VALUES") && !(scheme && strcmp(scheme, "data") == 0);
    rf_thread_log_close(log);
    return !alone;
}

static void find_in_adapter(const char *name, void *function) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    dlerror();
    dlerror();
    memcpy(function, &symbol, sizeof symbol);
}

static enum rf_thread_order order_of(const char *name) {
    return strcmp(name, "rolt") == 0              ? RF_ORDER_ROLT
           : strcmp(name, "rolt-no-unlocks") == 0 ? RF_ORDER_ROLT_UNLOCKS
           : strcmp(name, "rolt-no-joins") == 0   ? RF_ORDER_ROLT_JOINS
           : strcmp(name, "every") == 0           ? RF_ORDER_EVERY
                                                  : RF_ORDER_EDGES;
}

static void forget_in_child(void);

static void look(void) {
    const char *mode = getenv("REFRAIN_MODE");
    const char *order = getenv("REFRAIN_THREADS");
    rf_reals_find();
    rf_threads.passes = true;
    if (mode) {
        /* Nodes of MCAPI are made when the program runs, and a process may have threads before. */
        find_in_adapter(RF_ADAPTER_RANK, &adapter_rank);
        find_in_adapter(RF_ADAPTER_ENDS, &adapter_ends);
    }
    if (!mode || (strcmp(mode, "record") != 0 && strcmp(mode, "replay") != 0 &&
                  strcmp(mode, "alone") != 0)) {
        rf_threads.unlocks = false;
        return;
    }
    pthread_atfork(NULL, NULL, forget_in_child);
    rf_threads.replays = strcmp(mode, "record") != 0;
    rf_threads.order = order ? order_of(order) : RF_ORDER_EDGES;
    rf_threads.unlocks = rf_threads.replays || rf_unlocks_tick();
    rf_threads.rank = adapter_rank ? -1 : find_rank();
    if (adapter_rank)
        rf_lineage_watch();
    copy_variable(rf_threads.trace, sizeof rf_threads.trace, "REFRAIN_TRACE");
    copy_variable(rf_threads.run, sizeof rf_threads.run, "REFRAIN_RUN");
    /* Whether a process without a number has anything to follow shows when it begins. */
    rf_threads.wanted = !rf_threads.replays ? order && *order : adapter_rank || is_to_be_replayed();
    wanted_first = rf_threads.wanted;
    rf_threads.unasked = !rf_threads.replays && !rf_threads.wanted;
    rf_threads.plain = !rf_find_adapter();
    rf_threads.races = rf_threads.replays && rf_races_begin(rf_threads.rank, rf_threads.run);
}

/* Constructors of other libraries may come first, create threads and ask for values; some even
   before there are variables. */
__attribute__((constructor)) void rf_threads_look(void) {
    static bool looked;
    if (looked || !environ)
        return;
    looked = true;
    look();
}

/* In a child the handlers run in the order in which they were registered. Those of the program may
   take locks there, in the child's name and not in that of the recorded thread: ours comes first.
 */
RF_HOOK int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                              void *module);

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                      void *module) {
    rf_threads_look();
    return rf_real()->__register_atfork(prepare, parent, child, module);
}

static void complain(const struct rf_error *error) {
    fprintf(stderr, "refrain: rank %d: threads are not recorded: %s\n", rf_threads.rank,
            error->text);
}

/* ---- threads ---- */

static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool begin_replay_of(struct rf_thread *self) {
    if (!rf_thread_log_begin(rf_threads.turns, self->number, &self->cursor))
        return false;
    self->place = &rf_threads.places->place[self->number];
    self->recorded = rf_thread_log_recorded(rf_threads.turns, self->cursor.record);
    self->ended = self->cursor.record->state == RF_THREAD_ENDED;
    self->place->recorded = self->recorded;
    rf_replay_next(self);
    rf_rolt_show(self);
    self->place->state = RF_PLACE_RUNS;
    return true;
}

struct rf_thread *rf_thread_new(struct rf_thread *parent, uint32_t number) {
    struct rf_thread *self = map(sizeof *self);
    if (!self)
        return NULL;
    self->number = number;
    self->clock = rf_rolt_first(parent);
    bool good;
    if (rf_threads.replays) {
        good = begin_replay_of(self);
    } else {
        good = number < RF_THREAD_LOG_THREADS && rf_log_begin(self, parent->number);
        if (good)
            __atomic_store_n(&rf_threads.records[number], self->record, __ATOMIC_RELEASE);
    }
    if (good)
        return self;
    munmap(self, sizeof *self);
    return NULL;
}

/* Destructors of the program's own keys still take turns, so it ends after several rounds. */
static void end_thread(void *argument) {
    struct rf_thread *self = argument;
    if (++self->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(ending, self);
        return;
    }
    if (!rf_threads.on || getpid() != owner)
        return;
    if (rf_joins_tick() && !self->free)
        rf_tick(self, RF_OP_THREAD_EXIT, 0, (void *)pthread_self());
    self->inside++;
    if (rf_threads.replays) {
        rf_replay_end(self);
    } else {
        rf_log_check(self);
        __atomic_store_n(&self->record->state, RF_THREAD_ENDED, __ATOMIC_RELEASE);
    }
    rf_self = NULL;
    rf_anybody = &rf_nobody;
    rf_inside_early++; /* what its last destructors do is nobody's */
    if (self != &main_thread)
        munmap(self, sizeof *self);
}

void rf_thread_enter(struct rf_thread *self) {
    if (self->place)
        self->place->task = (int32_t)syscall(SYS_gettid);
    rf_self = rf_anybody = self;
    self->other = rf_threads.replays || rf_threads.order != RF_ORDER_EDGES || !rf_threads.plain;
    if (rf_threads.handles)
        rf_threads.handles[self->number] = pthread_self();
    self->inside += rf_inside_early;
    rf_inside_early = 0;
    self->inside++;
    pthread_setspecific(ending, self);
    if (rf_threads.races)
        rf_races_thread(self);
    self->inside--;
}

/* ---- the session of a program without message passing ---- */

/* A replay that comes to the recorded crash lets the other threads come to where they were. One
   that crashes before that differs, which the command line sees. */
static void note_signal(int number) {
    if (rf_the_session.recorder.on)
        rf_recorder_cut_off(&rf_the_session.recorder, number);
    if (rf_the_session.mode != RF_REPLAYING || !rf_is_crash(number) ||
        (rf_self && !rf_self->free && !rf_turn_cut(rf_self)))
        return;
    rf_the_session.replayer.progress->signal = (uint32_t)number;
    rf_replay_await_others(rf_self);
}

static bool open_record(struct rf_error *error) {
    struct rf_node node = {.rank = 0, .size = 1, .pid = getpid()};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    node.started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    gethostname(node.host, sizeof node.host - 1);
    strncpy(node.adapter, "threads", sizeof node.adapter - 1);
    strncpy(node.library, "POSIX threads", sizeof node.library - 1);
    strncpy(node.scheme, "order", sizeof node.scheme - 1);
    if (!rf_recorder_open(&rf_the_session.recorder, rf_threads.trace, &node, error))
        return false;
    rf_the_session.mode = RF_RECORDING;
    rf_signals_look();
    rf_signals_watch(note_signal);
    return true;
}

static void stop_process(int code) {
    _exit(code);
}

static bool open_replay(struct rf_error *error) {
    rf_the_session.stop = stop_process;
    if (!rf_replay_open(&rf_the_session.replayer, rf_threads.trace,
                        *rf_threads.run ? rf_threads.run : NULL, 0, error))
        return false;
    rf_the_session.mode = RF_REPLAYING;
    rf_the_session.replayer.progress->state = RF_STATE_RUNNING;
    rf_the_session.replayer.progress->size = 1;
    rf_signals_look();
    rf_signals_watch(note_signal);
    return true;
}

/* ---- beginning and end ---- */

/* How many operations a thread had done when another one called exit(), or when the recording of a
   program without messages was cut off, which was before that. */
static uint64_t had_done(const struct rf_thread_log_thread *record) {
    bool cut = rf_threads.plain && !rf_thread_log_head(rf_threads.turns)->finished;
    return cut ? rf_thread_log_recorded(rf_threads.turns, record) : record->at_exit;
}

bool rf_threads_others_done(void) {
    for (uint32_t i = 0; i < rf_threads.places->count; i++) {
        const struct rf_thread_log_thread *record = rf_thread_log_thread(rf_threads.turns, i);
        if (record && rf_self != NULL && i != rf_self->number && !rf_threads.places->free &&
            rf_threads.places->place[i].done < had_done(record))
            return false;
    }
    return true;
}

/* What the threads had done when one of them called exit() they do before it in a replay as well.
 */
void rf_threads_await_others(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    rf_turn_wake(self);
    rf_turn_blocks(self, what, address);
    while (!rf_threads_others_done())
        rf_nap(200000);
}

bool rf_threads_are_ours(void) {
    return getpid() == owner;
}

/* The OpenMP of Clang and of Intel's compilers, whose calls are not hooked: is it loaded? */
static bool has_other_openmp(void) {
    static const char *const names[] = {"libomp.so.5", "libomp.so", "libiomp5.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) {
            dlclose(library);
            return true;
        }
    }
    return dlsym(RTLD_DEFAULT, "__kmpc_fork_call") != NULL; /* linked into the program */
}

void rf_unseen(uint32_t what) {
    struct rf_thread_log_head *head = rf_threads.head;
    if (head && !(__atomic_load_n(&head->unseen, __ATOMIC_RELAXED) & what))
        __atomic_fetch_or(&head->unseen, what, __ATOMIC_RELAXED);
}

int rf_python(uintptr_t address) {
    const char *module = rf_name_of(rf_address_of(address)->module.path);
    const char *name = strncmp(module, "lib", 3) == 0 ? module + 3 : module;
    return strncmp(name, "python3.", 8) == 0 ? (int)strtol(name + 8, NULL, 10) : 0;
}

/* Message-passing libraries have threads of their own, some of which call what is not in the list
   of their parts. */
void rf_stranger_calls(uintptr_t address) {
    if (rf_threads.on && !rf_threads.replays && rf_threads.plain && !rf_self && !rf_inside_early &&
        !rf_is_internal(address))
        rf_unseen(RF_UNSEEN_STRANGERS);
}

/* C++'s library waits for what is certain to come, std::future, but not if the time is limited. */
void rf_futex_used(uintptr_t address, bool limited) {
    if (rf_here() && !rf_threads.replays && !rf_is_internal(address) &&
        (limited || strncmp(rf_name_of(rf_address_of(address)->module.path), "libstdc++", 9) != 0))
        rf_unseen(RF_UNSEEN_FUTEX);
}

static void end_record(int status) {
    struct rf_thread_log_head *head = rf_threads.head;
    if (has_other_openmp())
        head->unseen |= RF_UNSEEN_OPENMP;
    if (!rf_threads.stopped) {
        if (rf_self)
            rf_log_check(rf_self);
        rf_log_count_all();
        __atomic_store_n(&head->finished, rf_self ? rf_self->number + 1 : UINT32_MAX,
                         __ATOMIC_RELEASE);
    }
    if (rf_threads.plain)
        rf_recorder_close(&rf_the_session.recorder, RF_END_FINALIZE, status);
}

static void end_replay(int status) {
    struct rf_thread *self = rf_self;
    struct rf_here here = {"exit", 0, 0};
    bool within = self && self->inside > 1; /* a call, whose turn is counted when it is over */
    if (within)
        tell_adapter_of_end(0);
    if (self && !self->free) {
        if (self->done + within < had_done(self->cursor.record))
            rf_turn_differs(self, RF_OP_EXIT, 0, "the program ends before its recording does");
        rf_threads_await_others(self, RF_OP_EXIT, 0);
    }
    if (!rf_threads.plain)
        return;
    rf_replay_finish(&rf_the_session, &here, RF_END_FINALIZE, status);
    rf_the_session.replayer.progress->state = RF_STATE_FINISHED;
}

static void end_at_exit(int status, void *unused) {
    (void)unused;
    static int ended;
    if (getpid() != owner)
        return;
    while (__atomic_load_n(&differs, __ATOMIC_ACQUIRE) && !differs_here)
        pause(); /* until that is told */
    if ((!rf_threads.on && !rf_threads.stopped) || __atomic_exchange_n(&ended, 1, __ATOMIC_RELAXED))
        return;
    if (rf_self)
        rf_self->inside++;
    if (rf_threads.replays)
        end_replay(status);
    else
        end_record(status);
    if (rf_self)
        rf_self->inside--;
}

/* An end without the handlers of exit() is an end all the same. */
RF_HOOK void _exit(int status) {
    end_at_exit(status, NULL);
    rf_real()->_exit(status);
    __builtin_unreachable();
}

RF_HOOK void abort(void) {
    rf_threads_raise(SIGABRT);
    rf_real()->abort();
    __builtin_unreachable();
}

RF_HOOK void quick_exit(int status) {
    end_at_exit(status, NULL);
    rf_real()->quick_exit(status);
    __builtin_unreachable();
}

RF_HOOK void _Exit(int status) {
    end_at_exit(status, NULL);
    rf_real()->_Exit(status);
    __builtin_unreachable();
}

/* A child made by fork is not the recorded process. */
static void forget_in_child(void) {
    if (!owner)
        return;
    rf_threads.on = rf_threads.wanted = rf_threads.unasked = false;
    rf_self = NULL;
    rf_anybody = &rf_nobody;
    if (rf_the_session.mode == RF_RECORDING)
        rf_recorder_abandon(&rf_the_session.recorder);
    rf_the_session.mode = RF_OFF;
    /* But it may become a node. */
    if (!adapter_rank)
        return;
    pthread_setspecific(ending, NULL);
    rf_log_forget();
    memset(&main_thread, 0, sizeof main_thread);
    rf_threads.rank = -1;
    rf_threads.wanted = wanted_first;
    begun = false;
}

/* What is to be done at a fork is not done by this one. */
RF_HOOK pid_t _Fork(void) {
    pid_t child = rf_real()->_Fork();
    if (child == 0)
        forget_in_child();
    return child;
}

static bool begin_record(struct rf_error *error) {
    struct rf_thread *self = &main_thread;
    rf_threads.slots = map(sizeof *rf_threads.slots << RF_TURN_SLOT_BITS);
    rf_threads.records = map(sizeof *rf_threads.records * RF_THREAD_LOG_THREADS);
    rf_threads.locks = map(sizeof *rf_threads.locks << RF_LOCK_BITS);
    rf_threads.handles = map(sizeof *rf_threads.handles * RF_THREAD_LOG_THREADS);
    if (!rf_threads.slots || !rf_threads.records || !rf_threads.locks || !rf_threads.handles)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "no memory for the order of threads");
    if (!rf_log_open(error))
        return false;
    rf_threads.head->threads = 1;
    if (!rf_log_begin(self, 0))
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "no room for the log of threads");
    rf_threads.records[0] = self->record;
    return !rf_threads.plain || open_record(error);
}

static struct rf_places *open_places(uint32_t count) {
    char path[sizeof rf_threads.run + 32];
    size_t bytes = sizeof(struct rf_places) + count * sizeof(struct rf_place);
    if (!*rf_threads.run)
        return map(bytes);
    snprintf(path, sizeof path, "%s/rank-%d.threads", rf_threads.run, rf_threads.rank);
    /* Only the first process that asks is the recorded one. */
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    void *mapped = file >= 0 && ftruncate(file, (off_t)bytes) == 0
                       ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                       : MAP_FAILED;
    if (file >= 0)
        close(file);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* Is this the program that was recorded, and not one that leads to it? */
static bool is_recorded_program(void) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return strcmp(rf_name_of(path), rf_name_of(rf_thread_log_head(rf_threads.turns)->program)) == 0;
}

static bool begin_replay(struct rf_error *error) {
    rf_threads.turns = rf_thread_log_open(rf_threads.trace, rf_threads.rank, error);
    if (!rf_threads.turns)
        return false;
    uint32_t count = rf_thread_log_threads(rf_threads.turns);
    rf_threads.order = (enum rf_thread_order)rf_thread_log_head(rf_threads.turns)->order;
    if (!is_recorded_program() || !(rf_threads.places = open_places(count ? count : 1)))
        return false;
    rf_threads.places->rank = rf_threads.rank;
    rf_threads.places->pid = getpid();
    rf_threads.places->count = count;
    rf_threads.places->clocks = rf_clocks();
    __atomic_store_n(&rf_threads.places->magic, RF_PLACES_MAGIC, __ATOMIC_RELEASE);
    if (rf_threads.plain && !open_replay(error))
        return false;
    return begin_replay_of(&main_thread);
}

/* This process, by its id and its name, for the closing lines. */
static void leave_note(const char *kind) {
    char path[sizeof rf_threads.trace + 32], text[4096 + 32];
    snprintf(path, sizeof path, "%s/rank-%d.%s", rf_threads.trace, rf_threads.rank, kind);
    int begin = snprintf(text, sizeof text, "%d ", (int)getpid());
    ssize_t length = readlink("/proc/self/exe", text + begin, 4096);
    int file = length > 0 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (file < 0)
        return;
    text[begin + length] = '\n';
    if (write(file, text, (size_t)(begin + length + 1)) < 0)
        unlink(path);
    close(file);
}

void rf_threads_unasked(void) {
    int before = errno;
    rf_threads.unasked = false;
    leave_note("unordered");
    errno = before;
}

/* Is anything of this process recorded, or to be replayed? Before it has a node it is known by its
   lineage. */
static bool has_part(void) {
    rf_threads.rank = adapter_rank();
    if (!rf_threads.replays)
        return true;
    if (rf_threads.rank < 0)
        rf_threads.rank = rf_lineage_read(rf_threads.trace);
    return rf_threads.rank >= 0 && is_to_be_replayed();
}

void rf_threads_named(int rank) {
    static int lock;
    if (!adapter_rank || rf_threads.replays)
        return;
    rf_lock(&lock);
    if (rf_threads.rank < 0 && rf_threads.on)
        rf_log_name(rank);
    else if (rf_threads.rank < 0) {
        rf_threads.rank = rank;
        leave_note("others");
    }
    rf_unlock(&lock);
}

void rf_threads_begin(void) {
    if (begun || !rf_threads.wanted)
        return;
    begun = true;
    if (adapter_rank && !has_part()) {
        rf_threads.wanted = false;
        return;
    }
    struct rf_error error = {0};
    errno = 0; /* which may be the program's */
    if (!(rf_threads.replays ? begin_replay(&error) : begin_record(&error))) {
        /* Another process of the same rank may have its log there already. */
        if (error.code && errno != EEXIST)
            complain(&error);
        else if (!rf_threads.replays && rf_threads.rank >= 0)
            leave_note("others"); /* it was first */
        if (error.code == RF_EXIT_TRACE)
            _exit(RF_EXIT_TRACE);
        return;
    }
    owner = getpid();
    static bool prepared; /* by the parent of this process */
    if (!prepared) {
        prepared = true;
        pthread_key_create(&ending, end_thread);
        on_exit(end_at_exit, NULL);
    }
    rf_threads.on = true;
    rf_threads.passes = false;
    rf_thread_enter(&main_thread);
}
