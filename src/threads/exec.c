/* Another program takes the place of this one, and its threads are gone. That is an end of the
   recording, as kill -9 is; but in a replay the others first come to where they were. */
#include <stdarg.h>
#include <unistd.h>

#include "threads/hook.h"

static void note(struct rf_thread *self, uint32_t state, int32_t code) {
    __atomic_store_n(&self->record->state, state, __ATOMIC_RELEASE);
    rf_recorder_cut_off(&rf_the_session.recorder, code);
}

/* This thread, if it is one that is recorded or replayed; a child made by vfork looks like it. */
static struct rf_thread *begin(uintptr_t address) {
    struct rf_thread *self = rf_here();
    if (!self || !rf_threads_are_ours())
        return NULL;
    if (!rf_threads.replays)
        note(self, RF_THREAD_REPLACED, RF_REPLACED);
    else if (self->cursor.record->state == RF_THREAD_REPLACED && rf_turn_cut(self))
        rf_threads_await_others(self, RF_OP_EXEC, address);
    return self;
}

/* It has failed. */
static int end(struct rf_thread *self, int code) {
    if (self && !rf_threads.replays)
        note(self, RF_THREAD_RUNS, 0);
    return code;
}

#define RF_EXEC(call)                                                                              \
    do {                                                                                           \
        struct rf_thread *self = begin(RF_HERE_ADDRESS);                                           \
        return end(self, rf_real()->call);                                                         \
    } while (0)

RF_HOOK int execve(const char *path, char *const words[], char *const variables[]) {
    RF_EXEC(execve(path, words, variables));
}

RF_HOOK int execv(const char *path, char *const words[]) {
    RF_EXEC(execve(path, words, environ));
}

RF_HOOK int execvp(const char *file, char *const words[]) {
    RF_EXEC(execvpe(file, words, environ));
}

RF_HOOK int execvpe(const char *file, char *const words[], char *const variables[]) {
    RF_EXEC(execvpe(file, words, variables));
}

RF_HOOK int fexecve(int file, char *const words[], char *const variables[]) {
    RF_EXEC(fexecve(file, words, variables));
}

RF_HOOK int execveat(int directory, const char *path, char *const words[], char *const variables[],
                     int flags) {
    RF_EXEC(execveat(directory, path, words, variables, flags));
}

/* `words` becomes what follows the first one, up to NULL, and `rest` what comes behind that. */
#define RF_LIST(first)                                                                             \
    va_list rest;                                                                                  \
    int count = 1;                                                                                 \
    va_start(rest, first);                                                                         \
    while (va_arg(rest, char *))                                                                   \
        count++;                                                                                   \
    va_end(rest);                                                                                  \
    char *words[count + 1];                                                                        \
    words[0] = (char *)(uintptr_t)(first);                                                         \
    va_start(rest, first);                                                                         \
    for (int i = 1; i <= count; i++)                                                               \
    words[i] = va_arg(rest, char *)

RF_HOOK int execl(const char *path, const char *word, ...) {
    RF_LIST(word);
    va_end(rest);
    RF_EXEC(execve(path, words, environ));
}

RF_HOOK int execlp(const char *file, const char *word, ...) {
    RF_LIST(word);
    va_end(rest);
    RF_EXEC(execvpe(file, words, environ));
}

RF_HOOK int execle(const char *path, const char *word, ...) {
    RF_LIST(word);
    char **variables = va_arg(rest, char **);
    va_end(rest);
    RF_EXEC(execve(path, words, variables));
}
