/* Nodes that are processes send each other messages and packets of all sizes; one after the other
   is killed at a random moment and started again under the same name. killed NAMED ROUNDS SEED.

   The survivors must go on, every message must be whole and in its sender's order, and at the end
   no buffer may be lost and nothing left behind. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "job.h"

enum { NODES = 5, PATIENCE = 20, LARGEST = 20000 };

struct board {
    uint64_t steps[NODES]; /* what each node has done: it must go on */
    uint64_t lives[NODES];
    uint32_t stop;
};
static struct board *board;
static unsigned random_state;

static unsigned any(unsigned below) {
    random_state = random_state * 1103515245 + 12345;
    return (random_state >> 8) % below;
}

static void die(const char *what, mcapi_status_t status) {
    char name[MCAPI_MAX_STATUS_MSG_LEN];
    fprintf(stderr, "killed: %s: %s\n", what, mcapi_display_status(status, name, sizeof name));
    abort();
}

/* ---- one node ------------------------------------------------------------------------------- */

struct letter {
    uint32_t from, size;
    uint64_t life, number;
};

static void write_letter(unsigned char *data, uint32_t from, uint64_t number, uint32_t size) {
    struct letter letter = {from, size, board->lives[from], number};
    memset(data, (int)(number & 0xff), size);
    memcpy(data, &letter, sizeof letter);
}

/* Each sender's letters come in order, though some may be missing between two of its lives. */
static void read_letter(const unsigned char *data, size_t size) {
    static struct letter last[NODES];
    struct letter letter;
    memcpy(&letter, data, sizeof letter);
    if (size < sizeof letter || letter.size != size || letter.from >= NODES)
        die("a letter is damaged", MCAPI_ERR_GENERAL);
    for (size_t i = sizeof letter; i < size; i++)
        if (data[i] != (letter.number & 0xff))
            die("a letter's text is damaged", MCAPI_ERR_GENERAL);
    struct letter *before = &last[letter.from];
    if (letter.life < before->life ||
        (letter.life == before->life && letter.number <= before->number && before->size))
        die("a letter comes late", MCAPI_ERR_GENERAL);
    *before = letter;
}

static void live(uint32_t me) {
    static unsigned char data[LARGEST];
    mcapi_status_t status;
    mcapi_info_t info;
    size_t size;
    uint64_t number = 0;
    mcapi_timeout_t short_time = 2;
    mcapi_initialize(0, me, NULL, NULL, &info, &status);
    if (status != MCAPI_SUCCESS)
        die("initialize", status);
    mcapi_endpoint_t mine = mcapi_endpoint_create(1, &status), theirs[NODES] = {0};
    if (status != MCAPI_SUCCESS)
        die("create", status);
    mcapi_endpoint_set_attribute(mine, MCAPI_ENDP_ATTR_TIMEOUT, &short_time, sizeof short_time,
                                 &status);
    while (!__atomic_load_n(&board->stop, __ATOMIC_ACQUIRE)) {
        uint32_t to = any(NODES);
        uint32_t room = any(4) ? 100 : LARGEST - (uint32_t)sizeof(struct letter);
        uint32_t length = (uint32_t)sizeof(struct letter) + any(room);
        if (!theirs[to])
            theirs[to] = mcapi_endpoint_get(0, to, 1, any(3), &status);
        write_letter(data, me, ++number, length);
        if (theirs[to]) {
            mcapi_msg_send(mine, theirs[to], data, length, 0, &status);
            if (status == MCAPI_ERR_ENDP_INVALID)
                theirs[to] = 0; /* it has died: ask for its next life */
            else if (status != MCAPI_SUCCESS && status != MCAPI_TIMEOUT)
                die("send", status);
        }
        for (unsigned i = any(4); i > 0; i--) {
            mcapi_msg_recv(mine, data, sizeof data, &size, &status);
            if (status == MCAPI_SUCCESS)
                read_letter(data, size);
            else if (status != MCAPI_TIMEOUT)
                die("receive", status);
        }
        __atomic_add_fetch(&board->steps[me], 1, __ATOMIC_RELAXED);
    }
    mcapi_finalize(&status);
    if (status != MCAPI_SUCCESS)
        die("finalize", status);
}

