// A C++ program: containers of requests, wildcard receives completed as they come.
#include "messages.h"

#include <algorithm>
#include <map>
#include <vector>

namespace {
struct Arrival {
    int source;
    int tag;
    int word;
};

std::vector<Arrival> receive_all(int count) {
    std::vector<MPI_Request> requests(count);
    std::vector<int> words(count);
    std::vector<Arrival> arrivals;
    for (int i = 0; i < count; i++)
        MPI_Irecv(&words[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
    while (static_cast<int>(arrivals.size()) < count) {
        std::vector<MPI_Status> statuses(count);
        std::vector<int> indices(count);
        int done = 0;
        MPI_Waitsome(count, requests.data(), &done, indices.data(), statuses.data());
        for (int i = 0; i < done; i++) {
            observe("index", indices[i]);
            arrivals.push_back({statuses[i].MPI_SOURCE, statuses[i].MPI_TAG, words[indices[i]]});
        }
    }
    return arrivals;
}
} // namespace

int main(int argc, char **argv) {
    begin(&argc, &argv);
    phase("start");
    if (world_rank == 0) {
        std::map<int, int> last;
        for (const Arrival &arrival : receive_all((world_size - 1) * ROUNDS)) {
            observe("source", arrival.source);
            observe("tag", arrival.tag);
            observe("word", arrival.word);
            last[arrival.source] = arrival.word;
        }
        std::for_each(last.begin(), last.end(), [](const std::pair<const int, int> &entry) {
            observe("last", entry.second);
        });
    } else {
        send_stream(MPI_COMM_WORLD, 0, ROUNDS, 1, 3);
    }
    end();
    return 0;
}
