/* Calls that end the life of a communicator, or change what may be relied on. */
#include "mpi/adapter.h"

RF_WRAPPER(int, Comm_free, (MPI_Comm * comm)) {
    RF_ENTER(Comm_free, (comm));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, 0);
    rf_channel_forget(&rf_mpi.channels, *comm);
    rf_bells_forget(*comm);
    return rf_leave(&here, rf_reals.Comm_free(comm));
}

RF_WRAPPER(int, Comm_disconnect, (MPI_Comm * comm)) {
    RF_ENTER(Comm_disconnect, (comm));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, 0);
    rf_channel_forget(&rf_mpi.channels, *comm);
    rf_bells_forget(*comm);
    return rf_leave(&here, rf_reals.Comm_disconnect(comm));
}

/* With this key the library may deliver the messages of one sender in any order, and naming the
   sender no longer names the message. */
static void watch_overtaking(MPI_Info info, enum rf_function function) {
    char value[8] = "";
    int flag = 0;
    if (info != MPI_INFO_NULL &&
        rf_reals.Info_get(info, "mpi_assert_allow_overtaking", (int)sizeof value - 1, value,
                          &flag) == MPI_SUCCESS &&
        flag && strcmp(value, "true") == 0)
        rf_note_unsupported(function, "mpi_assert_allow_overtaking");
}

RF_WRAPPER(int, Comm_set_info, (MPI_Comm comm, MPI_Info info)) {
    RF_ENTER(Comm_set_info, (comm, info));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, 0);
    watch_overtaking(info, RF_FN_Comm_set_info);
    return rf_leave(&here, rf_reals.Comm_set_info(comm, info));
}

RF_WRAPPER(int, Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)) {
    RF_ENTER(Comm_dup_with_info, (comm, info, newcomm));
    rf_sign(&rf_the_session, &here, RF_NO_PEER, RF_NO_PEER, 0);
    watch_overtaking(info, RF_FN_Comm_dup_with_info);
    return rf_leave(&here, rf_reals.Comm_dup_with_info(comm, info, newcomm));
}

/* Spawned worlds have ranks of their own and are not recorded. */
RF_WRAPPER(int, Comm_spawn,
           (const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
            MPI_Comm *intercomm, int array_of_errcodes[])) {
    RF_ENTER(Comm_spawn, (command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes));
    rf_note_unsupported(RF_FN_Comm_spawn, here.name);
    return rf_leave(&here, rf_reals.Comm_spawn(command, argv, maxprocs, info, root, comm, intercomm,
                                               array_of_errcodes));
}

RF_WRAPPER(int, Comm_spawn_multiple,
           (int count, char *array_of_commands[], char **array_of_argv[],
            const int array_of_maxprocs[], const MPI_Info array_of_info[], int root, MPI_Comm comm,
            MPI_Comm *intercomm, int array_of_errcodes[])) {
    RF_ENTER(Comm_spawn_multiple, (count, array_of_commands, array_of_argv, array_of_maxprocs,
                                   array_of_info, root, comm, intercomm, array_of_errcodes));
    rf_note_unsupported(RF_FN_Comm_spawn_multiple, here.name);
    return rf_leave(&here, rf_reals.Comm_spawn_multiple(count, array_of_commands, array_of_argv,
                                                        array_of_maxprocs, array_of_info, root,
                                                        comm, intercomm, array_of_errcodes));
}
