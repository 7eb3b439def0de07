/* Two processes exchange small messages: over a bare ring in shared memory, over POSIX message
   queues, over MCAPI. exchange HOW WHAT COUNT SIZE prints nanoseconds per message.

   HOW   ring, posix, messages (mcapi_msg), packets (mcapi_pktchan), scalars (mcapi_sclchan)
   WHAT  trip: there and back, one at a time; flow: one way, as fast as it goes */
#include <linux/futex.h>
#include <mcapi.h>
#include <mqueue.h>
#include <sched.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static size_t size;
static int me; /* 0 sends first, 1 answers */

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* ---- the bare ring: one sender, one receiver, nothing else; spins, then sleeps -------------- */

#define SLOTS 128u
#define SLOT_BYTES 64u
#define LOOKS 4000u
struct ring {
    alignas(64) uint32_t head;
    alignas(64) uint32_t tail;
    alignas(64) uint32_t asleep;
    alignas(64) unsigned char slots[SLOTS][SLOT_BYTES];
};
static struct ring *rings; /* to 1, to 0 */

/* Waits until *word is not `old` any more. */
static uint32_t ring_wait(struct ring *ring, uint32_t *word, uint32_t old) {
    for (;;) {
        for (unsigned i = 0; i < LOOKS; i++) {
            uint32_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
            if (value != old)
                return value;
            __builtin_ia32_pause();
        }
        struct timespec tick = {.tv_nsec = 1000000};
        __atomic_store_n(&ring->asleep, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, word, FUTEX_WAIT, old, &tick, NULL, 0);
    }
}

static void ring_store(struct ring *ring, uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    if (__atomic_load_n(&ring->asleep, __ATOMIC_RELAXED) &&
        __atomic_exchange_n(&ring->asleep, 0, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void ring_start(void) {
    rings =
        mmap(NULL, 2 * sizeof *rings, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rings == MAP_FAILED || size > SLOT_BYTES)
        fail("ring");
}

static void ring_send(const void *data) {
    static uint32_t tail, seen;
    struct ring *ring = &rings[me];
    if (tail - seen == SLOTS &&
        (seen = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE)) + SLOTS == tail)
        seen = ring_wait(ring, &ring->head, seen);
    memcpy(ring->slots[tail % SLOTS], data, size);
    ring_store(ring, &ring->tail, ++tail);
}

static void ring_receive(void *data) {
    static uint32_t head, seen;
    struct ring *ring = &rings[!me];
    if (seen == head)
        seen = ring_wait(ring, &ring->tail, head);
    memcpy(data, ring->slots[head % SLOTS], size);
    ring_store(ring, &ring->head, ++head);
}

/* ---- POSIX message queues ------------------------------------------------------------------ */

static mqd_t queues[2];

static void posix_start(void) {
    for (int i = 0; i < 2; i++) {
        char name[64];
        struct mq_attr attributes = {.mq_maxmsg = 10, .mq_msgsize = (long)size};
        snprintf(name, sizeof name, "/exchange-%d-%d", (int)getpid(), i);
        queues[i] = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
        if (queues[i] == (mqd_t)-1)
            fail("mq_open");
        mq_unlink(name);
    }
}

static void posix_send(const void *data) {
    if (mq_send(queues[me], data, size, 0))
        fail("mq_send");
}

static void posix_receive(void *data) {
    if (mq_receive(queues[!me], data, size, NULL) < 0)
        fail("mq_receive");
}

/* ---- MCAPI: messages, packets, scalars ------------------------------------------------------ */

static mcapi_endpoint_t mine, theirs;
static mcapi_pktchan_send_hndl_t out;
static mcapi_pktchan_recv_hndl_t in;

static void check(mcapi_status_t status, const char *what) {
    char name[MCAPI_MAX_STATUS_MSG_LEN];
    if (status == MCAPI_SUCCESS || status == MCAPI_PENDING)
        return;
    fprintf(stderr, "%s: %s\n", what, mcapi_display_status(status, name, sizeof name));
    exit(1);
}

static void nothing(void) {}

static void messages_begin(void) {
    mcapi_status_t status;
    mcapi_info_t info;
    mcapi_initialize(0, (mcapi_node_t)me, NULL, NULL, &info, &status);
    check(status, "initialize");
    mine = mcapi_endpoint_create(1, &status);
    check(status, "create");
    theirs = mcapi_endpoint_get(0, (mcapi_node_t)!me, 1, MCAPI_TIMEOUT_INFINITE, &status);
    check(status, "get");
}

static void messages_send(const void *data) {
    mcapi_status_t status;
    mcapi_msg_send(mine, theirs, data, size, 1, &status);
    check(status, "send");
}

static void messages_receive(void *data) {
    mcapi_status_t status;
    size_t received;
    mcapi_msg_recv(mine, data, size, &received, &status);
    check(status, "receive");
}

/* Port 2 sends, port 3 receives. */
static void channels_begin(int scalars) {
    mcapi_status_t status;
    mcapi_request_t request, requests[2];
    mcapi_request_t *both[2] = {&requests[0], &requests[1]};
    size_t ignored;
    messages_begin();
    mcapi_endpoint_t from = mcapi_endpoint_create(2, &status);
    mcapi_endpoint_t to = mcapi_endpoint_create(3, &status);
    mcapi_endpoint_t peer =
        mcapi_endpoint_get(0, (mcapi_node_t)!me, 3, MCAPI_TIMEOUT_INFINITE, &status);
    check(status, "get");
    (scalars ? mcapi_sclchan_connect_i : mcapi_pktchan_connect_i)(from, peer, &request, &status);
    check(status, "connect");
    mcapi_wait(&request, &ignored, MCAPI_TIMEOUT_INFINITE, &status);
    (scalars ? mcapi_sclchan_send_open_i : mcapi_pktchan_send_open_i)(&out, from, &requests[0],
                                                                      &status);
    check(status, "open");
    (scalars ? mcapi_sclchan_recv_open_i : mcapi_pktchan_recv_open_i)(&in, to, &requests[1],
                                                                      &status);
    check(status, "open");
    for (int i = 0; i < 2; i++)
        mcapi_wait(both[i], &ignored, MCAPI_TIMEOUT_INFINITE, &status);
    check(status, "wait");
}

static void packets_begin(void) {
    channels_begin(0);
}

static void packets_send(const void *data) {
    mcapi_status_t status;
    mcapi_pktchan_send(out, data, size, &status);
    check(status, "send");
}

static void packets_receive(void *data) {
    mcapi_status_t status;
    size_t received;
    void *packet;
    mcapi_pktchan_recv(in, &packet, &received, &status);
    check(status, "receive");
    memcpy(data, packet, received);
    mcapi_pktchan_release(packet, &status);
    check(status, "release");
}

static void scalars_begin(void) {
    channels_begin(1);
}

static void scalars_send(const void *data) {
    mcapi_status_t status;
    uint64_t value;
    memcpy(&value, data, sizeof value);
    mcapi_sclchan_send_uint64(out, value, &status);
    check(status, "send");
}

static void scalars_receive(void *data) {
    mcapi_status_t status;
    uint64_t value = mcapi_sclchan_recv_uint64(in, &status);
    check(status, "receive");
    memcpy(data, &value, sizeof value);
}

/* ---- the exchange --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*start)(void); /* before the second process is there, */
    void (*begin)(void); /* and in both of them */
    void (*send)(const void *);
    void (*receive)(void *);
} ways[] = {{"ring", ring_start, nothing, ring_send, ring_receive},
            {"posix", posix_start, nothing, posix_send, posix_receive},
            {"messages", nothing, messages_begin, messages_send, messages_receive},
            {"packets", nothing, packets_begin, packets_send, packets_receive},
            {"scalars", nothing, scalars_begin, scalars_send, scalars_receive}};

/* The two processes get a core each, whatever the way. */
static void pin(int which) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < 2)
        return;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed) && which-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
}

