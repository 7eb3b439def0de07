/* Extraction: what one rank gets from the library is kept while the job is replayed, and given to
   it again when it runs alone.

   Both happen below the wrappers: rf_reals, through which they call the library, leads to functions
   that note what the library returned, or return what was noted. What a call returns is described
   once and serves both directions: rf_through() writes while it keeps, and reads when alone. */
#ifndef RF_MPI_KEPT_H
#define RF_MPI_KEPT_H

#include "mpi/adapter.h"

/* Checking: nothing is kept but a checksum of what comes, or it is compared with that. */
enum rf_layer { RF_LAYER_NONE, RF_LAYER_CHECKING, RF_LAYER_KEEPING, RF_LAYER_ALONE };
extern enum rf_layer rf_layer RF_OURS;

/* What came into the program's memory by one call. */
struct rf_output {
    enum rf_shape { RF_NOTHING, RF_PLAIN, RF_SEVERAL, RF_VARIOUS, RF_RECEIVED } shape;
    bool owns_type;
    uint8_t count_size, displ_size; /* counts and displacements are int or wider */
    void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int parts; /* of SEVERAL and VARIOUS: one per peer */
    const void *counts, *displs;
    const MPI_Datatype *types; /* of VARIOUS */
};

/* ---- kept.c: the stream ---- */

/* While it is recorded (`record`) a rank makes other calls of the library than in a replay. One
   that runs alone on such contents therefore records again, and throws that away. */
bool rf_keep_open(const char *trace, bool record, struct rf_error *error);
bool rf_alone_open(const char *trace, bool *record, struct rf_error *error);
/* Alone, at the program's end: has everything that was kept been used? Waits until the other
   threads have used what is theirs. */
bool rf_kept_used(const struct rf_here *here);
/* `others`: threads that may go on calling. They find the library; but a rank alone has none, so
   there they stay. */
void rf_kept_close(bool others);
void rf_kept_stay(void);
/* In a child made by fork: the stream belongs to the parent. */
void rf_kept_abandon(void);

/* The thread that calls, as a recording numbers it. */
int rf_kept_thread(void);
/* One call: what it is and what it returned. Returns that code; alone, from what was kept. An error
   that the library returned with is returned again. From here to the end of the call this thread
   has the stream and all tables for itself, and must not call what may block. */
int rf_kept_call(unsigned function, int code);
/* What a replay does on its own account where a recording was cut off. When is a matter of what the
   other threads do, so a rank alone is told: a look at a request, a receive that is parked, and
   those that are posted for real. */
#define RF_LOOK 0xffcu
#define RF_PARK 0xffbu
#define RF_RELEASE 0xffau
/* After a call that returned with an error: it has ended the process. */
#define RF_LAST 0xff9u
/* In place of a call that did not end: the process ended inside of it; its error handler, whose
   number follows, did not return. */
#define RF_CUT 0xff8u
#define RF_HEARD 0xff7u
/* Such a thing that several calls make up. False if threads are not told apart; else it has an end
   as any call. */
bool rf_kept_begin(unsigned what);
/* Alone: does what was kept go on with this call? */
bool rf_kept_next_is(unsigned function);
/* Alone: this thread is going to call, and what is parked may have to be posted before. */
void rf_kept_settle(void);
/* While keeping: this error ends the process. Alone: is that what comes next? */
void rf_kept_last(int code);
bool rf_kept_was_last(int *code);
/* While keeping: the process ends, perhaps inside a call, by this signal or with this status. What
   is known of that call is kept. For use in a handler of signals: takes nothing from the heap.
   Alone: was that kept in place of a call that takes nothing? Then it has come. */
#define RF_CUT_EXIT(status) (-1 - ((status)&0xff))
#define RF_CUT_STATUS(how) (-1 - (how))
void rf_kept_cut(int how);
/* Alone: what this call has brought was not kept. */
bool rf_kept_unfinished(void);
/* The end of a call. Returns the code. Whose error it may be matters to a handler that did not
   return; that of another error the library calls itself, or nobody does. */
int rf_kept_done(int code);
int rf_kept_done_win(MPI_Win win, int code);
int rf_kept_done_file(MPI_File file, int code);
/* The same; alone, the error handler hears of an error. */
int rf_kept_end(MPI_Comm comm, int code);
int rf_kept_end_win(MPI_Win win, int code);
int rf_kept_end_file(MPI_File file, int code);
/* While keeping: the library has called callbacks of the program. Alone they are called here
   (`again`), or not at all. What was copied in this call is over with it (rf_inheritance_over). */
void rf_kept_callbacks(bool again);
/* While keeping, between calls: this freed receive turns out to be complete, the memory of this
   window has changed. */
