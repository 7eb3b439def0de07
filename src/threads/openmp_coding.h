/* How the log of a thread codes what OpenMP has given it: also for who reads it. */
#ifndef RF_THREADS_OPENMP_CODING_H
#define RF_THREADS_OPENMP_CODING_H

/* A part of a loop is (its start, from the end of the thread's last one) * 4 + one of these: with
   the length of the last one; with its length in a second value; with start and length in two
   more. */
enum rf_chunk_code { RF_CHUNK_SAME_LENGTH, RF_CHUNK_NEW_LENGTH, RF_CHUNK_FAR };

/* A task is 2 * its name. 1 + 2 * distance is another point of the thread at which tasks ran. */

#endif
