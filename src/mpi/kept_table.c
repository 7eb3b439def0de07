/* The functions that keep or answer, made from the table. */
#include "mpi/kept.h"

#include <dlfcn.h>

/* ---- outputs ---- */

static struct rf_output nothing(void) {
    return (struct rf_output){.shape = RF_NOTHING};
}

static struct rf_output plain(void *buffer, MPI_Count count, MPI_Datatype type) {
    return (struct rf_output){.shape = RF_PLAIN, .buffer = buffer, .count = count, .type = type};
}

static struct rf_output received(int source, void *buffer, MPI_Count count, MPI_Datatype type) {
    return (struct rf_output){.shape = source == MPI_PROC_NULL ? RF_NOTHING : RF_RECEIVED,
                              .buffer = buffer,
                              .count = count,
                              .type = type};
}

static struct rf_output parts(enum rf_shape shape, void *buffer, const void *counts,
                              size_t count_size, const void *displs, size_t displ_size,
                              int number) {
    return (struct rf_output){.shape = shape,
                              .buffer = buffer,
                              .counts = counts,
                              .count_size = (uint8_t)count_size,
                              .displs = displs,
                              .displ_size = (uint8_t)displ_size,
                              .parts = number};
}

static struct rf_output of_type(struct rf_output output, MPI_Datatype type) {
    output.type = type;
    return output;
}

static struct rf_output of_types(struct rf_output output, const MPI_Datatype *types) {
    output.types = types;
    return output;
}

#define several(buffer, counts, displs, type, number)                                              \
    of_type(parts(RF_SEVERAL, buffer, counts, sizeof *(counts), displs, sizeof *(displs), number), \
            type)
#define various(buffer, counts, displs, types, number)                                             \
    of_types(                                                                                      \
        parts(RF_VARIOUS, buffer, counts, sizeof *(counts), displs, sizeof *(displs), number),     \
        types)

/* How many ranks contribute to what this one gets, and which of them it is. */
static int peers(MPI_Comm comm) {
    const struct rf_comm_facts *facts = rf_facts(comm);
    return facts->inter ? facts->remote : facts->size;
}

static int place(MPI_Comm comm) {
    return rf_facts(comm)->rank;
}

static int neighbours(MPI_Comm comm) {
    return rf_facts(comm)->neighbours;
}

/* Between two groups the root names itself MPI_ROOT, and its companions MPI_PROC_NULL. */
static bool is_root(MPI_Comm comm, int root) {
    return rf_facts(comm)->inter ? root == MPI_ROOT : root == place(comm);
}

static struct rf_output at_root(MPI_Comm comm, int root, struct rf_output output) {
    return is_root(comm, root) ? output : nothing();
}

static struct rf_output from_all(MPI_Comm comm, int root, struct rf_output output) {
    bool outside = rf_facts(comm)->inter && root < 0;
    return outside || output.buffer == MPI_IN_PLACE ? nothing() : output;
}

static struct rf_output from_root(MPI_Comm comm, int root, struct rf_output output) {
    return is_root(comm, root) ? nothing() : from_all(comm, root, output);
}

/* ---- answers ---- */

static void bytes(void *data, size_t size) {
    rf_through(data, size);
}

static void ints(int *numbers, int count) {
    if (count > 0)
        rf_through(numbers, (size_t)count * sizeof *numbers);
}

/* Arrays of weights may be absent; MPICH has a variable to say so. */
static void weights(int *numbers, int count) {
#ifdef OPEN_MPI
    const int *absent = MPI_UNWEIGHTED;
#else
    int *const *variable = dlsym(RTLD_DEFAULT, "MPI_UNWEIGHTED");
    const int *absent = variable ? *variable : NULL;
#endif
    if (numbers != absent)
        ints(numbers, count);
}

static void text(char *port) {
    uint32_t size = rf_alone() ? 0 : (uint32_t)strlen(port) + 1;
    rf_through(&size, sizeof size);
    rf_through(port, size);
}

static int sum(const int *numbers, int count) {
    int all = 0;
    for (int i = 0; i < count; i++)
        all += numbers[i];
    return all;
}

/* Only the root says how many processes it wanted; the others have to believe what they got. */
static void started(int *codes, MPI_Comm children, int wanted) {
    if (codes != MPI_ERRCODES_IGNORE)
        ints(codes, wanted ? wanted : rf_facts(children)->remote);
}

static void group_out(MPI_Group *group) {
    rf_through_group(group);
}

static void info_out(MPI_Info *info) {
    rf_through_info(info);
}

static void status_out(MPI_Status *status) {
    if (status != MPI_STATUS_IGNORE)
        rf_through_status(status);
}

static void into(struct rf_output output) {
    rf_through_output(&output, NULL);
}

/* ---- functions ---- */

