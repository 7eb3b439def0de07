/* Persistent wildcard receives: one started again and again, several started together and completed
   as they come, idle ones and null ones between them. */
#include "messages.h"

enum { LANES = 3 };

static void one_request(void) {
    MPI_Request request;
    MPI_Status status;
    int word;
    MPI_Recv_init(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    for (int i = 0; i < (world_size - 1) * ROUNDS; i++) {
        MPI_Start(&request);
        if (i % 3 == 0) {
            int done = 0;
            long failed = 0;
            while (MPI_Test(&request, &done, &status), !done)
                failed++;
            observe("failed", failed);
        } else {
            MPI_Wait(&request, i % 3 == 1 ? MPI_STATUS_IGNORE : &status);
        }
        if (i % 3 != 1)
            observe_message(&status, &word);
        observe("word", word);
        observe("kept", request != MPI_REQUEST_NULL);
    }
    /* An idle request is complete at once, with an empty status. */
    MPI_Wait(&request, &status);
    observe("idle", status.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Request_free(&request);
}

/* Slot 0 is null, the last slot an idle persistent receive; those between are started together. */
static void several(void) {
    MPI_Request requests[LANES + 2];
    MPI_Status statuses[LANES + 2];
    int words[LANES + 2], indices[LANES + 2], count, word;
    int left = (world_size - 1) * ROUNDS;
    requests[0] = MPI_REQUEST_NULL;
    for (int i = 1; i < LANES + 2; i++)
        MPI_Recv_init(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[i]);

    MPI_Waitsome(LANES + 2, requests, &count, indices, statuses);
    observe("nothing active", count == MPI_UNDEFINED);
    while (left >= LANES) {
        MPI_Startall(LANES, requests + 1);
        left -= LANES;
        for (int done = 0; done < LANES; done += count) {
            MPI_Waitsome(LANES + 2, requests, &count, indices, statuses);
            observe("count", count);
            for (int i = 0; i < count; i++) {
                observe("index", indices[i]);
                observe_message(&statuses[i], &words[indices[i]]);
            }
        }
    }
    while (left-- > 0) {
        int index, flag;
        MPI_Start(&requests[2]);
        MPI_Waitany(LANES + 2, requests, &index, &statuses[0]);
        observe("index", index);
        observe("word", words[index]);
        MPI_Testany(LANES + 2, requests, &index, &flag, MPI_STATUS_IGNORE);
        observe("undefined", flag && index == MPI_UNDEFINED);
    }
    for (int i = 1; i < LANES + 2; i++)
        MPI_Request_free(&requests[i]);
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    observe("last", word);
}

/* The senders are persistent, too. */
static void send_persistently(void) {
    MPI_Request request;
    int word = 0;
    MPI_Send_init(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < ROUNDS; i++) {
        fill(&word, 1, i);
        dawdle();
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    phase("one request");
    if (world_rank == 0)
        one_request();
    else
        send_persistently();
    phase("several");
    if (world_rank == 0) {
        several();
    } else {
        send_persistently();
        if (world_rank == 1)
            MPI_Send(&world_size, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
    end();
    return 0;
}