/* What was sent must be what is received: the first bytes count. */
static void expect(const unsigned char *data, uint64_t number) {
    uint64_t found;
    memcpy(&found, data, sizeof found);
    if (found == number)
        return;
    fprintf(stderr, "message %llu was %llu\n", (unsigned long long)number,
            (unsigned long long)found);
    exit(1);
}

static double run(size_t way, int trip, uint64_t count) {
    unsigned char data[4096] = {0};
    ways[way].begin();
    pin(me);
    uint64_t warm = count / 10;
    double started = 0;
    for (uint64_t i = 0; i < warm + count; i++) {
        if (i == warm)
            started = now();
        if (me == 0 || trip == 0)
            memcpy(data, &i, sizeof i);
        if (me == 0)
            ways[way].send(data);
        if (me == 1 || trip) {
            ways[way].receive(data);
            expect(data, i);
        }
        if (me == 1 && trip)
            ways[way].send(data);
    }
    /* One way: it is over when the last one has been received. */
    if (!trip && me == 0)
        ways[way].receive(data);
    else if (!trip)
        ways[way].send(data);
    return (now() - started) / (double)count;
}

int main(int argc, char **argv) {
    size_t way = 0, known = sizeof ways / sizeof *ways;
    while (way < known && (argc != 5 || strcmp(argv[1], ways[way].name) != 0))
        way++;
    if (way == known) {
        fputs("exchange ring|posix|messages|packets|scalars trip|flow COUNT SIZE\n", stderr);
        return 2;
    }
    int trip = strcmp(argv[2], "trip") == 0;
    uint64_t count = strtoull(argv[3], NULL, 10);
    size = strtoull(argv[4], NULL, 10);
    if (size < sizeof(uint64_t) || size > 4096)
        return 2;
    ways[way].start();
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    me = child == 0;
    double nanoseconds = run(way, trip, count);
    if (me)
        return 0;
    int status;
    waitpid(child, &status, 0);
    if (status)
        return 1;
    printf("%.1f\n", nanoseconds);
    return 0;
}
