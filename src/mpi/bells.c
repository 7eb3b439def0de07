#include "mpi/bells.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi/adapter.h"

static struct rf_bell *bells; /* one per rank of MPI_COMM_WORLD, or NULL */
static struct rf_bell *mine;
static int ranks;

/* Ranks in MPI_COMM_WORLD of the peers in another communicator, made when it is first sent in. */
struct peers {
    MPI_Comm comm;
    struct peers *next;
    int count;
    int world[];
};
static struct peers *known_peers;
static int peers_lock; /* where threads may call at the same time */

static void lock(void) {
    if (rf_the_session.concurrent)
        rf_lock(&peers_lock);
}

static void unlock(void) {
    if (rf_the_session.concurrent)
        rf_unlock(&peers_lock);
}

/* Whom posted receives wait for. One that pushes out another costs that one a ring, no more. */
#define EXPECTED 1024u
static struct {
    MPI_Request request;
    struct rf_bell_wait wait;
} expected[EXPECTED];

void rf_bells_open(const char *run, int rank, int size) {
    char path[4096];
    if (!run || snprintf(path, sizeof path, "%s/bells", run) >= (int)sizeof path)
        return;
    size_t bytes = (size_t)size * sizeof *bells;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    void *map = MAP_FAILED;
    if (ftruncate(file, (off_t)bytes) == 0)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map == MAP_FAILED)
        return;
    bells = map;
    mine = &bells[rank];
    ranks = size;
}

static uint32_t coded(struct rf_bell_wait wait) {
    return (uint32_t)(wait.owner + 1) << 2 | wait.reason;
}

uint32_t rf_bell_listen(struct rf_bell_wait wait) {
    if (!mine)
        return 0;
    uint32_t heard = __atomic_load_n(&mine->rung, __ATOMIC_ACQUIRE);
    /* Threads that wait at the same time share a bell. */
    if (rf_the_session.concurrent)
        wait = RF_BELL_ANYBODY;
    __atomic_store_n(&mine->asleep, coded(wait), __ATOMIC_SEQ_CST);
    return heard;
}

bool rf_bell_sleep(uint32_t heard, long nanoseconds) {
    struct timespec time = {.tv_nsec = nanoseconds};
    if (!mine) {
        nanosleep(&time, NULL);
        return false;
    }
    syscall(SYS_futex, &mine->rung, FUTEX_WAIT, heard, &time, NULL, 0);
    __atomic_store_n(&mine->asleep, 0, __ATOMIC_RELAXED);
    return __atomic_load_n(&mine->rung, __ATOMIC_ACQUIRE) != heard;
}

static struct peers *learn(MPI_Comm comm) {
    MPI_Group group, world;
    int between, count;
    rf_library.Comm_test_inter(comm, &between);
    (between ? rf_library.Comm_remote_group : rf_library.Comm_group)(comm, &group);
    rf_library.Comm_group(MPI_COMM_WORLD, &world);
    rf_library.Group_size(group, &count);
    struct peers *peers = malloc(sizeof *peers + (size_t)count * sizeof *peers->world);
    int *places = malloc((size_t)count * sizeof *places);
    if (peers && places) {
        for (int i = 0; i < count; i++)
            places[i] = i;
        rf_library.Group_translate_ranks(group, count, places, world, peers->world);
        peers->comm = comm;
        peers->count = count;
        peers->next = known_peers;
        known_peers = peers;
    } else {
        free(peers);
        peers = NULL;
    }
    free(places);
    rf_library.Group_free(&group);
    rf_library.Group_free(&world);
    return peers;
}

int rf_bell_owner(MPI_Comm comm, int peer, bool known) {
    if (!bells || peer < 0)
        return RF_ANYBODY;
    int rank = peer;
    if (comm != MPI_COMM_WORLD) {
        lock();
        struct peers *peers = known_peers;
        while (peers && peers->comm != comm)
            peers = peers->next;
        if (!peers && known)
            peers = learn(comm);
        rank = peers && peer < peers->count ? peers->world[peer] : -1;
        unlock();
    }
    return rank >= 0 && rank < ranks ? rank : RF_ANYBODY;
}

static uint32_t place_of(MPI_Request request) {
    return (uint32_t)(rf_handle_hash(rf_request_key(request)) >> 32) % EXPECTED;
}

/* Threads that wait at the same time share a bell, and each must hear what the other waits for. */
void rf_bell_expect(MPI_Request request, MPI_Comm comm, int peer, enum rf_bell_reason reason) {
    if (!bells || rf_the_session.concurrent)
        return;
    uint32_t place = place_of(request);
    expected[place].request = request;
    expected[place].wait = (struct rf_bell_wait){rf_bell_owner(comm, peer, true), reason};
}

struct rf_bell_wait rf_bell_expected(MPI_Request request) {
    uint32_t place = place_of(request);
    if (!bells || expected[place].request != request)
        return RF_BELL_ANYBODY;
    struct rf_bell_wait wait = expected[place].wait;
    expected[place].wait = RF_BELL_ANYBODY;
    return wait;
}

/* Does a rank that sleeps like this wait for that of the calling one? */
static bool waits_for(uint32_t asleep, enum rf_bell_reason reason) {
    int owner = (int)(asleep >> 2) - 1;
    if (owner == RF_ANYBODY)
        return asleep != 0;
    return owner == mine - bells && (asleep & reason) != 0;
}

void rf_bell_ring(int owner, enum rf_bell_reason reason) {
    if (owner == RF_ANYBODY || (&bells[owner] == mine && !rf_the_session.concurrent))
        return;
    struct rf_bell *bell = &bells[owner];
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the message first, then the look */
    uint32_t asleep = __atomic_load_n(&bell->asleep, __ATOMIC_RELAXED);
    if (!waits_for(asleep, reason))
        return;
    if (!__atomic_compare_exchange_n(&bell->asleep, &asleep, 0, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return;
    __atomic_add_fetch(&bell->rung, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &bell->rung, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void rf_bells_forget(MPI_Comm comm) {
    lock();
    struct peers **place = &known_peers;
    while (*place && (*place)->comm != comm)
        place = &(*place)->next;
    struct peers *gone = *place;
    if (gone)
        *place = gone->next;
    unlock();
    free(gone);
}
