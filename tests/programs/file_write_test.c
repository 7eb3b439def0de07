/* Nonblocking writes to a file, polled and in one array with wildcard receives, and reads. */
#include "messages.h"

/* One call may complete more than one receive, here too. */
static void several(MPI_Comm comm, int round) {
    MPI_Request requests[3];
    int words[3] = {0, 0, 0}, indices[3], some;
    for (int i = 0; i < 3; i++)
        MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, i, comm, &requests[i]);
    for (int i = 0; i < 3; i++) {
        MPI_Send(&round, 1, MPI_INT, (world_rank + 1) % world_size, (i + round) % 3, comm);
        dawdle();
    }
    for (int left = 3; left > 0; left -= some) {
        MPI_Testsome(3, requests, &some, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; i < some; i++)
            observe("one of some", indices[i]);
    }
    observe("words", words[0] + words[1] + words[2]);
    MPI_Barrier(comm);
}

/* Open MPI sets only some of a status, and leaves the rest as it was. */
static void read_back(MPI_File file, MPI_Offset offset, int all) {
    static int words[MOST_WORDS];
    MPI_Request request;
    MPI_Status status;
    int count;
    memset(words, 0, sizeof words);
    memset(&status, 0x5a, sizeof status);
    if (all)
        MPI_File_iread_at_all(file, offset, words, MOST_WORDS, MPI_INT, &request);
    else
        MPI_File_iread_at(file, offset, words, MOST_WORDS, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    observe("count", count);
    observe_data("read", words, sizeof words);
}

int main(int argc, char **argv) {
    char path[512] = "";
    static int words[MOST_WORDS];
    MPI_File file;
    MPI_Comm others;
    begin(&argc, &argv);
    const char *directory = getenv("TMPDIR");
    if (world_rank == 0)
        snprintf(path, sizeof path, "%s/file_write_test.%d", directory ? directory : "/tmp",
                 (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    fill(words, MOST_WORDS, 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &others);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request requests[2];
        int done = 0, index, word = 0;
        long failed = 0;
        MPI_Offset offset = (MPI_Offset)sizeof words * world_rank;
        MPI_File_iwrite_at(file, offset, words, MOST_WORDS, MPI_INT, &requests[0]);
        while (MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE), !done)
            failed++;
        observe("failed", failed);
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_File_iwrite_at(file, offset, words, MOST_WORDS, MPI_INT, &requests[0]);
        dawdle();
        MPI_Send(&world_rank, 1, MPI_INT, (world_rank + 1 + i % world_size) % world_size, i,
                 MPI_COMM_WORLD);
        for (int k = 0; k < 2; k++) {
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            observe("index", index);
        }
        observe("word", word);
        several(others, i);
    }
    for (int all = 0; all < 2; all++)
        read_back(file, (MPI_Offset)sizeof words * world_rank, all);
    MPI_File_close(&file);
    MPI_Comm_free(&others);
    if (world_rank == 0)
        unlink(path);
    end();
    return 0;
}
