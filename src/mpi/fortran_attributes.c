/* Extraction: attributes of the job that Fortran programs ask for. The Fortran layers of both
   libraries go past MPI_Comm_get_attr, straight to functions of their own. */
#include "mpi/kept.h"

/* Between the call of the library and its answer to the program; alone there is no call. */
#define RF_ASK(comm, keyval, value, size, flag, library_call)                                      \
    do {                                                                                           \
        bool kept = (rf_layer == RF_LAYER_KEEPING || rf_alone()) && rf_is_of_job(keyval);          \
        RF_HERE(Comm_get_attr);                                                                    \
        if (!kept || !rf_enter(&here))                                                             \
            return library_call;                                                                   \
        int code = rf_kept_call(RF_FN_Comm_get_attr, rf_alone() ? MPI_SUCCESS : library_call);     \
        if (code == MPI_SUCCESS)                                                                   \
            rf_through(flag, sizeof *(flag));                                                      \
        if (code == MPI_SUCCESS && *(flag))                                                        \
            rf_through(value, size);                                                               \
        code = rf_kept_end(comm, code);                                                            \
        rf_leave_quietly();                                                                        \
        return code;                                                                               \
    } while (0)

#if defined(OPEN_MPI)

/* One for mpi_comm_get_attr, one for mpi_attr_get. Windows and types have other keys. */
#    define RF_FORTRAN_ATTRIBUTE(name, number)                                                     \
        RF_EXPORT int name(void *attributes, int keyval, number *value, int *flag);                \
        RF_EXPORT int name(void *attributes, int keyval, number *value, int *flag) {               \
            static int (*real)(void *, int, number *, int *);                                      \
            if (!real)                                                                             \
                rf_real_symbol(#name, &real, sizeof real);                                         \
            RF_ASK(MPI_COMM_WORLD, keyval, value, sizeof *value, flag,                             \
                   real(attributes, keyval, value, flag));                                         \
        }

RF_FORTRAN_ATTRIBUTE(ompi_attr_get_aint, MPI_Aint)
RF_FORTRAN_ATTRIBUTE(ompi_attr_get_fint, MPI_Fint)

#else

/* Fortran's keys are one more than those of C, and the value stands where C has an address. */
RF_EXPORT int MPII_Comm_get_attr(MPI_Comm comm, int keyval, MPI_Aint *value, int *flag, int type);
RF_EXPORT int MPII_Comm_get_attr(MPI_Comm comm, int keyval, MPI_Aint *value, int *flag, int type) {
    static int (*real)(MPI_Comm, int, MPI_Aint *, int *, int);
    if (!real)
        rf_real_symbol("MPII_Comm_get_attr", &real, sizeof real);
    RF_ASK(comm, keyval - 1, value, sizeof *value, flag, real(comm, keyval, value, flag, type));
}

#endif
