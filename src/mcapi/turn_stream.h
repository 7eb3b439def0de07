/* A list of numbers in a file, read from its beginning to its end. Lists are as long as the run, so
   only a little of each is in memory. */
#ifndef RF_MCAPI_TURN_STREAM_H
#define RF_MCAPI_TURN_STREAM_H

#include <stdint.h>

enum { RF_TURN_WINDOW = 128 };

struct rf_turn_stream {
    uint64_t at, end;      /* in the file: what has not been read yet */
    uint32_t next, filled; /* in the window */
    uint32_t window[RF_TURN_WINDOW];
};

#endif