void rf_kept_orphan(int32_t number);
void rf_kept_change(int32_t number);
/* Is the program called by the library inside a call? */
bool rf_kept_in_callback(void);
void rf_through(void *data, size_t size);
/* A block may be large, and equal ones are kept once. */
void rf_through_block(void *data, size_t size);
void rf_through_status(MPI_Status *status);
/* kept_data.c */
void rf_through_output(const struct rf_output *output, const MPI_Status *status);
/* The message that the next blocks belong to, or NULL. */
void rf_kept_message(const MPI_Status *status);
/* Alone: ends the run, since nobody knows what this function returned. */
_Noreturn void rf_cannot_answer(const char *name);
/* While keeping: says so, once. */
void rf_cannot_keep(enum rf_function function, const char *name);

/* Puts the layer between the wrappers and the library. */
void rf_layer_install(enum rf_layer layer);

/* The stream and all tables outside of a call. Nests. */
void rf_kept_hold(void);
void rf_kept_release(void);

/* As realloc, but it succeeds or ends the run. */
void *rf_kept_room(void *old, size_t size) __attribute__((returns_nonnull));
/* The same for a key that is not in the table yet. */
void rf_kept_enter(struct rf_handle_map *map, uint64_t key, uint32_t place);
/* An array with room for one more. */
void *rf_kept_grown(void *entries, int32_t count, int32_t *room, size_t size);

/* ---- kept_start.c ---- */

/* `record`: the contents are kept while the rank is recorded. */
bool rf_start_write(const char *trace, bool record, struct rf_error *error);

/* ---- kept_checks.c ---- */

/* Record: writes checksums; replay: compares them. May be followed by rf_keep_open. */
bool rf_checks_open(const char *trace, const char *kind, bool record, struct rf_error *error);
bool rf_checks_close(struct rf_error *error);
void rf_checks_abandon(void);
/* Does nothing unless checksums were opened. `message`: the one that brought it, or NULL. */
void rf_check(const void *data, size_t size, const MPI_Status *message);
/* What only a rank that is extracted looks at, or what nobody has written, is not checked. */
void rf_checks_pause(bool pause);

/* ---- kept_pointers.c ---- */

/* Says so, once, if what was received holds an address. */
void rf_pointers_look(const void *data, size_t size, const MPI_Status *message);
void rf_pointers_close(void);

/* ---- kept_objects.c: communicators, groups, infos, messages ---- */

struct rf_comm_facts {
    int32_t rank, size, remote, inter, neighbours;
};
void rf_facts_begin(void);
const struct rf_comm_facts *rf_facts(MPI_Comm comm);
void rf_facts_forget(MPI_Comm comm);
/* Of a communicator that has just been made. */
void rf_through_facts(MPI_Comm comm);
void rf_through_comm(MPI_Comm *comm, MPI_Comm parent);
/* What a call that failed has left there: MPICH sets it to MPI_COMM_NULL, Open MPI does not. */
void rf_through_no_comm(MPI_Comm *comm);
void rf_through_group(MPI_Group *group);
void rf_through_info(MPI_Info *info);

/* Alone: a message that was taken out of the queue. */
void rf_through_message(MPI_Message *message);
void rf_message_end(MPI_Message *message);

/* Is it an attribute that tells of the job? */
bool rf_is_of_job(int keyval);

/* ---- kept_attributes.c: what new communicators take over ---- */

void rf_inheritance_begin(void);
/* While keeping: a communicator that others may come from. */
void rf_inheritance_watch(MPI_Comm comm);
/* A new communicator; alone it is made here. `complete`: the handle is there, not only promised. */
void rf_through_attributes(MPI_Comm *comm, MPI_Comm parent, bool complete);
/* The communicator is freed. Alone, this one goes with it, or MPI_COMM_NULL. */
MPI_Comm rf_inheritance_end(MPI_Comm comm);
/* The end of a call. */
void rf_inheritance_over(void);

/* ---- kept_requests.c ---- */

struct rf_kept_request {
    uint64_t key;
    struct rf_output output;
    MPI_Comm comm;  /* whose error handler hears of it */
    MPI_Comm *made; /* the communicator that it makes, or NULL */
    bool persistent, active, claimed;
    bool shown; /* the program has its contents, but has not completed it */
};
struct rf_kept_request *rf_kept_find(MPI_Request request);
/* Where threads call at the same time, another one may get the handle of a request that the library
   completes before the call returns. So what is known of the request is claimed before: nobody else
   finds it. What was not completed is given back. */
struct rf_claim {
    MPI_Request request;
    uint32_t place;
};
struct rf_claim rf_kept_claim(MPI_Request request);
void rf_kept_give_back(struct rf_claim claim);
/* A request came from the library; alone, it gets one that is complete already. */
void rf_kept_post(MPI_Request *request, const struct rf_output *output, MPI_Comm comm,
                  MPI_Comm *made, bool persistent);
