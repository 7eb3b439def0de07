// A C++ program: a class for a node, whose messages come from any sender.
#include <mcapi.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int senders = 3, rounds = 8;

class Node {
  public:
    explicit Node(unsigned number) {
        mcapi_param_t parameters{};
        mcapi_info_t info;
        mcapi_initialize(0, number, nullptr, &parameters, &info, &status_);
        check();
        endpoint_ = mcapi_endpoint_create(1, &status_);
        check();
    }
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;
    ~Node() {
        mcapi_endpoint_delete(endpoint_, &status_);
        mcapi_finalize(&status_);
    }
    void send(int word) {
        mcapi_endpoint_t to = mcapi_endpoint_get(0, 0, 1, MCAPI_TIMEOUT_INFINITE, &status_);
        check();
        mcapi_msg_send(endpoint_, to, &word, sizeof word, 1, &status_);
        check();
    }
    int receive() {
        int word = 0;
        std::size_t size = 0;
        mcapi_msg_recv(endpoint_, &word, sizeof word, &size, &status_);
        check();
        return word;
    }

  private:
    void check() const {
        if (status_ != MCAPI_SUCCESS)
            std::abort();
    }
    mcapi_status_t status_ = MCAPI_SUCCESS;
    mcapi_endpoint_t endpoint_ = 0;
};

void run(unsigned number) {
    Node node(number);
    for (int i = 0; i < rounds && number > 0; i++) {
        std::this_thread::yield();
        node.send(static_cast<int>(number) * 100 + i);
    }
    for (int i = 0; i < rounds * senders && number == 0; i++)
        std::printf("node 0: %d got %d\n", i, node.receive());
}

} // namespace

int main() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i <= senders; i++)
        threads.emplace_back(run, i);
    for (std::thread &thread : threads)
        thread.join();
}
