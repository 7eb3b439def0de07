#include "in_order.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"
#include "messages.h"
#include "text.h"
#include "trace/error.h"

enum { STREAMS = 2 }; /* standard output and standard error */

struct text {
    char *bytes;
    size_t size, room;
};

struct worker {
    int rank;
    pid_t process; /* 0: not started */
    bool ended;    /* collected; its pipes may still be open in others */
    bool finished; /* and all that it wrote has been read */
    int code;
    int pipes[STREAMS];
    struct text parts[STREAMS]; /* lines that are not complete yet */
    struct text lines;          /* lines that wait for their turn, each after its stream's digit */
};

struct workers {
    struct worker *list;
    int count, started, printed; /* printed: those before it have said everything */
};

static void append(struct text *text, const char *bytes, size_t count) {
    if (text->size + count > text->room) {
        text->room = 2 * (text->size + count);
        char *larger = rf_allocate(text->room, 1);
        if (text->size)
            memcpy(larger, text->bytes, text->size);
        free(text->bytes);
        text->bytes = larger;
    }
    if (count)
        memcpy(text->bytes + text->size, bytes, count);
    text->size += count;
}

/* The line that was collected is complete, or nothing more will come. */
static void end_line(struct worker *worker, int stream) {
    struct text *part = &worker->parts[stream];
    char *mark = rf_text("%d[%d] ", stream, worker->rank);
    append(&worker->lines, mark, strlen(mark));
    append(&worker->lines, part->bytes, part->size);
    append(&worker->lines, "\n", 1);
    part->size = 0;
    free(mark);
}

static void take(struct worker *worker, int stream, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] == '\n')
            end_line(worker, stream);
        else
            append(&worker->parts[stream], bytes + i, 1);
}

static void close_pipe(struct worker *worker, int stream) {
    close(worker->pipes[stream]);
    worker->pipes[stream] = -1;
    if (worker->parts[stream].size > 0)
        end_line(worker, stream);
}

static void read_pipe(struct worker *worker, int stream) {
    char bytes[4096];
    ssize_t got = read(worker->pipes[stream], bytes, sizeof bytes);
    if (got > 0)
        take(worker, stream, bytes, (size_t)got);
    else if (got == 0 || errno != EINTR)
        close_pipe(worker, stream);
}

static void print(struct worker *worker) {
    for (const char *at = worker->lines.bytes, *end = at + worker->lines.size; at < end;) {
        const char *line = at + 1;
        const char *next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
        FILE *out = *at == '0' ? stdout : stderr;
        fwrite(line, 1, (size_t)(next - line), out);
        /* The two may be one terminal. */
        fflush(out);
        at = next;
    }
    worker->lines.size = 0;
}

/* Do both streams go to the same place? Then one pipe keeps the order of what comes out of them. */
static bool is_one_stream(void) {
    struct stat out, err;
    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
           out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

/* In the child: the pipes become its streams. With a terminal to read from, gdb would take that for
   the rank it runs, and interrupts would reach nobody else. */
static void use_pipes(int rank, const int *out, const int *err) {
    bool reads = rank == 0 && !isatty(STDIN_FILENO);
    int nothing = reads ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1] >= 0 ? err[1] : out[1], STDERR_FILENO);
}

static void start(struct worker *worker, rf_work *work, void *context) {
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    fflush(NULL);
    bool piped = pipe2(out, O_CLOEXEC) == 0 && (is_one_stream() || pipe2(err, O_CLOEXEC) == 0);
    worker->process = piped ? fork() : (pid_t)-1;
    if (worker->process == 0) {
        use_pipes(worker->rank, out, err);
        int code = work(context, worker->rank);
        fflush(NULL);
        _exit(code);
    }
    if (worker->process < 0) {
        worker->ended = true;
        worker->code = RF_EXIT_ENVIRONMENT;
        rf_say("rank %d: no process can be started: %s", worker->rank, strerror(errno));
    }
    close(out[1]);
    close(err[1]);
    worker->pipes[0] = out[0];
    worker->pipes[1] = err[0];
}

static void collect(struct worker *worker) {
    int status;
    if (worker->ended || waitpid(worker->process, &status, WNOHANG) != worker->process)
        return;
    worker->ended = true;
    worker->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool runs(const struct worker *worker) {
    return worker->process != 0 && !worker->finished;
}

/* Reads what is there, or waits for it a moment. Something that a rank has left behind may hold its
   pipes open for ever: once the rank has ended, what is there is all. */
static void look(struct workers *workers) {
    struct pollfd *polled = rf_allocate((size_t)workers->count * STREAMS, sizeof *polled);
    for (int i = 0; i < workers->count; i++)
        for (int j = 0; j < STREAMS; j++)
            polled[i * STREAMS + j] = (struct pollfd){
                .fd = runs(&workers->list[i]) ? workers->list[i].pipes[j] : -1, .events = POLLIN};
    bool failed = poll(polled, (nfds_t)workers->count * STREAMS, 100) < 0;
    for (int i = 0; i < workers->count && !failed; i++) {
        struct worker *worker = &workers->list[i];
        if (!runs(worker))
            continue;
        for (int j = 0; j < STREAMS; j++)
            if (polled[i * STREAMS + j].revents)
                read_pipe(worker, j);
            else if (worker->ended && worker->pipes[j] >= 0)
                close_pipe(worker, j);
        collect(worker);
        worker->finished = worker->ended && worker->pipes[0] < 0 && worker->pipes[1] < 0;
    }
    free(polled);
}

static int running(const struct workers *workers) {
    int count = 0;
    for (int i = 0; i < workers->count; i++)
        count += runs(&workers->list[i]);
    return count;
}

static void print_in_order(struct workers *workers) {
    while (workers->printed < workers->started) {
        struct worker *worker = &workers->list[workers->printed];
        print(worker);
        if (!worker->finished)
            return;
        workers->printed++;
    }
}

static void end_all(const struct workers *workers) {
    for (int i = 0; i < workers->count; i++)
        if (runs(&workers->list[i]) && !workers->list[i].ended)
            kill(workers->list[i].process, SIGTERM);
}

static void free_texts(struct worker *worker) {
    free(worker->lines.bytes);
    for (int i = 0; i < STREAMS; i++)
        free(worker->parts[i].bytes);
}

int rf_in_order(int ranks, rf_work *work, void *context) {
    struct workers workers = {.list = rf_allocate((size_t)ranks, sizeof(struct worker)),
                              .count = ranks};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bool ending = false;
    rf_signals_guard(0);
    while (workers.printed < workers.started || (workers.started < ranks && !ending)) {
        while (!ending && workers.started < ranks &&
               (running(&workers) == 0 || running(&workers) < cores)) {
            struct worker *worker = &workers.list[workers.started];
            worker->rank = workers.started++;
            start(worker, work, context);
        }
        look(&workers);
        print_in_order(&workers);
        if (rf_signal_seen() && !ending) {
            ending = true;
            end_all(&workers);
        }
    }
    int code = ending ? 128 + rf_signal_seen() : RF_EXIT_OK;
    for (int i = 0; i < workers.started; i++) {
        if (code == RF_EXIT_OK || (workers.list[i].code == RF_EXIT_DIVERGED && !ending))
            code = workers.list[i].code;
        free_texts(&workers.list[i]);
    }
    free(workers.list);
    return code;
}
