/* Thousands of messages in any order, polled for in every way, with the same contents again and
   again: what was broadcast at the beginning. */
#include "messages.h"

enum { WORDS = 256, EACH = 300, WINDOW = 6 };

static int pattern[WORDS], words[WINDOW][WORDS];

/* The pattern, from a place of its own; now and then it is another. */
static void send_many(int tag) {
    static int scratch[WORDS];
    for (int i = 0; i < EACH; i++) {
        if (i % 16 == 0)
            dawdle();
        memcpy(scratch, pattern, sizeof scratch);
        if (i % 50 == 49)
            scratch[i % WORDS] = world_rank * 1000 + i;
        MPI_Send(scratch, WORDS - i % 7, MPI_INT, 0, tag, MPI_COMM_WORLD);
    }
}

static void repost(int slot, int tag, int *posted, MPI_Request *request) {
    if (*posted == (world_size - 1) * EACH)
        return;
    ++*posted;
    MPI_Irecv(words[slot], WORDS, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, request);
}

/* A few receives at a time. */
static void window(int tag, int some) {
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    int posted = 0, left = (world_size - 1) * EACH, indices[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        requests[i] = MPI_REQUEST_NULL;
        repost(i, tag, &posted, &requests[i]);
    }
    while (left > 0) {
        int done = 1;
        if (some)
            while (MPI_Testsome(WINDOW, requests, &done, indices, statuses), !done)
                usleep(20);
        else
            MPI_Waitany(WINDOW, requests, &indices[0], &statuses[0]);
        for (int i = 0; i < done; i++) {
            observe("index", indices[i]);
            observe_message(&statuses[i], words[indices[i]]);
            repost(indices[i], tag, &posted, &requests[indices[i]]);
        }
        left -= done;
    }
    observe_data("words", words, sizeof words);
}

static void probing(int tag, int matched) {
    for (int left = (world_size - 1) * EACH; left > 0; left--) {
        MPI_Status status;
        MPI_Message message;
        int flag = 0, failed = -1;
        do {
            failed++;
            if (matched)
                MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message, &status);
            else
                MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
            if (!flag)
                usleep(20);
        } while (!flag);
        observe("failed", failed);
        if (matched)
            MPI_Mrecv(words[0], WORDS, MPI_INT, &message, &status);
        else
            MPI_Recv(words[0], WORDS, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD, &status);
        observe_message(&status, words[0]);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (world_rank == 0)
        for (int i = 0; i < WORDS; i++)
            pattern[i] = i * i;
    for (int i = 0; i < 8; i++) {
        phase("many");
        MPI_Bcast(pattern, WORDS, MPI_INT, i % world_size, MPI_COMM_WORLD);
        observe_data("pattern", pattern, sizeof pattern);
        if (world_rank != 0)
            send_many(i);
        else if (i % 4 < 2)
            window(i, i % 4);
        else
            probing(i, i % 4 == 3);
    }
    end();
    return 0;
}