/* The program has asked and was told that the request is complete: what it got is there. */
void rf_kept_show(MPI_Request request, MPI_Status *status);
/* Where it was made; RF_NO_COMM if nothing is known of it. */
MPI_Comm rf_kept_comm(struct rf_claim claim);
bool rf_kept_is_persistent(struct rf_claim claim);
/* The program frees the request. A receive goes on; what it gets is kept when it is seen to be
   complete, and comes at the same call again. */
int rf_kept_free(MPI_Request *request);
/* The same, but somebody else will free it. */
void rf_kept_adopt(MPI_Request request);
void rf_kept_orphans(void);
/* The library has said that this request is complete, and may not say how again. */
void rf_kept_orphan_told(MPI_Request request, const MPI_Status *status);
void rf_through_orphan(int32_t number);
void rf_requests_close(void);
/* The request was completed by a call that the library has made, or that is answered now.
   `wanted`: the program looks at the status. */
void rf_kept_complete(struct rf_claim claim, MPI_Request *request, MPI_Status *status, bool wanted);
/* An output that is described now and comes later: the program may free its datatype before. */
void rf_output_hold(struct rf_output *output);
void rf_output_release(struct rf_output *output);

/* ---- kept_complete.c: completion ---- */

/* Is this answer kept, to a question that may be answered with no? While the replay follows the
   recording it asks only for what happened, again and again until it does: then only the yes is
   kept, and alone it comes at once. Else every answer counts. */
bool rf_kept_answer(int code, int yes);

/* ---- kept_windows.c ---- */

void rf_window_over(MPI_Comm comm, void *base, MPI_Aint size, MPI_Aint unit, MPI_Win *win);
void rf_window_new(MPI_Comm comm, MPI_Aint size, MPI_Aint unit, void *baseptr, MPI_Win *win);
void rf_window_dynamic(MPI_Comm comm, MPI_Win *win);
/* Memory of the window, with what is in it; `allocated`: it goes with the window. */
void rf_window_memory(MPI_Win win, void *memory, size_t size, bool allocated);
/* Something was asked of a rank, or RF_ANYBODY; what was asked of it has come. */
void rf_window_get(MPI_Win win, int target, struct rf_output output);
void rf_window_done(MPI_Win win, int target);
/* While keeping: what others have changed since the last call. */
void rf_kept_changes(void);
void rf_through_change(int32_t number);

/* ---- kept_shared.c: windows of shared memory ---- */

void rf_window_shared(MPI_Comm comm, MPI_Aint size, MPI_Aint unit, void *baseptr, MPI_Win *win);
/* Where the part of some rank begins. */
void rf_window_part(MPI_Win win, void *baseptr);
void rf_window_shared_end(MPI_Win win);

/* ---- kept_fatal.c: errors that end the program ---- */

/* A new communicator: whose error handler has it got? */
void rf_through_errhandler(MPI_Comm comm, MPI_Comm parent);
/* A new window. */
void rf_fatal_window(MPI_Win win);
/* The end of a call that has failed: is the program to end of it? That is kept, or read. */
bool rf_fatal_last(void);
/* Then, without the stream. */
_Noreturn void rf_fatal_end(void);
/* What a call has run into is over with it. So it is with a question of our own: the call that
   brings the error comes yet. */
void rf_fatal_unheard(void);

/* ---- kept_handlers.c: error handlers of the program ---- */

/* This thread is in one. */
bool rf_handler_runs(void);
/* Which one and what it heard; -1 if none. */
int32_t rf_handler_heard(int *code);
/* Whose error it is. */
struct rf_hearer {
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
};
/* Alone: calls the one of that number. */
void rf_handler_again(int32_t place, int code, const struct rf_hearer *hearer);

/* ---- kept_files.c ---- */

void rf_file_open(MPI_Comm comm, MPI_File *file);
void rf_file_begin(MPI_File file, struct rf_output output);
void rf_file_end(MPI_File file);

/* ---- the functions, put into their places ---- */

void rf_layer_table(struct rf_real *reals);
void rf_layer_by_hand(struct rf_real *reals);
void rf_layer_completion(struct rf_real *reals);
void rf_layer_windows(struct rf_real *reals);
void rf_layer_fatal(struct rf_real *reals);
void rf_layer_handlers(struct rf_real *reals);
void rf_layer_shared(struct rf_real *reals);
void rf_layer_files(struct rf_real *reals);

static inline bool rf_alone(void) {
    return rf_layer == RF_LAYER_ALONE;
}

#endif
