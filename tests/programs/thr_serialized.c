/* Threads that see to it themselves that only one is in MPI. */
#include "crew.h"

enum { EACH = 20, MEMBERS = 2 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void receive(int number) {
    for (int i = 0; i < EACH; i++) {
        int flag = 0, words[3];
        long asked = 0;
        while (!flag) {
            MPI_Status status;
            pthread_mutex_lock(&mutex);
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
            if (flag) {
                MPI_Recv(words, 3, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                         &status);
                observe_message(&status, words);
            }
            pthread_mutex_unlock(&mutex);
            asked++;
            if (!flag)
                dawdle();
        }
        observe("asked", asked);
        int answer[2] = {number, i};
        pthread_mutex_lock(&mutex);
        MPI_Send(answer, 2, MPI_INT, words[0], 3, MPI_COMM_WORLD);
        pthread_mutex_unlock(&mutex);
    }
}

int main(int argc, char **argv) {
    begin_with(&argc, &argv, MPI_THREAD_SERIALIZED);
    phase("serialized");
    if (world_rank == 0)
        run_crew(MEMBERS, receive);
    else
        for (int i = 0; i < MEMBERS * EACH; i++)
            if (i % (world_size - 1) == world_rank - 1) {
                int words[3] = {world_rank, i, 0}, answer[2];
                dawdle();
                MPI_Send(words, 3, MPI_INT, 0, i % 3, MPI_COMM_WORLD);
                MPI_Recv(answer, 2, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                observe("thread", answer[0]);
                observe("round", answer[1]);
            }
    end();
    return 0;
}
