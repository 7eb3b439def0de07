/* Processes that the program starts, in both ways; whose messages come first varies. They run this
   program as well, are not recorded, and observe nothing. */
#include "messages.h"

enum { CHILDREN = 2, EACH = 6 };

static void be_a_child(MPI_Comm parent) {
    dawdle();
    send_stream(parent, 0, EACH, 5, 3);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    exit(0);
}

/* Rank 0 hears all of them; everybody is told what they are. */
static void listen(MPI_Comm children, int count) {
    int words[5], remote;
    MPI_Status status;
    MPI_Comm_remote_size(children, &remote);
    observe("children", remote);
    for (int i = 0; world_rank == 0 && i < count * EACH; i++) {
        MPI_Recv(words, 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, children, &status);
        observe_message(&status, words);
    }
    MPI_Comm_disconnect(&children);
}

static void observe_codes(const int *codes, int count) {
    for (int i = 0; i < count; i++)
        observe("code", codes[i]);
}

static void spawn_one_kind(char *program) {
    MPI_Comm children;
    int codes[CHILDREN] = {-1, -1};
    MPI_Comm_spawn(program, MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &children,
                   codes);
    observe_codes(codes, CHILDREN);
    listen(children, CHILDREN);
}

static void spawn_two_kinds(char *program) {
    MPI_Comm children;
    char *programs[2] = {program, program};
    int numbers[2] = {1, CHILDREN}, codes[1 + CHILDREN] = {-1, -1, -1};
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_spawn_multiple(2, programs, MPI_ARGVS_NULL, numbers, infos, 0, MPI_COMM_WORLD,
                            &children, codes);
    observe_codes(codes, 1 + CHILDREN);
    listen(children, 1 + CHILDREN);
}

int main(int argc, char **argv) {
    MPI_Comm parent;
    begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        be_a_child(parent);
    spawn_one_kind(argv[0]);
    spawn_two_kinds(argv[0]);
    end();
    return 0;
}
