/* Numbers of processes and threads, and what is done with them. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static volatile sig_atomic_t signals;

static void on_signal(int number) {
    (void)number;
    signals++;
}

static void *thread(void *argument) {
    cpu_set_t set;
    int *number = argument;
    *number = (int)gettid();
    MUST(syscall(SYS_gettid) == gettid());
    MUST(sched_getaffinity(gettid(), sizeof set, &set) == 0);
    MUST(tgkill(getpid(), gettid(), SIGUSR1) == 0);
    return NULL;
}

int main(void) {
    cpu_set_t set;
    char path[64], text[256] = "";
    SAY("process %d of %d, thread %d", (int)getpid(), (int)getppid(), (int)gettid());
    signal(SIGUSR1, on_signal);
    MUST(kill(getpid(), SIGUSR1) == 0);
    MUST(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) == 0);
    MUST(kill(getppid(), 0) == 0);
    MUST(sched_getaffinity(getpid(), sizeof set, &set) == 0);
    MUST(getpriority(PRIO_PROCESS, (id_t)getpid()) == getpriority(PRIO_PROCESS, 0));
    MUST(getpgid(getpid()) == getpgid(0));
    /* What stands there is the real number; the name is that of this program. */
    snprintf(path, sizeof path, "/proc/%d/comm", (int)getpid());
    int file = open(path, O_RDONLY);
    MUST(file >= 0 && read(file, text, sizeof text - 1) > 0);
    text[strcspn(text, "\n")] = 0;
    SAY("%s: %s", path, text);
    close(file);

    pid_t before = getpid();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(getppid() == before && getpid() != before && kill(getppid(), SIGUSR1) == 0 ? 7 : 8);
    int status;
    while (waitpid(child, &status, 0) < 0)
        continue;
    SAY("child: %d", WEXITSTATUS(status));

    for (int i = 0; i < 3; i++) {
        pthread_t handle;
        int number = 0;
        MUST(pthread_create(&handle, NULL, thread, &number) == 0);
        MUST(pthread_join(handle, NULL) == 0);
        SAY("thread %d: number %d", i, number);
    }
    SAY("signals: %d", (int)signals);
    return 0;
}
