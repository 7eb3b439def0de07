/* Other processes in between: a child that goes on with the same program and has threads of its
   own, a shell, a spawned program, one that is read from. They are none of the recording, and the
   threads of the parent go on meanwhile. */
#include "trails.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct trail trail;

static void visit(const char *what, long value) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step_value(what, &trail, value);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void lock_it(void) {
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
}
static void unlock_it(void) {
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

/* Not the recorded thread any more, although it looks like it. */
static void after_fork(void) {
    unlock_it();
    for (int i = 0; i < 3; i++) {
        lock_it();
        unlock_it();
    }
}

static void *in_child(void *argument) {
    visit("in the child", 0);
    return argument;
}

static int reap(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child)
        must("waitpid", errno);
    return WEXITSTATUS(status);
}

static int fork_child(int how) {
    pid_t child = fork();
    if (child < 0)
        must("fork", errno);
    if (child == 0) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            must("pthread_create", pthread_create(&threads[i], NULL, in_child, NULL));
        for (int i = 0; i < 2; i++)
            must("pthread_join", pthread_join(threads[i], NULL));
        if (how)
            exit(how);
        _exit(9);
    }
    return reap(child);
}

/* Nothing that is to be done at a fork is done. */
static int fork_quietly(void) {
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pid_t child = _Fork();
    if (child < 0)
        must("_Fork", errno);
    if (child == 0) {
        for (int i = 0; i < 100; i++) {
            must("pthread_mutex_lock", pthread_mutex_lock(&own));
            must("pthread_mutex_unlock", pthread_mutex_unlock(&own));
        }
        _exit(6);
    }
    return reap(child);
}

static int spawn_child(void) {
    char *words[] = {"sh", "-c", "exit 5", NULL};
    pid_t child;
    must("posix_spawn", posix_spawnp(&child, words[0], NULL, NULL, words, environ));
    return reap(child);
}

static int read_from_child(void) {
    char text[16] = "";
    FILE *stream = popen("echo 17", "r");
    if (!stream || !fgets(text, sizeof text, stream))
        must("popen", errno);
    return pclose(stream) == 0 ? atoi(text) : -1;
}

static void begin_processes(void) {
    visit("forked", fork_child(0));
    visit("asked", WEXITSTATUS(system("exit 4")));
    visit("spawned", spawn_child());
    visit("forked", fork_quietly());
    visit("forked", fork_child(7));
    visit("read", read_from_child());
}

static void body(int number) {
    if (number == 1)
        begin_processes();
    for (int i = 0; i < ROUNDS; i++) {
        work();
        visit("locked", 0);
        if (number == 2 && i == ROUNDS / 2)
            visit("asked", WEXITSTATUS(system("exit 3")));
    }
}

int main(void) {
    observe_open(0);
    /* The child must be able to lock what another thread might have had. */
    must("pthread_atfork", pthread_atfork(lock_it, unlock_it, after_fork));
    run_threads(THREADS, body);
    visit("forked", fork_child(0));
    trail_print("all", &trail);
    return 0;
}
