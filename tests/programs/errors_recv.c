/* Errors that depend on the order: a short receive meets a long message, or not. Between them
   errors of the call itself, which take no message. Codes are returned, or a handler of ours sees
   them. */
#include "messages.h"

/* The standard gives the handler C's variable arguments. */
static void on_error(MPI_Comm *comm, int *code, ...) {
    observe(*comm == MPI_COMM_WORLD ? "handler of the world" : "handler of a duplicate",
            error_class(*code));
}

static void receive_all(MPI_Comm comm) {
    for (int i = 0; i < (world_size - 1) * ROUNDS; i++) {
        int words[4] = {0};
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status;
        /* Neither of these gets as far as the queue of messages. */
        if (i % 3 == 0)
            observe("bad count", error_class(MPI_Recv(words, -1, MPI_INT, MPI_ANY_SOURCE,
                                                      MPI_ANY_TAG, comm, MPI_STATUS_IGNORE)));
        if (i % 3 == 1)
            observe("bad rank",
                    error_class(MPI_Irecv(words, 1, MPI_INT, world_size + 5, 0, comm, &request)));
        int code = MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                            i % 4 ? &status : MPI_STATUS_IGNORE);
        observe("class", error_class(code));
        if (code == MPI_SUCCESS && i % 4)
            observe_message(&status, words);
        if (code == MPI_SUCCESS)
            observe("word", words[0]);
    }
}

static void exchange(MPI_Comm comm) {
    if (world_rank == 0)
        receive_all(comm);
    else
        send_stream(comm, 0, ROUNDS, world_rank == 1 ? 4 : 1, 2);
}

int main(int argc, char **argv) {
    MPI_Comm duplicate;
    MPI_Errhandler handler;
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    phase("returned");
    exchange(MPI_COMM_WORLD);

    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    phase("handler");
    exchange(MPI_COMM_WORLD);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(duplicate, handler);
    MPI_Errhandler_free(&handler);
    phase("handler of a duplicate");
    exchange(duplicate);

    MPI_Comm_free(&duplicate);
    end();
    return 0;
}
