/* Extraction: files. Alone, a file is an empty one: what is read comes from what was kept, and what
   is written goes nowhere, since the other ranks' parts would be missing. */
#include <stdlib.h>

#include "mpi/kept.h"

/* The library copies the communicator, with its attributes, and frees the copy at the end. */
void rf_file_open(MPI_Comm comm, MPI_File *file) {
    if (rf_alone())
        rf_library.File_open(comm, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, file);
    rf_kept_callbacks(true);
}

static int kept_File_close(MPI_File *file) {
    MPI_File gone = *file;
    int code = rf_alone() ? MPI_SUCCESS : rf_library.File_close(file);
    code = rf_kept_call(RF_FN_File_close, code);
    if (rf_alone())
        rf_library.File_close(file);
    rf_kept_callbacks(true);
    return rf_kept_done_file(gone, code);
}

/* The library answers questions about the view itself. */
static int kept_File_set_view(MPI_File file, MPI_Offset disp, MPI_Datatype etype,
                              MPI_Datatype filetype, const char *datarep, MPI_Info info) {
    int code = rf_library.File_set_view(file, disp, etype, filetype, datarep, info);
    return rf_kept_done_file(file, rf_kept_call(RF_FN_File_set_view, code));
}

/* A file has at most one collective read that is begun and not ended. */
static struct begun {
    MPI_File file;
    struct rf_output output;
    struct begun *next;
} * begun;

void rf_file_begin(MPI_File file, struct rf_output output) {
    struct begun *entry = rf_kept_room(NULL, sizeof *entry);
    rf_output_hold(&output);
    *entry = (struct begun){file, output, begun};
    begun = entry;
}

void rf_file_end(MPI_File file) {
    for (struct begun **place = &begun; *place; place = &(*place)->next)
        if ((*place)->file == file) {
            struct begun *entry = *place;
            *place = entry->next;
            rf_through_output(&entry->output, NULL);
            rf_output_release(&entry->output);
            free(entry);
            return;
        }
}

void rf_layer_files(struct rf_real *reals) {
    reals->File_close = kept_File_close;
    reals->File_set_view = kept_File_set_view;
}
