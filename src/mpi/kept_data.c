/* Extraction: data of any type and shape, as a sequence of blocks. */
#include "mpi/kept.h"

#define PIECE (16u << 20) /* scattered data passes in pieces of about this size */

struct layout {
    MPI_Count size;  /* bytes of data in one element */
    MPI_Aint extent; /* from one element to the next */
    bool dense;      /* the data is all there is, without gaps; perhaps in another order */
};

static struct layout layout_of(MPI_Datatype type) {
    struct layout layout;
    MPI_Aint bound, true_bound, true_extent;
    rf_library.Type_size_x(type, &layout.size);
    rf_library.Type_get_extent(type, &bound, &layout.extent);
    rf_library.Type_get_true_extent(type, &true_bound, &true_extent);
    layout.dense = bound == 0 && true_bound == 0 && layout.size == layout.extent &&
                   true_extent == layout.extent;
    return layout;
}

static void *room(size_t size) {
    static void *memory;
    static size_t have;
    if (size > have) {
        memory = rf_kept_room(memory, size);
        have = size;
    }
    return memory;
}

/* Whole elements, through a packed copy. */
static void through_packed(char *buffer, MPI_Count count, MPI_Datatype type,
                           const struct layout *layout) {
    MPI_Count at_once = layout->size < PIECE ? PIECE / layout->size : 1;
    for (MPI_Count done = 0; done < count; done += at_once) {
        int elements = (int)(count - done < at_once ? count - done : at_once);
        int size = (int)(elements * layout->size), position = 0;
        char *packed = room((size_t)size);
        char *place = buffer + done * layout->extent;
        if (!rf_alone())
            rf_library.Pack(place, elements, type, packed, size, &position, MPI_COMM_SELF);
        rf_through_block(packed, (size_t)size);
        if (rf_alone())
            rf_library.Unpack(packed, size, &position, place, elements, type, MPI_COMM_SELF);
    }
}

/* The first bytes of one element; the others stay as they are. */
static void through_part(char *element, MPI_Datatype type, const struct layout *layout,
                         size_t bytes) {
    int size = (int)layout->size, position = 0;
    char *packed = room((size_t)size);
    rf_library.Pack(element, 1, type, packed, size, &position, MPI_COMM_SELF);
    rf_through_block(packed, bytes);
    position = 0;
    if (rf_alone())
        rf_library.Unpack(packed, size, &position, element, 1, type, MPI_COMM_SELF);
}

/* The same as seen from another place than MPI_BOTTOM, from which MPICH packs nothing. */
static MPI_Datatype as_seen_from(void *place, MPI_Datatype type) {
    MPI_Aint address;
    MPI_Datatype moved;
    rf_library.Get_address(place, &address);
    rf_library.Type_create_hindexed(1, (const int[]){1}, (const MPI_Aint[]){-address}, type,
                                    &moved);
    rf_library.Type_commit(&moved);
    return moved;
}

static void through_bytes_of(void *buffer, MPI_Datatype type, MPI_Count bytes) {
    static char somewhere;
    struct layout layout = layout_of(type);
    if (bytes <= 0 || layout.size == 0)
        return;
    if (buffer == MPI_BOTTOM) {
        type = as_seen_from(&somewhere, type);
        through_bytes_of(&somewhere, type, bytes);
        rf_library.Type_free(&type);
        return;
    }
    MPI_Count whole = bytes / layout.size;
    if (!layout.dense)
        through_packed(buffer, whole, type, &layout);
    else if (whole > 0)
        rf_through_block(buffer, (size_t)(whole * layout.size));
    if (bytes % layout.size)
        through_part((char *)buffer + whole * layout.extent, type, &layout,
                     (size_t)(bytes % layout.size));
}

static void through_elements(void *buffer, MPI_Count count, MPI_Datatype type) {
    MPI_Count size = 0;
    if (count > 0)
        rf_library.Type_size_x(type, &size);
    through_bytes_of(buffer, type, count * size);
}

static int64_t number_at(const void *numbers, unsigned size, int place) {
    return size == sizeof(int) ? ((const int *)numbers)[place] : ((const int64_t *)numbers)[place];
}

static void through_received(const struct rf_output *output, const MPI_Status *status) {
    MPI_Count bytes = 0, size = 0;
    if (rf_status_cancelled(status))
        return;
    rf_library.Get_elements_x(status, MPI_BYTE, &bytes);
    rf_library.Type_size_x(output->type, &size);
    /* The status of a truncated message may tell more than there is room for. */
    if (bytes > size * output->count)
        bytes = size * output->count;
    through_bytes_of(output->buffer, output->type, bytes);
}

void rf_through_output(const struct rf_output *output, const MPI_Status *status) {
    if (rf_layer == RF_LAYER_NONE || rf_kept_unfinished())
        return; /* another thread has ended it; nothing of it was kept */
    switch (output->shape) {
    case RF_NOTHING:
        break;
    case RF_PLAIN:
        through_elements(output->buffer, output->count, output->type);
        break;
    case RF_RECEIVED:
        rf_kept_message(status);
        through_received(output, status);
        rf_kept_message(NULL);
        break;
    case RF_SEVERAL:
    case RF_VARIOUS:
        for (int i = 0; i < output->parts; i++) {
            MPI_Datatype type = output->shape == RF_VARIOUS ? output->types[i] : output->type;
            int64_t count = number_at(output->counts, output->count_size, i);
            int64_t displ = number_at(output->displs, output->displ_size, i);
            if (count <= 0)
                continue;
            int64_t unit = output->shape == RF_VARIOUS ? 1 : layout_of(type).extent;
            through_elements((char *)output->buffer + displ * unit, count, type);
        }
        break;
    }
}

void rf_through_status(MPI_Status *status) {
    rf_through(status, sizeof *status);
}