static pid_t begin(uint32_t me) {
    board->lives[me]++;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        random_state ^= (unsigned)(me * 7919 + board->lives[me] * 104729);
        live(me);
        exit(0);
    }
    return child;
}

/* ---- those who watch them ------------------------------------------------------------------- */

/* Every node does something within a while. */
static void expect_progress(uint32_t except) {
    uint64_t before[NODES];
    memcpy(before, board->steps, sizeof before);
    for (uint32_t i = 0; i < NODES; i++) {
        time_t limit = time(NULL) + PATIENCE;
        while (i != except && __atomic_load_n(&board->steps[i], __ATOMIC_RELAXED) == before[i]) {
            if (time(NULL) > limit) {
                fprintf(stderr, "killed: node %u hangs\n", i);
                abort();
            }
            usleep(200);
        }
    }
}

/* One more node, after all others are gone: nothing of theirs may be in use. */
static void expect_nothing_lost(void) {
    mcapi_status_t status;
    mcapi_info_t info;
    mcapi_initialize(0, NODES, NULL, NULL, &info, &status);
    if (status != MCAPI_SUCCESS)
        die("initialize", status);
    if (info.number_of_nodes != 1) {
        fprintf(stderr, "killed: %u nodes are left\n", info.number_of_nodes);
        abort();
    }
    struct mc_segment *segment = mc_the_job.segment;
    for (uint32_t c = 0; c < MC_CLASSES; c++)
        for (uint32_t i = 0; i < segment->classes[c].populated; i++)
            if (mc_pool_buffer(segment, segment->classes[c].first + i)->owner) {
                fprintf(stderr, "killed: a buffer is lost\n");
                abort();
            }
    mcapi_finalize(&status);
}

static unsigned left_behind(void) {
    char prefix[64];
    unsigned count = 0;
    snprintf(prefix, sizeof prefix, "mcapi-%u-killed-%d", (unsigned)geteuid(), (int)getpid());
    DIR *folder = opendir("/dev/shm");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    bool named = strcmp(argv[1], "named") == 0;
    int rounds = atoi(argv[2]);
    random_state = (unsigned)strtoul(argv[3], NULL, 10);
    char job[64];
    snprintf(job, sizeof job, "killed-%d", (int)getpid());
    if (named)
        setenv("MCAPI_JOB", job, 1);
    else
        unsetenv("MCAPI_JOB");
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t nodes[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i] = begin(i);
    for (int round = 0; round < rounds; round++) {
        uint32_t victim = any(NODES);
        usleep(any(3000));
        kill(nodes[victim], SIGKILL);
        /* Dead but not yet buried is dead enough. */
        siginfo_t facts;
        waitid(P_PID, (id_t)nodes[victim], &facts, WEXITED | (round % 2 ? 0 : WNOWAIT));
        pid_t old = nodes[victim];
        if (round % 4 == 0)
            expect_progress(victim);
        nodes[victim] = begin(victim);
        if (!(round % 2))
            waitpid(old, NULL, 0);
    }
    expect_progress(NODES);
    bool all = any(2);
    if (!all)
        __atomic_store_n(&board->stop, 1, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < NODES; i++) {
        int status;
        if (all)
            kill(nodes[i], SIGKILL);
        waitpid(nodes[i], &status, 0);
        if (!all && status) {
            fprintf(stderr, "killed: node %u ended with %d\n", i, status);
            return 1;
        }
    }
    if (!all && left_behind()) {
        fprintf(stderr, "killed: something is left in /dev/shm\n");
        return 1;
    }
    expect_nothing_lost();
    if (left_behind()) {
        fprintf(stderr, "killed: something is left in /dev/shm after the next start\n");
        return 1;
    }
    printf("%d kills survived\n", rounds + (all ? NODES : 0));
    return 0;
}
