#include "threads/races.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads/race_tools.h"
#include "threads/real.h"
#include "threads/state.h"

#if RF_RACES_WITH_HELGRIND
#    include <valgrind/helgrind.h>
#endif

enum { MARKS_MOST = 1000 }; /* of a thread: a race in a loop is reported for ever */

static struct {
    enum { NOBODY, HELGRIND, TSAN } tool;
    const char *run;
    int marks; /* ThreadSanitizer: the file of what we say; -1: none */
    char reports[sizeof rf_threads.run + 32];
    void (*release)(void *), (*acquire)(void *);
} races;

/* ThreadSanitizer asks for it. It does not see how the threads of libgomp wait for each other, and
   would report what they hand on in memory of that library's own. */
RF_HOOK const char *__tsan_default_suppressions(void);

RF_HOOK const char *__tsan_default_suppressions(void) {
    return "called_from_lib:libgomp.so\n";
}

/* System calls are made directly: ThreadSanitizer takes what threads write to the same file for an
   order between them. */
static void write_mark(const char *text, size_t length) {
    if (races.marks >= 0)
        syscall(SYS_write, races.marks, text, length);
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    if (length <= 0)
        return;
    size_t whole = (size_t)length < sizeof text - 1 ? (size_t)length : sizeof text - 2;
    memcpy(text + whole, "\n", 2);
    if (races.tool == TSAN)
        write_mark(text, whole + 1);
#if RF_RACES_WITH_HELGRIND
    else
        VALGRIND_PRINTF("%s", text);
#endif
}

/* Not there where ThreadSanitizer is a part of the program. */
static void find_function(const char *name, void (**function)(void *)) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &symbol, sizeof symbol);
}

static void begin_tsan(void) {
    char path[sizeof races.reports];
    snprintf(path, sizeof path, "%s/" RF_RACES_MARKS_FILE "%d", races.run, (int)getpid());
    races.marks = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    snprintf(races.reports, sizeof races.reports, "%s/" RF_RACES_TSAN_FILE "%d", races.run,
             (int)getpid());
    find_function("__tsan_release", &races.release);
    find_function("__tsan_acquire", &races.acquire);
}

/* Programs that lead to the one that is looked at have the variable too. They have no threads. */
static bool is_looked_at(const char *tool) {
    if (strcmp(tool, RF_RACES_TSAN) == 0) {
        races.tool = TSAN;
        begin_tsan();
    }
#if RF_RACES_WITH_HELGRIND
    if (strcmp(tool, RF_RACES_HELGRIND) == 0 && RUNNING_ON_VALGRIND)
        races.tool = HELGRIND;
#endif
    return races.tool != NOBODY;
}

bool rf_races_begin(int rank, const char *run) {
    const char *tool = getenv(RF_RACES_VARIABLE);
    races.marks = -1;
    races.run = run;
    if (!tool || !*run || !is_looked_at(tool))
        return false;
    say("refrain rank %d", rank);
    return true;
}

/* Grows with every report. */
static uint64_t reports(void) {
#if RF_RACES_WITH_HELGRIND
    if (races.tool == HELGRIND)
        return VALGRIND_COUNT_ERRORS;
#endif
    struct stat facts;
    return syscall(SYS_stat, races.reports, &facts) == 0 ? (uint64_t)facts.st_size : 0;
}

void rf_races_thread(struct rf_thread *self) {
    if (races.tool == TSAN)
        say("refrain thread %u tid %ld", self->number, syscall(SYS_gettid));
#if RF_RACES_WITH_HELGRIND
    if (races.tool == HELGRIND) {
        char name[sizeof RF_RACES_THREAD + 16];
        snprintf(name, sizeof name, RF_RACES_THREAD "%u", self->number);
        VALGRIND_DO_CLIENT_REQUEST_STMT(_VG_USERREQ__HG_PTH_API_ERROR, name, 0, "", 0, 0);
    }
#endif
    self->reports = reports();
}

/* How far the others are that have not ended, as many as there is room for. */
static void list_others(const struct rf_thread *self, char *text, size_t size) {
    size_t length = 0;
    *text = 0;
    for (uint32_t i = 0; i < rf_threads.places->count && length + 48 < size; i++) {
        const struct rf_place *place = &rf_threads.places->place[i];
        if (i != self->number && place->state != RF_PLACE_UNBORN)
            length += (size_t)snprintf(text + length, size - length, " %u:%llu", i,
                                       (unsigned long long)place->done);
    }
}

void rf_races_look(struct rf_thread *self) {
    int before = errno;
    uint64_t now = reports();
    errno = before;
    if (now == self->reports || self->marks >= MARKS_MOST)
        return;
    self->reports = now;
    self->marks++;
    char others[768];
    list_others(self, others, sizeof others);
    say("refrain at %u %llu %llu%s", self->number, (unsigned long long)self->done,
        (unsigned long long)now, others);
}

void rf_races_before(const void *object) {
    if (races.release)
        races.release((void *)object);
#if RF_RACES_WITH_HELGRIND
    else if (races.tool == HELGRIND)
        ANNOTATE_HAPPENS_BEFORE(object);
#endif
}

void rf_races_after(const void *object) {
    if (races.acquire)
        races.acquire((void *)object);
#if RF_RACES_WITH_HELGRIND
    else if (races.tool == HELGRIND)
        ANNOTATE_HAPPENS_AFTER(object);
#endif
}
