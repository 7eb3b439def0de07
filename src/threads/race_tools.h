/* Data races are looked for by other tools while a recording is replayed. REFRAIN_RACES names the
   one that looks; these are also the words in which the library for threads tells the command line
   what no such tool knows, in the tool's own output or beside it:

       refrain rank R
       refrain thread N tid T           begins, as the system's thread T
       refrain at N K S J:K J:K ...     thread N has done K operations and sees that there are new
                                        reports: S of them, or so many bytes; the others' operations

   A thread looks at the beginning of every operation, so K is what it had done when it raced. */
#ifndef RF_THREADS_RACE_TOOLS_H
#define RF_THREADS_RACE_TOOLS_H

#define RF_RACES_VARIABLE "REFRAIN_RACES"
#define RF_RACES_HELGRIND "helgrind"
#define RF_RACES_TSAN "tsan"

/* In the run directory, each followed by the number of the process. */
#define RF_RACES_HELGRIND_FILE "helgrind."
#define RF_RACES_TSAN_FILE "tsan."
#define RF_RACES_MARKS_FILE "races."

/* Helgrind names a thread when it reports a call of it as failed: this one, then our number. */
#define RF_RACES_THREAD "refrain-thread-"

/* The requests to valgrind come from its header. */
#if __has_include(<valgrind/helgrind.h>)
#    define RF_RACES_WITH_HELGRIND 1
#else
#    define RF_RACES_WITH_HELGRIND 0
#endif

#endif
