/* Replay: requests that the program holds but behind which stands another one.

   Two kinds of receives cannot simply be posted with the recorded source and tag under the handle
   that the program gets:
   - a persistent one names its source once and for all, but each start may have taken a message
     from somebody else. The program's handle is never started; each start posts a plain receive.
     (One that names its message is started as it is, and only remembered, unless the library takes
     what is asked about for completed.)
   - one that took nothing because it was cancelled. Posted as it is it could take a message that
     the recording gives to a later receive. It is parked on a communicator where nothing ever
     arrives, and posted for real when the recording is over.

   One whose match was never seen, because the recording was cut off, is posted as it is: somebody
   may have been waiting until it took his message. But what it takes may be another one: see
   rf_end_of_trust(). */
#ifndef RF_MPI_STAND_INS_H
#define RF_MPI_STAND_INS_H

#include <stdbool.h>

#include "engine/handle_map.h"
#include "mpi/abi.h"

/* A receive, as the program asked for it. */
struct rf_receive {
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int source, tag;
    MPI_Comm comm;
};

struct rf_stand_in {
    MPI_Request handle; /* what the program holds */
    MPI_Request inner;  /* what the library works on; MPI_REQUEST_NULL while inactive */
    struct rf_receive receive;
    bool persistent;
    bool held;    /* it took nothing, or nobody knows what */
    bool nothing; /* it took nothing */
    bool parked;
    bool freed;   /* by the program; if parked, not yet by us */
    bool claimed; /* about to be completed: not found any more */
    uint32_t place;
    uint64_t order;
};

struct rf_stand_ins {
    struct rf_handle_map map;
    struct rf_stand_in **entries;
    uint32_t size;
    uint64_t started;
    uint32_t held;
    MPI_Comm parking;
    MPI_Request never;
    bool has_parking, has_never;
    int lock; /* where threads may call at the same time */
};

static inline bool rf_stand_ins_any(const struct rf_stand_ins *stand_ins) {
    return stand_ins->map.used != 0;
}

/* Posts a receive under the given source and tag. */
int rf_receive_post(const struct rf_receive *receive, int source, int tag, MPI_Request *request);

/* What is known of the message that a receive takes. UNSEEN: nothing, and it is posted all the
 * same.
 */
enum rf_match { RF_MATCH_UNKNOWN, RF_MATCH_UNSEEN, RF_MATCH_NOTHING, RF_MATCH_KNOWN };

int rf_stand_in_park(const struct rf_receive *receive, enum rf_match match, MPI_Request *request);
int rf_stand_in_persistent(const struct rf_receive *receive, MPI_Request *request);
struct rf_stand_in *rf_stand_in_find(MPI_Request request);
/* Starts a persistent stand-in; source and tag are those of a known match. */
int rf_stand_in_start(struct rf_stand_in *stand_in, enum rf_match match, int source, int tag);
/* What the library is to be asked about instead of this handle; `stand_in`, which may be NULL, was
   found for it. */
static inline MPI_Request rf_stand_in_inner_of(const struct rf_stand_in *stand_in,
                                               MPI_Request request) {
    return stand_in && stand_in->inner != MPI_REQUEST_NULL ? stand_in->inner : request;
}
MPI_Request rf_stand_in_inner(MPI_Request request);
/* The library is going to complete this request, and may give its handle to another one at once. */
void rf_stand_in_claim(struct rf_stand_in *stand_in);
/* After the library worked on the inner request: keeps the stand-in and the program's handle as the
   program expects them. The stand-in, or NULL, was found before: afterwards the same handle may be
   that of another request of another thread. */
void rf_stand_in_update(struct rf_stand_in *stand_in, MPI_Request *request, MPI_Request inner);
/* The parked request behind this handle is cancelled: it will never be posted. */
void rf_stand_in_cancelled(MPI_Request request);
/* The program frees its handle. What is parked stays until the recording is over; what is held and
   posted is freed, and remembered until then. */
int rf_stand_in_free(struct rf_stand_in *stand_in, MPI_Request *request);
/* True if one that is held could take this message: then it has taken an earlier one. */
bool rf_stand_ins_in_the_way(MPI_Comm comm, int source, int tag);
/* A request that is never complete. */
MPI_Request rf_stand_ins_never(void);
/* The recording is over: posts what is parked, in order. A rank alone is told when (kept.h), and
   does so then. */
void rf_stand_ins_release(void);
void rf_stand_ins_post(void);
void rf_stand_ins_close(void);

#endif
