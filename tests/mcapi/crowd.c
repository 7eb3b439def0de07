/* Many nodes at once, far more than there are cores: crowd threads|processes NODES ROUNDS. Each
   sends to all others in every round and receives from all; large messages and packets in between.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mcapi.h>

static unsigned nodes, rounds;

static void check(mcapi_status_t status, const char *what) {
    char name[MCAPI_MAX_STATUS_MSG_LEN];
    if (status == MCAPI_SUCCESS)
        return;
    fprintf(stderr, "crowd: %s: %s\n", what, mcapi_display_status(status, name, sizeof name));
    abort();
}

struct note {
    uint32_t from, round;
    unsigned char rest[200];
};

static void live(unsigned me) {
    mcapi_status_t status;
    mcapi_info_t info;
    mcapi_initialize(0, me, NULL, NULL, &info, &status);
    check(status, "initialize");
    mcapi_endpoint_t mine = mcapi_endpoint_create(1, &status);
    check(status, "create");
    mcapi_endpoint_t *theirs = calloc(nodes, sizeof *theirs);
    unsigned *seen = calloc(nodes, sizeof *seen);
    for (unsigned i = 0; i < nodes; i++) {
        theirs[i] = mcapi_endpoint_get(0, i, 1, MCAPI_TIMEOUT_INFINITE, &status);
        check(status, "get");
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < nodes; i++) {
            struct note note = {me, round, {0}};
            memset(note.rest, (int)(me + round), sizeof note.rest);
            size_t size = (i + round) % 3 ? sizeof note : 8;
            mcapi_msg_send(mine, theirs[(me + i) % nodes], &note, size, (me + i) % 4, &status);
            check(status, "send");
            /* Nobody's queue gets longer than what this node has sent itself. */
            size_t received;
            mcapi_msg_recv(mine, &note, sizeof note, &received, &status);
            check(status, "receive");
            if (note.from >= nodes || note.round != seen[note.from]++ ||
                (received > 8 && (received != sizeof note ||
                                  note.rest[199] != (unsigned char)(note.from + note.round)))) {
                fprintf(stderr, "crowd: node %u got a wrong message from %u\n", me, note.from);
                abort();
            }
        }
    }
    free(theirs);
    free(seen);
    mcapi_finalize(&status);
    check(status, "finalize");
}

static void *live_in_thread(void *argument) {
    live((unsigned)(uintptr_t)argument);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    nodes = (unsigned)atoi(argv[2]);
    rounds = (unsigned)atoi(argv[3]);
    int bad = 0;
    if (strcmp(argv[1], "threads") == 0) {
        pthread_t *threads = calloc(nodes, sizeof *threads);
        for (uintptr_t i = 0; i < nodes; i++)
            if (pthread_create(&threads[i], NULL, live_in_thread, (void *)i))
                abort();
        for (unsigned i = 0; i < nodes; i++)
            pthread_join(threads[i], NULL);
        free(threads);
    } else {
        for (unsigned i = 0; i < nodes; i++)
            if (fork() == 0) {
                live(i);
                exit(0);
            }
        for (int status; wait(&status) > 0;)
            bad += status != 0;
    }
    printf("%u nodes, %u rounds: %u messages\n", nodes, rounds, nodes * nodes * rounds);
    return bad != 0;
}
