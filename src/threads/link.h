/* What the library for threads offers to an adapter for message passing in the same process. It is
   found with dlsym(RTLD_DEFAULT, RF_THREADS_LINK) and is absent where that library is not loaded.
 */
#ifndef RF_THREADS_LINK_H
#define RF_THREADS_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define RF_THREADS_LINK "refrain_threads_link"
#define RF_THREADS_LINK_VERSION 3

struct rf_threads_link {
    unsigned version;
    /* Are threads recorded or replayed in this process, or will they be as soon as there are two?
     */
    bool (*wanted)(void);
    /* From here on, although it was not asked for: several threads may call the library. Called by
       the thread that initialises it. */
    void (*begin)(void);
    /* Where the launcher does not tell, the adapter does, when the process has its number. */
    void (*named)(int rank);
    /* Around everything that the library does itself; calls back into the program are in between
       leave() and enter(). They nest. */
    void (*enter)(void);
    void (*leave)(void);
    /* The number of this thread, the same in every replay, 0 for the first; -1 for a thread that
       is not recorded. */
    int (*number)(void);
    /* An operation on an object: record it when it has its place in the order, that is, before
       anything else can come after it; in a replay wait for it before, and say that it is done
       after. `name` must be "MPI_Isend" and the like, and last for ever. */
    void (*take)(const char *name, uintptr_t address, const void *object);
    /* Record: the same for one that is only counted, when it is done. */
    void (*step)(void);
    bool (*await)(const char *name, uintptr_t address); /* false: it was not recorded any more */
    void (*played)(void);
    /* Replay: the thread is in a call that may block, and has come out of it. */
    void (*blocks)(const char *name, uintptr_t address);
    void (*goes_on)(void);
    /* Replay: this thread ends the process. Have the others done what they had done then? */
    bool (*settled)(void);
    /* Replay: the recording cannot be followed any more; from here on all threads run free. */
    void (*let_go)(void);
    /* Are times to be kept? (--values time) The value that is returned to the program: that of now,
       recorded, or the recorded one. */
    bool (*keeps_time)(void);
    double (*time)(const char *name, uintptr_t address, double now);
};

#endif
