#include "mcapi/turns.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mcapi/adapter.h"

enum {
    LOOKS = 200,  /* before sleeping */
    HELD_MS = 50, /* a turn that is held longer is passed on by those who wait */
    SLEEP_NS = 5000000
};

/* ---- the files ---- */

static void *map_file(const char *path, int protection, size_t *size) {
    int file = open(path, (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    struct stat facts;
    void *memory = MAP_FAILED;
    if (file >= 0 && fstat(file, &facts) == 0 && facts.st_size > 0)
        memory = mmap(NULL, *size = (size_t)facts.st_size, protection, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

bool rf_turns_open(struct rf_mcapi_node *node, const char *run, struct rf_error *error) {
    struct rf_turn_list *list = &node->turns;
    char path[PATH_MAX];
    size_t size;
    snprintf(path, sizeof path, "%s/turns", run ? run : "");
    struct rf_turns *shared = map_file(path, PROT_READ | PROT_WRITE, &size);
    if (shared)
        snprintf(path, sizeof path, "%s/turns-%d", run, node->number);
    const struct rf_turns_of_node *own = shared ? map_file(path, PROT_READ, &size) : NULL;
    if (!own)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: the order of deliveries is missing", path);
    list->shared = shared;
    list->post_count = own->posts;
    list->receive_count = own->receives;
    list->send_count = own->sends;
    list->posts = (const uint32_t *)(own + 1);
    list->receives = list->posts + own->posts;
    list->sends = (const struct rf_turn_send *)(list->receives + own->receives);
    list->held = RF_NO_TURN;
    return true;
}

void rf_turns_close(struct rf_mcapi_node *node) {
    rf_turn_pass(node);
    node->turns = (struct rf_turn_list){0};
}

/* ---- whose turn it is ---- */

static void wake(struct rf_turns *shared) {
    if (__atomic_load_n(&shared->asleep, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &shared->next, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Lets through what can get through. */
static void advance(struct rf_turns *shared) {
    bool any = false;
    for (;;) {
        uint32_t turn = __atomic_load_n(&shared->next, __ATOMIC_SEQ_CST);
        uint32_t ready = RF_TURN_SENT | RF_TURN_POSTED;
        if (turn >= shared->count)
            break;
        if (!__atomic_compare_exchange_n(&shared->states[turn], &ready, ready | RF_TURN_PASSED,
                                         false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) &&
            !(ready & RF_TURN_PASSED))
            break;
        any = __atomic_compare_exchange_n(&shared->next, &turn, turn + 1, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST) ||
              any;
    }
    if (any)
        wake(shared);
}

static void mark(struct rf_turns *shared, uint32_t turn, uint32_t state) {
    if (turn == RF_NO_TURN || turn >= shared->count)
        return;
    __atomic_fetch_or(&shared->states[turn], state, __ATOMIC_SEQ_CST);
    advance(shared);
}

void rf_turn_pass(struct rf_mcapi_node *node) {
    struct rf_turn_list *list = &node->turns;
    if (!list->shared || list->held == RF_NO_TURN)
        return;
    uint32_t turn = list->held;
    list->held = RF_NO_TURN;
    mark(list->shared, turn, RF_TURN_PASSED);
}

static uint32_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/* Is the thread waiting for something, or has it ended? One that only waits for a core is not. */
static bool is_asleep(uint32_t thread) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%u/stat", thread);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    const char *state = strrchr(text, ')');
    return !state || state[1] != ' ' || state[2] != 'R';
}

/* The program of the one whose turn it is may wait for something else than a call of MCAPI, and
   that for us. */
static void hurry(struct rf_turns *shared, uint32_t turn) {
    uint32_t state = __atomic_load_n(&shared->states[turn], __ATOMIC_SEQ_CST);
    if ((state & (RF_TURN_SENT | RF_TURN_POSTED)) == (RF_TURN_SENT | RF_TURN_POSTED) &&
        is_asleep(state >> RF_TURN_BITS))
        mark(shared, turn, RF_TURN_PASSED);
}

static void sleep_until_moved(struct rf_turns *shared, uint32_t seen) {
    __atomic_fetch_add(&shared->asleep, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &shared->next, FUTEX_WAIT, seen, &(struct timespec){.tv_nsec = SLEEP_NS},
            NULL, 0);
    __atomic_fetch_sub(&shared->asleep, 1, __ATOMIC_SEQ_CST);
}

static uint32_t claim(const struct rf_mcapi_node *node) {
    return (uint32_t)node->thread << RF_TURN_BITS | RF_TURN_CLAIMED;
}

void rf_turn_take(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t turn) {
    struct rf_turns *shared = node->turns.shared;
    if (!shared || turn == RF_NO_TURN || turn >= shared->count)
        return;
    rf_progress_wait(&node->session.replayer, here, RF_NO_PEER, RF_NO_PEER);
    /* If it went through before, nobody waits for us to pass it on. */
    if (__atomic_fetch_or(&shared->states[turn], claim(node), __ATOMIC_SEQ_CST) & RF_TURN_PASSED)
        return;
    uint32_t last = RF_NO_TURN, since = 0, looks = 0;
    for (;;) {
        uint32_t seen = __atomic_load_n(&shared->next, __ATOMIC_SEQ_CST);
        uint32_t state = __atomic_load_n(&shared->states[turn], __ATOMIC_SEQ_CST);
        if (seen > turn)
            return;
        if (seen == turn && state & RF_TURN_SENT)
            break;
        if (seen != last) {
            last = seen;
            since = now_ms();
            looks = 0;
        } else if (now_ms() - since >= HELD_MS && seen != turn) {
            hurry(shared, seen);
        }
        if (rf_hold_all(node))
            looks = 0;
        if (looks++ < LOOKS)
            sched_yield();
        else
            sleep_until_moved(shared, seen);
    }
    node->turns.held = turn;
}

/* ---- what takes a turn ---- */

uint32_t rf_turn_post(struct rf_mcapi_node *node) {
    struct rf_turn_list *list = &node->turns;
    if (!list->shared || list->posted >= list->post_count)
        return RF_NO_TURN;
    uint32_t turn = list->posts[list->posted++];
    mark(list->shared, turn, RF_TURN_POSTED);
    return turn;
}

uint32_t rf_turn_receive(struct rf_mcapi_node *node) {
    struct rf_turn_list *list = &node->turns;
    if (!list->shared || list->received >= list->receive_count)
        return RF_NO_TURN;
    uint32_t turn = list->receives[list->received++];
    /* It waits already: the turn must not pass by. */
    mark(list->shared, turn, RF_TURN_POSTED | claim(node));
    return turn;
}

static int compare(const struct rf_turn_send *send, uint32_t port, mcapi_domain_t domain,
                   mcapi_node_t number, mcapi_port_t to_port) {
    return send->port != port         ? (send->port < port ? -1 : 1)
           : send->domain != domain   ? (send->domain < domain ? -1 : 1)
           : send->node != number     ? (send->node < number ? -1 : 1)
           : send->to_port != to_port ? (send->to_port < to_port ? -1 : 1)
                                      : 0;
}

void rf_turn_find(const struct rf_turn_list *list, struct rf_pair *pair, mcapi_port_t port,
                  mcapi_domain_t domain, mcapi_node_t number, mcapi_port_t to_port) {
    uint32_t low = 0, high = list->send_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(&list->sends[middle], port, domain, number, to_port) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    pair->place = low;
    while (low < list->send_count && compare(&list->sends[low], port, domain, number, to_port) == 0)
        low++;
    pair->end = low;
}

void rf_turn_sent(struct rf_mcapi_node *node, struct rf_pair *pair) {
    const struct rf_turn_list *list = &node->turns;
    uint32_t sequence = __atomic_fetch_add(&pair->sent, 1, __ATOMIC_RELAXED);
    if (pair->place == pair->end || list->sends[pair->place].sequence != sequence)
        return; /* another scheme, or nobody received it */
    mark(list->shared, list->sends[pair->place++].turn, RF_TURN_SENT);
}
