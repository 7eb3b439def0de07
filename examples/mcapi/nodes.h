/* Starts the nodes of a program: a thread for each, or with --processes a process for each. The
   program itself is the same in both cases. */
#ifndef NODES_H
#define NODES_H

#include <mcapi.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DOMAIN = 0, PORT = 1, NODES_MOST = 64 };

typedef void node_program(int node);

/* An example has no way to go on after an error. */
static inline void must(const char *call, mcapi_status_t status) {
    char text[MCAPI_MAX_STATUS_SIZE];
    if (status == MCAPI_SUCCESS || status == MCAPI_PENDING)
        return;
    fprintf(stderr, "%s: %s\n", call, mcapi_display_status(status, text, sizeof text));
    exit(1);
}

/* ---- the calls that every node makes -------------------------------------------------------- */

static inline void start(int node) {
    mcapi_status_t status;
    mcapi_info_t info;
    mcapi_param_t parameters = MCAPI_PARAM_DEFAULTS;
    mcapi_initialize(DOMAIN, (mcapi_node_t)node, NULL, &parameters, &info, &status);
    must("mcapi_initialize", status);
}

static inline mcapi_endpoint_t own_endpoint(int port) {
    mcapi_status_t status;
    mcapi_endpoint_t endpoint = mcapi_endpoint_create((mcapi_port_t)port, &status);
    must("mcapi_endpoint_create", status);
    return endpoint;
}

/* Waits until the node has made it. */
static inline mcapi_endpoint_t endpoint_of(int node, int port) {
    mcapi_status_t status;
    mcapi_endpoint_t endpoint = mcapi_endpoint_get(DOMAIN, (mcapi_node_t)node, (mcapi_port_t)port,
                                                   MCAPI_TIMEOUT_INFINITE, &status);
    must("mcapi_endpoint_get", status);
    return endpoint;
}

static inline void send_word(mcapi_endpoint_t from, mcapi_endpoint_t to, int word) {
    mcapi_status_t status;
    mcapi_msg_send(from, to, &word, sizeof word, MCAPI_MAX_PRIORITY, &status);
    must("mcapi_msg_send", status);
}

static inline int receive_word(mcapi_endpoint_t endpoint) {
    mcapi_status_t status;
    size_t size;
    int word = 0;
    mcapi_msg_recv(endpoint, &word, sizeof word, &size, &status);
    must("mcapi_msg_recv", status);
    return word;
}

static inline void stop(mcapi_endpoint_t endpoint) {
    mcapi_status_t status;
    mcapi_endpoint_delete(endpoint, &status);
    must("mcapi_endpoint_delete", status);
    mcapi_finalize(&status);
    must("mcapi_finalize", status);
}

/* ---- starting ------------------------------------------------------------------------------- */

struct nodes_start {
    node_program *program;
    int node;
};

/* Cores do not wake up at the same moment: up to a third of a millisecond between them. */
static inline void nodes_stagger(int node) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned random = ((unsigned)now.tv_nsec ^ (unsigned)node << 20) * 2654435761u;
    nanosleep(&(struct timespec){0, (long)(random >> 8) % 300000}, NULL);
}

static inline void *nodes_thread(void *argument) {
    const struct nodes_start *begin = argument;
    nodes_stagger(begin->node);
    begin->program(begin->node);
    return NULL;
}

static inline int nodes_as_threads(node_program *program, int first, int count) {
    struct nodes_start begin[NODES_MOST];
    pthread_t threads[NODES_MOST];
    for (int i = 0; i < count; i++) {
        begin[i] = (struct nodes_start){program, first + i};
        if (pthread_create(&threads[i], NULL, nodes_thread, &begin[i])) {
            perror("pthread_create");
            exit(1);
        }
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* Ends like a shell would say it. When one node fails, the others would wait for it for ever. */
static inline int nodes_wait(const pid_t *children, int count) {
    int code = 0, status;
    for (int left = count; left > 0; left--) {
        if (wait(&status) < 0)
            break;
        int ended = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (!ended || code)
            continue;
        code = ended;
        for (int i = 0; i < count; i++)
            kill(children[i], SIGKILL);
    }
    return code;
}

static inline int nodes_as_processes(node_program *program, int first, int count) {
    pid_t children[NODES_MOST], parent = getpid();
    fflush(NULL);
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] < 0) {
            perror("fork");
            exit(1);
        }
        if (children[i] > 0)
            continue;
        /* Nobody is left behind. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        nodes_stagger(first + i);
        program(first + i);
        exit(0);
    }
    return nodes_wait(children, count);
}

/* Takes the option out of the arguments. */
static inline int nodes_option(int *argc, char **argv, const char *option) {
    for (int i = 1; i < *argc; i++)
        if (strcmp(argv[i], option) == 0) {
            memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof *argv);
            --*argc;
            return 1;
        }
    return 0;
}

/* Runs nodes FIRST to FIRST + COUNT - 1; returns what main is to return. */
static inline int run_nodes(int *argc, char **argv, node_program *program, int first, int count) {
    int apart = nodes_option(argc, argv, "--processes");
    if (count < 1 || count > NODES_MOST) {
        fprintf(stderr, "%s: between 1 and %d nodes\n", argv[0], NODES_MOST);
        return 2;
    }
    return apart ? nodes_as_processes(program, first, count)
                 : nodes_as_threads(program, first, count);
}

#endif
