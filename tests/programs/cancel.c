/* Cancels that race with messages: wildcard receives, completed in every way, persistent ones, some
   freed; receives of a named source and sends, where only what is sure to win or lose. */
#include "messages.h"

enum { FORMS = 9, TRIES = 4 * FORMS };

/* Lets the library get on, and time pass. */
static void meanwhile(void) {
    int flag;
    dawdle();
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* Completes requests[0], the only one that is active, in the given way. */
static void complete(int form, MPI_Request *requests, MPI_Status *status) {
    int flag = 0, index = 0, count = 0, indices[2];
    MPI_Status statuses[2];
    switch (form) {
    case 0:
        MPI_Wait(&requests[0], status);
        return;
    case 1:
        MPI_Waitall(2, requests, statuses);
        break;
    case 2:
        MPI_Waitany(2, requests, &index, &statuses[0]);
        break;
    case 3:
        MPI_Waitsome(2, requests, &count, indices, statuses);
        break;
    case 4:
        while (MPI_Test(&requests[0], &flag, &statuses[0]), !flag)
            continue;
        break;
    case 5:
        while (MPI_Testall(2, requests, &flag, statuses), !flag)
            continue;
        break;
    case 6:
        while (MPI_Testany(2, requests, &index, &flag, &statuses[0]), !flag)
            continue;
        break;
    case 7:
        while (MPI_Testsome(2, requests, &count, indices, statuses), !count)
            continue;
        break;
    default:
        while (MPI_Request_get_status(requests[0], &flag, &statuses[0]), !flag)
            continue;
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    *status = statuses[0];
}

static int observe_outcome(const MPI_Status *status, const int *word) {
    int cancelled;
    MPI_Test_cancelled(status, &cancelled);
    observe("cancelled", cancelled);
    if (!cancelled)
        observe_message(status, word);
    return cancelled;
}

static void receive_rest(int count, int tag) {
    int word;
    MPI_Status status;
    for (; count > 0; count--) {
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        observe_message(&status, &word);
    }
}

static void every_form(void) {
    int left = (world_size - 1) * ROUNDS;
    for (int i = 0; i < TRIES && left > 0; i++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status status;
        int word = -1;
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]);
        meanwhile();
        MPI_Cancel(&requests[0]);
        complete(i % FORMS, requests, &status);
        left -= !observe_outcome(&status, &word);
        observe("word", word);
        observe("gone", requests[0] == MPI_REQUEST_NULL);
    }
    receive_rest(left, 0);
}

/* The younger receive gets what the cancelled one did not; both are known late. */
static void two_at_once(void) {
    int left = (world_size - 1) * ROUNDS;
    while (left >= 2) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int words[2];
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[i]);
        meanwhile();
        MPI_Cancel(&requests[0]);
        if (left % 2) {
            MPI_Wait(&requests[1], &statuses[1]);
            MPI_Wait(&requests[0], &statuses[0]);
        } else {
            MPI_Waitall(2, requests, statuses);
        }
        left -= 1 + !observe_outcome(&statuses[0], &words[0]);
        observe_message(&statuses[1], &words[1]);
    }
    receive_rest(left, 0);
}

static void persistent(void) {
    int left = (world_size - 1) * ROUNDS;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    int word;
    MPI_Recv_init(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    for (int i = 0; i < TRIES && left > 0; i++) {
        MPI_Start(&requests[0]);
        meanwhile();
        if (i % 3)
            MPI_Cancel(&requests[0]);
        complete(i % FORMS, requests, &status);
        left -= !observe_outcome(&status, &word);
    }
    MPI_Request_free(&requests[0]);
    receive_rest(left, 0);
}

/* Nobody is told whether the cancel won; what the receives took is in the buffers. Each sender's
   last message comes after all its others. */
static void freed(void) {
    static int words[ROUNDS];
    int last;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request;
        MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
        meanwhile();
        MPI_Cancel(&request);
        MPI_Request_free(&request);
        observe("gone", request == MPI_REQUEST_NULL);
    }
    for (int i = 1; i < world_size; i++)
        MPI_Recv(&last, 1, MPI_INT, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    observe_data("words", words, sizeof words);
    for (int found = 1; found;) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        receive_rest(found, 0);
    }
}

/* Who comes first is told to send, the others are not: only its receive and send cannot be
   cancelled any more. */
static void named(void) {
    int word, first, words[64];
    MPI_Request requests[64];
    MPI_Status statuses[64], status;
    for (int i = 1; i < world_size; i++)
        MPI_Irecv(&words[i], 1, MPI_INT, i, 4, MPI_COMM_WORLD, &requests[i]);
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
    first = status.MPI_SOURCE;
    receive_rest(world_size - 2, 3);
    for (int i = 1; i < world_size; i++) {
        word = i == first;
        MPI_Send(&word, 1, MPI_INT, i, 5, MPI_COMM_WORLD);
    }
    MPI_Recv(&word, 1, MPI_INT, first, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i < world_size; i++)
        MPI_Cancel(&requests[i]);
    MPI_Waitall(world_size - 1, requests + 1, statuses + 1);
    for (int i = 1; i < world_size; i++)
        observe_outcome(&statuses[i], &words[i]);
}

static void maybe_send(void) {
    MPI_Request request;
    MPI_Status status;
    int word = world_rank, go, cancelled;
    dawdle();
    MPI_Send(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    MPI_Recv(&go, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    observe("go", go);
    if (!go)
        return;
    MPI_Isend(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
    MPI_Send(&word, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    observe("cancelled", cancelled);
}

/* Nobody duplicates it here. */
static int on_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag) {
    (void)comm, (void)key, (void)extra, (void)value, (void)copy;
    observe("copied", 0);
    *flag = 0;
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    static void (*const phases[])(void) = {every_form, two_at_once, persistent, freed};
    int key;
    begin(&argc, &argv);
    MPI_Comm_create_keyval(on_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    for (int i = 0; i < 4; i++) {
        phase("race");
        if (world_rank == 0) {
            phases[i]();
        } else {
            send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 1);
            if (phases[i] == freed)
                MPI_Send(&world_rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        phase("named");
        if (world_rank == 0)
            named();
        else
            maybe_send();
    }
    /* Neither completed nor freed: the end takes care of it. */
    static int never;
    MPI_Request request;
    MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    end();
    return 0;
}