/* What the last column of the table says: which kind of function, and what it does with the output
   when the call has succeeded. */
#define RF_HOW_NO NONE,
#define RF_HOW_HAND NONE,
#define RF_HOW_UNKNOWN UNKNOWN,
#define RF_HOW_NOW(output) KEPT, into(output)
#define RF_HOW_LATER(output)                                                                       \
    KEPT, rf_kept_post(request, &(const struct rf_output[]){output}[0], comm, NULL, false)
#define RF_HOW_EACH(output)                                                                        \
    KEPT, rf_kept_post(request, &(const struct rf_output[]){output}[0], comm, NULL, true)
#define RF_HOW_ANSWER(...) KEPT, __VA_ARGS__
#define RF_HOW_WIN(...) KEPT_WIN, __VA_ARGS__
#define RF_HOW_FILE(...) KEPT_FILE, __VA_ARGS__
#define RF_HOW_QUIET(...) KEPT_QUIET, __VA_ARGS__
#define RF_HOW_COMM(new, parent) KEPT_COMM, new, parent

#define RF_MAKE_NONE(result, name, parameters, arguments, step)
#define RF_MAKE_UNKNOWN(result, name, parameters, arguments, step)                                 \
    static result kept_##name parameters {                                                         \
        if (rf_alone())                                                                            \
            rf_cannot_answer("MPI_" #name);                                                        \
        rf_cannot_keep(RF_FN_##name, "MPI_" #name);                                                \
        result value = rf_library.name arguments;                                                  \
        if (rf_fatal_last())                                                                       \
            rf_fatal_end();                                                                        \
        return value;                                                                              \
    }
#define RF_MAKE_ENDING(ending, name, parameters, arguments, ...)                                   \
    static int kept_##name parameters {                                                            \
        int code = rf_alone() ? MPI_SUCCESS : rf_library.name arguments;                           \
        code = rf_kept_call(RF_FN_##name, code);                                                   \
        if (code == MPI_SUCCESS) {                                                                 \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        return ending;                                                                             \
    }
#define RF_MAKE_KEPT(result, ...) RF_MAKE_ENDING(rf_kept_end(comm, code), __VA_ARGS__)
#define RF_MAKE_KEPT_COMM(result, name, parameters, arguments, new, parent)                        \
    static int kept_##name parameters {                                                            \
        int code = rf_alone() ? MPI_SUCCESS : rf_library.name arguments;                           \
        code = rf_kept_call(RF_FN_##name, code);                                                   \
        if (code == MPI_SUCCESS)                                                                   \
            rf_through_comm(new, parent);                                                          \
        else                                                                                       \
            rf_through_no_comm(new);                                                               \
        return rf_kept_end(comm, code);                                                            \
    }
#define RF_MAKE_KEPT_WIN(result, ...) RF_MAKE_ENDING(rf_kept_end_win(win, code), __VA_ARGS__)
#define RF_MAKE_KEPT_FILE(result, ...) RF_MAKE_ENDING(rf_kept_end_file(fh, code), __VA_ARGS__)
/* What failed half way may have called callbacks, which alone are not called. */
#define RF_MAKE_KEPT_QUIET(result, ...)                                                            \
    RF_MAKE_ENDING((rf_kept_callbacks(false), rf_kept_done(code)), __VA_ARGS__)
/* Functions without a parameter of this name mean this one. */
static MPI_Comm comm = RF_NO_COMM;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

#define RF_MAKE_(result, name, parameters, arguments, kind, ...)                                   \
    RF_MAKE_##kind(result, name, parameters, arguments, __VA_ARGS__)
#define RF_MAKE(...) RF_MAKE_(__VA_ARGS__)
#define RF_FUNCTION(since, class, result, name, parameters, arguments, row, kept)                  \
    RF_HAS_##name(RF_MAKE(result, name, parameters, arguments, RF_HOW_##kept))
#include "mpi/functions.def"
#undef RF_FUNCTION
#pragma GCC diagnostic pop

void rf_layer_table(struct rf_real *reals) {
#undef RF_MAKE_NONE
#undef RF_MAKE_UNKNOWN
#undef RF_MAKE_ENDING
#undef RF_MAKE_KEPT_COMM
#define RF_MAKE_NONE(result, name, parameters, arguments, step)
#define RF_MAKE_UNKNOWN(result, name, parameters, arguments, step) reals->name = kept_##name;
#define RF_MAKE_ENDING(ending, name, parameters, arguments, ...) reals->name = kept_##name;
#define RF_MAKE_KEPT_COMM(result, name, ...) reals->name = kept_##name;
#define RF_FUNCTION(since, class, result, name, parameters, arguments, row, kept)                  \
    RF_HAS_##name(RF_MAKE(result, name, parameters, arguments, RF_HOW_##kept))
#include "mpi/functions.def"
#undef RF_FUNCTION
}
