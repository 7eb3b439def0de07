#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static bool is_already(int descriptor, char kind) {
    struct stat facts;
    if (fstat(descriptor, &facts) != 0)
        return true; /* closed, and stays so */
    bool device = S_ISCHR(facts.st_mode), terminal = isatty(descriptor);
    switch (kind) {
    case 'p':
        return S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode);
    case 'n':
        return device && !terminal;
    case 't':
        return terminal;
    default:
        return true;
    }
}

/* The two ends: the first is read from, the second written to, as those of a pipe. */
static bool make_ends(char kind, int ends[2], bool input) {
    if (kind == 'p')
        return pipe2(ends, O_CLOEXEC) == 0;
    int master, slave;
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
        return false;
    struct termios raw;
    if (tcgetattr(slave, &raw) == 0) {
        cfmakeraw(&raw);
        tcsetattr(slave, TCSANOW, &raw);
    }
    fcntl(master, F_SETFD, FD_CLOEXEC);
    fcntl(slave, F_SETFD, FD_CLOEXEC);
    ends[0] = input ? slave : master;
    ends[1] = input ? master : slave;
    return true;
}

void rf_streams_open(struct rf_streams *streams, const char *kinds) {
    *streams = (struct rf_streams){.its = {-1, -1, -1}, .ours = {-1, -1, -1}};
    for (int i = 0; i < 3 && kinds && kinds[i]; i++) {
        int ends[2];
        if (is_already(i, kinds[i]))
            continue;
        if (kinds[i] == 'n') {
            streams->its[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        } else if (make_ends(kinds[i], ends, i == 0)) {
            streams->its[i] = ends[i != 0];
            streams->ours[i] = ends[i == 0];
        }
    }
}

enum { MOST = 1 << 16 };

/* At most so much at a time; false when there is nothing more. */
static bool carry_some(int from, int to, size_t most) {
    char bytes[MOST];
    ssize_t size = read(from, bytes, most);
    for (ssize_t done = 0; done < size;) {
        ssize_t now = write(to, bytes + done, (size_t)(size - done));
        if (now < 0 && errno != EINTR)
            return false;
        done += now > 0 ? now : 0;
    }
    return size > 0 || (size < 0 && errno == EINTR);
}

/* Who waits until the rank reads must not keep what it writes. */
static bool has_room(int descriptor) {
    struct pollfd room = {.fd = descriptor, .events = POLLOUT};
    return poll(&room, 1, 0) > 0;
}

static void end(int *descriptor) {
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

/* Until the rank has closed what it writes to. What it reads may never end. */
static void *carry(void *argument) {
    struct rf_streams *streams = argument;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    while (streams->ours[1] >= 0 || streams->ours[2] >= 0) {
        bool room = has_room(streams->ours[0]);
        struct pollfd ready[3] = {{.fd = streams->ours[0], .events = POLLOUT},
                                  {.fd = streams->ours[1], .events = POLLIN},
                                  {.fd = streams->ours[2], .events = POLLIN}};
        if (room)
            ready[0] = (struct pollfd){.fd = 0, .events = POLLIN};
        if (poll(ready, 3, -1) < 0)
            continue;
        if (room && ready[0].revents && !carry_some(0, streams->ours[0], _POSIX_PIPE_BUF))
            end(&streams->ours[0]);
        for (int i = 1; i < 3; i++)
            if (ready[i].revents && !carry_some(streams->ours[i], i, MOST))
                end(&streams->ours[i]);
    }
    return NULL;
}

void rf_streams_carry(struct rf_streams *streams) {
    for (int i = 0; i < 3; i++)
        end(&streams->its[i]);
    /* What somebody types may be meant for others; and who is in the background must not read. */
    if (isatty(0))
        end(&streams->ours[0]);
    streams->carries = (streams->ours[1] >= 0 || streams->ours[2] >= 0) &&
                       pthread_create(&streams->carrier, NULL, carry, streams) == 0;
}

void rf_streams_close(struct rf_streams *streams) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    /* A process that the rank has left behind may have its streams for ever. */
    if (streams->carries && pthread_timedjoin_np(streams->carrier, NULL, &until) != 0)
        return;
    for (int i = 0; i < 3; i++)
        end(&streams->ours[i]);
}
