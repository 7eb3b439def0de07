/* What processes with threads leave in a trace for the closing lines of its recording: their
   threads are not in it. */
#ifndef RF_CLI_THREAD_NOTES_H
#define RF_CLI_THREAD_NOTES_H

#include "summary.h"

/* Says which processes came too late to be recorded, and, if nobody asked for the order of threads,
   that there were some. Takes the notes away. */
void rf_thread_notes_tell(const char *directory, const struct rf_summary *summary);
/* A program of which nothing was recorded, but that has threads; free() it. NULL if there is none.
   Takes the notes away. */
char *rf_thread_notes_program(const char *directory);

#endif
