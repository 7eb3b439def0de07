/* The standard streams of a rank that runs alone. An interpreter does not start the same way on a
   terminal, a file and a pipe, and where its values are replayed that is a difference; so it gets
   what it had. */
#ifndef RF_CLI_STREAMS_H
#define RF_CLI_STREAMS_H

#include <pthread.h>
#include <stdbool.h>

struct rf_streams {
    int its[3];  /* what the rank is to have instead of ours, or -1 */
    int ours[3]; /* the other ends of its pipes, or -1 */
    pthread_t carrier;
    bool carries;
};

/* `kinds`: of the three, as kept_start.c has them; NULL: ours will do. */
void rf_streams_open(struct rf_streams *streams, const char *kinds);
/* The rank has been started, or not: what comes is carried from here on. */
void rf_streams_carry(struct rf_streams *streams);
/* It has ended: all that it wrote is out. */
void rf_streams_close(struct rf_streams *streams);

#endif
