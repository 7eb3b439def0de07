/* Which MPI a command will run with, and which of its words is the program. */
#ifndef RF_CLI_DETECT_H
#define RF_CLI_DETECT_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/error.h"

enum rf_launcher {
    RF_LAUNCHER_NONE, /* the first word is no launcher that takes variables as options */
    RF_LAUNCHER_OPENMPI,
    RF_LAUNCHER_HYDRA,
};

struct rf_detected {
    const char *mpi;           /* "openmpi", "mpich", "mcapi" */
    enum rf_launcher launcher; /* what the command's first word is */
    char *program;             /* base name of the program, for the trace's name */
    char because[512];         /* one line of evidence */
    bool tsan;                 /* the program is built with ThreadSanitizer */
    bool instrumented;         /* the adapter for MCAPI is linked into it */
    bool script;               /* the program is no ELF file, or run by an interpreter */
    bool openmp_unseen;        /* how it orders its threads cannot be told to such a tool */
};

/* What stands in the place of an MPI where there is none: only threads are recorded. */
#define RF_NO_MESSAGES "threads"

/* `wanted`: the -m option, or NULL. `threads`: these are recorded, so that a command without any
   MPI will do. */
bool rf_detect(char *const *command, const char *wanted, bool threads, struct rf_detected *detected,
               struct rf_error *error);
void rf_detected_free(struct rf_detected *detected);

/* Where in the command, from its word `from` up to its end or the next colon, the program stands
   that a process becomes in the end: the one of the user, or the interpreter of his script. */
size_t rf_find_program(char *const *command, size_t from);

/* Is this a name that -m takes, or none? */
bool rf_mpi_option(const char *name, struct rf_error *error);
/* The package that has it. */
const char *rf_mpi_package(const char *mpi);
/* Or is it the other way of passing messages? */
bool rf_is_mpi(const char *name);
/* What a program does first, as in "no rank called MPI_Init". */
const char *rf_begin_of(const char *mpi);
/* The name that people use: "Open MPI", "MPICH". */
const char *rf_mpi_title(const char *mpi);

/* The path a word leads to as a command: itself when it has a slash, else through PATH; or NULL. */
char *rf_find_executable(const char *word);
/* What `path --version` says, at most `size` - 1 bytes; false when it does not run. */
bool rf_version_text(const char *path, char *text, unsigned size);
/* The kind of launcher an executable is, and how that was seen (static text). */
enum rf_launcher rf_launcher_of(const char *path, const char **how);

#endif
