/* Nodes that are threads of one process, and meet by a mutex and a condition as well: the order of
   the locks decides what is sent, and what is received who waits. With PROGRAM_BRANCH=keeps node 1
   does not give up the lock. */
#include "observed.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long history, entries;

/* With the lock: the order of all entries shows in the history. */
static void enter(long what) {
    history = history * 31 + what;
    entries++;
    observe("history", history);
}

static void collect(mcapi_endpoint_t local) {
    for (int i = 0; i < MESSAGES; i++) {
        long word = 0;
        mcapi_status_t status;
        size_t size;
        mcapi_msg_recv(local, &word, sizeof word, &size, &status);
        must("mcapi_msg_recv", status);
        observe("word", word);
        pthread_mutex_lock(&lock);
        enter(word);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
}

/* Every other message is sent before the lock is given up. */
static void contribute(int node, mcapi_endpoint_t local) {
    mcapi_endpoint_t to = endpoint_of(0, PORT);
    mcapi_status_t status;
    const char *branch = getenv("PROGRAM_BRANCH");
    int keeps = branch && strcmp(branch, "keeps") == 0;
    for (int i = 0; i < ROUNDS; i++) {
        dawdle();
        if (pthread_mutex_trylock(&lock)) {
            observe("busy", i);
            pthread_mutex_lock(&lock);
        }
        enter(node);
        long word = history, before = entries;
        if (i % 2 == 0)
            mcapi_msg_send(local, to, &word, sizeof word, MCAPI_MAX_PRIORITY, &status);
        else
            pthread_mutex_unlock(&lock);
        if (i % 2)
            mcapi_msg_send(local, to, &word, sizeof word, MCAPI_MAX_PRIORITY, &status);
        must("mcapi_msg_send", status);
        if (i % 2)
            continue;
        while (entries == before)
            pthread_cond_wait(&changed, &lock);
        observe("entries", entries);
        if (node != 1 || !keeps)
            pthread_mutex_unlock(&lock);
    }
}

static void node_main(int node) {
    mcapi_endpoint_t local = begin(node);
    if (node == 0)
        collect(local);
    else
        contribute(node, local);
    end(local);
}

int main(int argc, char **argv) {
    return run_nodes(&argc, argv, node_main, 0, NODES);
}
