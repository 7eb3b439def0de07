// std::async, promises and packaged tasks. Waiting for a future uses atomics that nobody records; what is
// waited for does not vary, the order of the mutex does.
#include "trails.hpp"

#include <future>
#include <mutex>
#include <stdexcept>

static std::mutex mutex;
static struct trail trail;

static long visit(const char *what) {
    std::lock_guard<std::mutex> lock(mutex);
    step(what, &trail);
    return trail.length;
}

static long task(int number) {
    observer.rank = number;
    work();
    long place = visit("task");
    work();
    if (number % 5 == 0)
        throw std::runtime_error("every fifth");
    return place + visit("again");
}

static void body(int number) {
    for (int i = 0; i < 6; i++) {
        std::vector<std::future<long>> futures;
        for (int k = 0; k < 3; k++)
            futures.push_back(std::async(std::launch::async, task, number * 100 + i * 3 + k));
        std::packaged_task<long(int)> packaged(task);
        std::future<long> fourth = packaged.get_future();
        std::thread runner(std::move(packaged), number * 100 + 51 + i);
        std::promise<long> promise;
        std::shared_future<long> promised = promise.get_future().share();
        std::thread promiser([&promise] { promise.set_value(visit("promised")); });
        observe("promised", promised.get());
        futures.push_back(std::move(fourth));
        for (std::future<long> &future : futures) {
            try {
                observe("result", future.get());
            } catch (const std::runtime_error &) {
                observe("failed", i);
            }
        }
        runner.join();
        promiser.join();
    }
}

int main() {
    observe_open(0);
    run_threads(3, body);
    trail_print("all", &trail);
}
