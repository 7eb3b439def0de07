/* What differs between the two MPI libraries, apart from their headers. */
#ifndef RF_MPI_ABI_H
#define RF_MPI_ABI_H

#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "mpi/declared.h" /* made from the library's header */
#include "trace/compiler.h"

#if defined(OPEN_MPI)
#    define RF_ABI_NAME "openmpi"
#    define RF_ABI_VERSION_TEXT "Open MPI"
#    define RF_ABI_LIBRARIES                                                                       \
        { "libmpi.so.40" }
#    define RF_ABI_LOOK_RAISES 0
/* Open MPI's predefined handles are addresses of objects in the library. An adapter that referred
   to them could not be loaded into a process without MPI, so they are looked up like the functions.
 */
struct rf_handles {
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Request request_null;
    MPI_Info info_null;
    MPI_Datatype byte, packed;
    MPI_Group group_empty;
    MPI_Message message_null, message_no_proc;
    MPI_Errhandler errhandler_null, errors_are_fatal, errors_return;
    MPI_Win win_null;
    MPI_File file_null;
};
extern struct rf_handles rf_handles RF_OURS;
#    undef MPI_COMM_WORLD
#    undef MPI_COMM_SELF
#    undef MPI_COMM_NULL
#    undef MPI_REQUEST_NULL
#    undef MPI_INFO_NULL
#    undef MPI_BYTE
#    undef MPI_PACKED
#    undef MPI_GROUP_EMPTY
#    undef MPI_MESSAGE_NULL
#    undef MPI_MESSAGE_NO_PROC
#    undef MPI_ERRHANDLER_NULL
#    undef MPI_ERRORS_ARE_FATAL
#    undef MPI_ERRORS_RETURN
#    undef MPI_WIN_NULL
#    undef MPI_FILE_NULL
#    define MPI_COMM_WORLD (rf_handles.comm_world)
#    define MPI_COMM_SELF (rf_handles.comm_self)
#    define MPI_COMM_NULL (rf_handles.comm_null)
#    define MPI_REQUEST_NULL (rf_handles.request_null)
#    define MPI_INFO_NULL (rf_handles.info_null)
#    define MPI_BYTE (rf_handles.byte)
#    define MPI_PACKED (rf_handles.packed)
#    define MPI_GROUP_EMPTY (rf_handles.group_empty)
#    define MPI_MESSAGE_NULL (rf_handles.message_null)
#    define MPI_MESSAGE_NO_PROC (rf_handles.message_no_proc)
#    define MPI_ERRHANDLER_NULL (rf_handles.errhandler_null)
#    define MPI_ERRORS_ARE_FATAL (rf_handles.errors_are_fatal)
#    define MPI_ERRORS_RETURN (rf_handles.errors_return)
#    define MPI_WIN_NULL (rf_handles.win_null)
#    define MPI_FILE_NULL (rf_handles.file_null)
#elif defined(MPICH_VERSION)
#    define RF_ABI_NAME "mpich"
#    define RF_ABI_VERSION_TEXT "MPICH"
#    define RF_ABI_LIBRARIES                                                                       \
        { "libmpich.so.12", "libmpi.so.12" }
/* MPICH calls the error handler of MPI_COMM_WORLD even when it is only asked about a request. */
#    define RF_ABI_LOOK_RAISES 1
#else
#    error "neither Open MPI nor MPICH"
#endif

#ifdef RF_DECLARES_Recv_c
#    define RF_ABI_LARGE_COUNTS 1
#endif

/* What MPI_Pready_list does not change; older headers do not say so. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40100000
#    define RF_PARTITION const int
#else
#    define RF_PARTITION int
#endif

#define RF_NO_COMM ((MPI_Comm)0) /* not a handle in either library */

/* Handles are pointers in one library and integers in the other. */
static inline uint64_t rf_request_key(MPI_Request request) {
    uint64_t key = 0;
    memcpy(&key, &request, sizeof request);
    return key;
}
static inline uint64_t rf_comm_key(MPI_Comm comm) {
    uint64_t key = 0;
    memcpy(&key, &comm, sizeof comm);
    return key;
}

#endif
