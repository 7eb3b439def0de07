#include "supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch.h"
#include "messages.h"
#include "places.h"
#include "processes.h"
#include "ranks.h"
#include "text.h"

/* Who was ended by another one may be again; a moment is left for that. */
static const double LEFT_SECONDS = 0.5;
/* Who ends the job waits no longer for others that play nothing. */
static const double IDLE_SECONDS = 3;
/* The longest time that may lie between two looks at the ranks. When more has gone by, this process
   was stopped meanwhile (Ctrl-Z), and the ranks with it: that was no waiting. */
static const double LOOK_SECONDS = 0.5;

/* A launcher that was told to end, and its ranks, have this long. Open MPI's takes a second or two.
 */
static const double ENDING_SECONDS = 5;

/* A rank that attached. */
struct watched {
    int rank;
    struct rf_progress *shared;
    const struct rf_places *threads; /* or NULL */
    bool borrowed;                   /* they are those of another node in the same process */
};

struct watch {
    struct watched *list;
    size_t count;
    size_t next; /* whose threads are looked for */
    char host[64];
    int first_diverged; /* rank, -1: none so far */
};

static struct rf_progress *map_progress(const char *directory, const char *name) {
    char *path = rf_text("%s/%s", directory, name);
    int file = open(path, O_RDWR | O_CLOEXEC);
    free(path);
    struct stat facts;
    void *map = MAP_FAILED;
    if (file >= 0 && fstat(file, &facts) == 0 && facts.st_size >= (off_t)sizeof(struct rf_progress))
        map = mmap(NULL, sizeof(struct rf_progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (map == MAP_FAILED)
        return NULL;
    struct rf_progress *progress = map;
    /* Not written yet: come back in the next round. */
    if (__atomic_load_n(&progress->magic, __ATOMIC_ACQUIRE) != RF_PROGRESS_MAGIC) {
        munmap(map, sizeof(struct rf_progress));
        return NULL;
    }
    return progress;
}

/* Looks for ranks that attached since the last time. */
static void discover(struct watch *watch, const char *run) {
    if (watch->count && watch->count == (size_t)watch->list[0].shared->size)
        return;
    DIR *entries = opendir(run);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        int rank, end = 0;
        if (sscanf(entry->d_name, "rank-%d.progress%n", &rank, &end) != 1 || !end ||
            entry->d_name[end])
            continue;
        size_t place = 0;
        while (place < watch->count && watch->list[place].rank < rank)
            place++;
        if (place < watch->count && watch->list[place].rank == rank)
            continue;
        struct rf_progress *shared = map_progress(run, entry->d_name);
        if (!shared)
            continue;
        watch->list = rf_grow(watch->list, watch->count, sizeof *watch->list);
        memmove(watch->list + place + 1, watch->list + place,
                (watch->count - place) * sizeof *watch->list);
        watch->list[place] = (struct watched){.rank = rank, .shared = shared};
        watch->count++;
    }
    if (entries)
        closedir(entries);
}

static bool any_diverged(struct watch *watch) {
    for (size_t i = 0; i < watch->count && watch->first_diverged < 0; i++)
        if (__atomic_load_n(&watch->list[i].shared->state, __ATOMIC_ACQUIRE) == RF_STATE_DIVERGED)
            watch->first_diverged = watch->list[i].rank;
    return watch->first_diverged >= 0;
}

/* Nodes of MCAPI may be threads of one process. */
static const struct rf_places *places_of_process(const struct watch *watch,
                                                 const struct rf_progress *rank) {
    for (size_t i = 0; i < watch->count; i++) {
        const struct watched *other = &watch->list[i];
        if (other->threads && !other->borrowed && other->shared->pid == rank->pid &&
            strcmp(other->shared->host, rank->host) == 0)
            return other->threads;
    }
    return NULL;
}

/* Threads show where they stand as soon as there is more than one. Of ten thousand ranks not all
   are asked every time. */
static void discover_threads(struct watch *watch, const char *run) {
    enum { AT_ONCE = 1000 };
    for (size_t i = 0; i < watch->count && i < AT_ONCE; i++) {
        struct watched *rank = &watch->list[watch->next++ % watch->count];
        if (rank->threads && !rank->borrowed)
            continue;
        const struct rf_places *own = rf_places_map(run, rank->rank);
        rank->borrowed = !own;
        rank->threads = own ? own : places_of_process(watch, rank->shared);
    }
}

static bool waits(const struct watched *rank) {
    return rank->threads
               ? rf_places_still(rank->threads) && rank->shared->state != RF_STATE_FINISHED
               : rank->shared->state == RF_STATE_WAITING;
}

static bool is_here(const struct watch *watch, const struct rf_progress *rank) {
    return strcmp(rank->host, watch->host) == 0;
}

static bool is_gone(const struct watch *watch, const struct rf_progress *rank) {
    return is_here(watch, rank) && rf_process_gone(rank->pid);
}

/* Does nobody get on by himself: each rank waits for another, has finished, or is gone? */
static bool all_wait(const struct watch *watch) {
    bool waiting = false;
    for (size_t i = 0; i < watch->count; i++) {
        const struct rf_progress *rank = watch->list[i].shared;
        if (waits(&watch->list[i]))
            waiting = true;
        else if (rank->state != RF_STATE_FINISHED && !is_gone(watch, rank))
            return false;
    }
    return waiting;
}

/* Has everybody come to an end, some of them at the end of a recording that was cut off? */
static bool all_left(const struct watch *watch) {
    bool left = false;
    for (size_t i = 0; i < watch->count; i++) {
        const struct rf_progress *rank = watch->list[i].shared;
        left = left || rank->state == RF_STATE_LEFT;
        if (rank->state != RF_STATE_LEFT && rank->state != RF_STATE_FINISHED &&
            !is_gone(watch, rank))
            return false;
    }
    return left;
}

/* Changes whenever any rank gets on. What one does that runs free is seen by the time it uses. */
static uint64_t movement(const struct watch *watch) {
    uint64_t sum = watch->count;
    for (size_t i = 0; i < watch->count; i++) {
        const struct watched *rank = &watch->list[i];
        sum += rank->shared->calls + rank->shared->played;
        if (rank->threads)
            sum += rf_places_movement(rank->threads);
        if (rank->threads && rank->threads->free && strcmp(rank->shared->host, watch->host) == 0)
            sum += rf_process_time(rank->shared->pid);
    }
    return sum;
}

/* Processor time that the threads of all ranks have used. */
static uint64_t time_used(const struct watch *watch) {
    uint64_t sum = 0;
    for (size_t i = 0; i < watch->count; i++)
        if (watch->list[i].threads && is_here(watch, watch->list[i].shared))
            sum += rf_process_time(watch->list[i].shared->pid);
    return sum;
}

/* It has no threads to be looked at, and is in no call. */
static bool is_outside(const struct watch *watch, const struct watched *rank) {
    enum rf_state state = rank->shared->state;
    return !rank->threads && !rank->shared->windows &&
           (state == RF_STATE_STARTING || state == RF_STATE_RUNNING) && !rank->shared->ending &&
           is_here(watch, rank->shared) && !is_gone(watch, rank->shared);
}

static uint64_t time_used_outside(const struct watch *watch) {
    uint64_t sum = 0;
    for (size_t i = 0; i < watch->count; i++)
        if (is_outside(watch, &watch->list[i]))
            sum += rf_process_time(watch->list[i].shared->pid);
    return sum;
}

/* Threads wait, and who could get on does not: in a call that nobody sees, perhaps, or in a long
   computation. That is no reason to end the replay, but to say so. Where nobody waits for a turn it
   is one only if nobody computes, either. */
static void tell(const struct watch *watch, double seconds, bool idle) {
    struct rf_symbols *symbols = NULL;
    for (size_t i = 0; i < watch->count; i++) {
        const struct rf_places *threads = watch->list[i].threads;
        if (!threads || watch->list[i].borrowed ||
            !(rf_places_wait(threads) || (idle && rf_places_behind(threads))))
            continue;
        if (!symbols)
            rf_say("no thread has got on for %g second%s; the replay goes on", seconds,
                   seconds == 1 ? "" : "s");
        symbols = symbols ? symbols : rf_symbols_new();
        fprintf(stderr, "  rank %d\n", watch->list[i].rank);
        rf_places_print(threads, symbols, stderr);
    }
    if (symbols)
        rf_symbols_free(symbols);
}

/* A rank may compute for long, and it may sleep or read where it did not in the recording. */
static void tell_of_outside(const struct watch *watch, double seconds, bool idle) {
    int *ranks = rf_allocate(watch->count + 1, sizeof *ranks);
    size_t count = 0;
    bool others = false;
    for (size_t i = 0; i < watch->count; i++) {
        others = others || waits(&watch->list[i]);
        if (is_outside(watch, &watch->list[i]))
            ranks[count++] = watch->list[i].rank;
    }
    if (count && (others || idle)) {
        char *text = rf_ranks_text(ranks, count);
        rf_say("rank%s %s ha%s made no call for %g second%s%s%s; the replay goes on",
               rf_plural(count), text, count == 1 ? "s" : "ve", seconds, seconds == 1 ? "" : "s",
               idle ? " and used no processor time" : "", others ? ", and others wait" : "");
        free(text);
    }
    free(ranks);
}

/* Nor does a rank alone get on that waits, without a call, for what another one is to store. */
static void tell_of_windows(const struct watch *watch, double seconds) {
    for (size_t i = 0; i < watch->count; i++)
        if (watch->list[i].shared->windows && watch->list[i].shared->state == RF_STATE_RUNNING)
            rf_say("rank %d has made no call for %g second%s; if it watches the memory of a "
                   "window, alone that "
                   "changes only in calls; the replay goes on",
                   watch->list[i].rank, seconds, seconds == 1 ? "" : "s");
}

/* Nor does one end that has played all, but joins a thread that waits for a message, perhaps, which
   does not come to a rank alone. */
static void tell_of_finished(const struct watch *watch, double seconds) {
    for (size_t i = 0; i < watch->count; i++) {
        const struct rf_progress *rank = watch->list[i].shared;
        if (rank->state == RF_STATE_FINISHED && is_here(watch, rank) && !is_gone(watch, rank))
            rf_say("rank %d has played its recording to the end, but has not ended for %g "
                   "second%s since; the replay goes on",
                   watch->list[i].rank, seconds, seconds == 1 ? "" : "s");
    }
}

/* How long nothing has moved. */
struct stillness {
    double looked_at;
    uint64_t played; /* by all ranks, */
    double idle;     /* and seconds without more while one waits to end the job */
    double all;      /* seconds since any rank moved */
    double wait;     /* and since one might have */
    bool looked;     /* and half of the time for it is over: */
    uint64_t used, used_outside;
    bool told;
};

/* Has it played what was recorded of it? */
static bool has_come(const struct watch *watch, const struct watched *rank,
                     const struct rf_summary *summary) {
    const struct rf_rank_summary *recorded = rf_summary_rank(summary, rank->rank);
    return !recorded || rank->shared->ending || rank->shared->played >= recorded->played ||
           rank->shared->state == RF_STATE_FINISHED || rank->shared->state == RF_STATE_LEFT ||
           is_gone(watch, rank->shared);
}

/* Who is about to end the job may when the others have come to where they were then, or come no
   further: they wait for each other, or no event was played for long. */
static void let_end(const struct watch *watch, const struct rf_supervision *supervision,
                    struct stillness *still) {
    bool asked = false, come = true, stuck = still->all >= LEFT_SECONDS;
    uint64_t played = watch->count;
    for (size_t i = 0; i < watch->count; i++) {
        asked = asked || watch->list[i].shared->ending;
        played += watch->list[i].shared->played;
        if (has_come(watch, &watch->list[i], supervision->summary))
            continue;
        come = false;
        stuck = stuck && waits(&watch->list[i]);
    }
    if (!asked || played != still->played)
        still->idle = 0;
    still->played = played;
    bool attached = watch->count >= supervision->summary->count;
    bool may = (attached && (come || stuck)) || still->idle >= IDLE_SECONDS;
    for (size_t i = 0; asked && i < watch->count; i++)
        if (watch->list[i].shared->ending)
            watch->list[i].shared->may_end = may ? RF_MAY_END : RF_SEEN;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void look_again(struct stillness *still) {
    double time = now(), gone = time - still->looked_at;
    still->looked_at = time;
    still->all += gone < LOOK_SECONDS ? gone : LOOK_SECONDS;
    still->wait += gone < LOOK_SECONDS ? gone : LOOK_SECONDS;
    still->idle += gone < LOOK_SECONDS ? gone : LOOK_SECONDS;
}

/* A copy in which `current` was not being written meanwhile (unless the rank died writing it). */
static void copy_progress(struct rf_progress *copy, const struct rf_progress *shared) {
    for (int attempt = 0; attempt < 1000; attempt++) {
        uint32_t before = __atomic_load_n(&shared->current_version, __ATOMIC_ACQUIRE);
        memcpy(copy, (const void *)shared, sizeof *copy);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!(before & 1) && before == __atomic_load_n(&shared->current_version, __ATOMIC_ACQUIRE))
            return;
    }
}

static void keep(struct rf_supervision *supervision, const struct watch *watch) {
    free(supervision->ranks);
    supervision->ranks = rf_allocate(watch->count, sizeof *supervision->ranks);
    supervision->count = watch->count;
    for (size_t i = 0; i < watch->count; i++) {
        copy_progress(&supervision->ranks[i], watch->list[i].shared);
        if (watch->list[i].rank == watch->first_diverged)
            supervision->first_diverged = (int)i;
    }
}

/* Were we told to end, and the launcher with us, and it does not? */
static bool does_not_end(double *told_at) {
    int signal = rf_signal_seen();
    if (signal != SIGTERM && signal != SIGHUP)
        return false;
    *told_at = *told_at ? *told_at : now();
    return now() - *told_at >= ENDING_SECONDS;
}

/* A launcher may end before those that it has killed: who sees us end may look for them. */
static void let_ranks_end(const struct watch *watch) {
    enum { STEPS = 100 };
    const struct timespec step = {.tv_nsec = 10000000};
    bool left = true;
    for (int i = 0; i < STEPS && left; i++) {
        left = false;
        for (size_t j = 0; j < watch->count; j++)
            left = left || (is_here(watch, watch->list[j].shared) &&
                            !is_gone(watch, watch->list[j].shared));
        if (left)
            nanosleep(&step, NULL);
    }
}

/* Sleeps between two looks at the ranks, but not past the end of the launcher. */
static void wait_a_little(int child_handle) {
    struct pollfd end = {.fd = child_handle, .events = POLLIN};
    if (child_handle >= 0)
        poll(&end, 1, 100);
    else
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

static void forget(struct watch *watch) {
    for (size_t i = 0; i < watch->count; i++)
        if (!watch->list[i].borrowed)
            rf_places_unmap(watch->list[i].threads);
    for (size_t i = 0; i < watch->count; i++)
        munmap((void *)watch->list[i].shared, sizeof(struct rf_progress));
    free(watch->list);
}

void rf_supervise(struct rf_supervision *supervision, pid_t child) {
    int child_handle = (int)syscall(SYS_pidfd_open, child, 0); /* kernels before 5.3 have none */
    struct watch watch = {.first_diverged = -1};
    gethostname(watch.host, sizeof watch.host - 1);
    struct stillness still = {.looked_at = now()};
    double told_at = 0;
    uint64_t moved = 0;
    supervision->outcome = RF_OUTCOME_ENDED;
    for (;;) {
        pid_t ended = waitpid(child, &supervision->status, WNOHANG);
        discover(&watch, supervision->run);
        discover_threads(&watch, supervision->run);
        /* A rank that differs may have taken the launcher with it: look after the end as well. */
        if (any_diverged(&watch)) {
            supervision->outcome = RF_OUTCOME_DIVERGED;
            keep(supervision, &watch);
            if (ended != child)
                supervision->status = rf_stop_launcher(child);
            break;
        }
        if (ended == child || (ended < 0 && errno != EINTR)) {
            keep(supervision, &watch);
            /* A launcher that was killed has not looked after its ranks. */
            if (ended == child && WIFSIGNALED(supervision->status))
                rf_kill_descendants(child, &supervision->status);
            let_ranks_end(&watch);
            break;
        }
        uint64_t moving = movement(&watch);
        look_again(&still);
        bool left = moving == moved && all_left(&watch) && still.wait >= LEFT_SECONDS;
        if (left || does_not_end(&told_at)) {
            int status = 0;
            keep(supervision, &watch);
            rf_kill_descendants(child, &status);
            if (!left) /* else it says nothing of the program */
                supervision->status = status;
            break;
        }
        if (moving != moved)
            still = (struct stillness){
                .looked_at = still.looked_at, .played = still.played, .idle = still.idle};
        else if (!(all_wait(&watch) || all_left(&watch)))
            still.wait = 0;
        moved = moving;
        let_end(&watch, supervision, &still);
        if (supervision->stall_timeout > 0 && still.wait >= supervision->stall_timeout) {
            supervision->outcome = RF_OUTCOME_STALLED;
            keep(supervision, &watch);
            supervision->status = rf_stop_launcher(child);
            break;
        }
        if (!still.looked && still.all >= supervision->stall_timeout / 2) {
            still.looked = true;
            still.used = time_used(&watch);
            still.used_outside = time_used_outside(&watch);
        }
        if (supervision->stall_timeout > 0 && still.all >= supervision->stall_timeout &&
            still.wait == 0 && !still.told && !supervision->quiet) {
            tell(&watch, supervision->stall_timeout, time_used(&watch) == still.used);
            tell_of_outside(&watch, supervision->stall_timeout,
                            time_used_outside(&watch) == still.used_outside);
            tell_of_windows(&watch, supervision->stall_timeout);
            tell_of_finished(&watch, supervision->stall_timeout);
            still.told = true; /* once for each time */
        }
        wait_a_little(child_handle);
    }
    if (child_handle >= 0)
        close(child_handle);
    forget(&watch);
}

void rf_supervision_look(struct rf_supervision *supervision) {
    struct watch watch = {.first_diverged = -1};
    discover(&watch, supervision->run);
    supervision->outcome = any_diverged(&watch) ? RF_OUTCOME_DIVERGED : RF_OUTCOME_ENDED;
    keep(supervision, &watch);
    forget(&watch);
}

void rf_supervision_free(struct rf_supervision *supervision) {
    free(supervision->ranks);
}
