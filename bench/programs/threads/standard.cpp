// The C++ standard library: a pool of threads takes tasks from a queue, works on each for a few
// microseconds, and adds up what it found.
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "threads.h"

namespace {

using Task = std::function<std::uint64_t(int)>;

class Pool {
  public:
    explicit Pool(int threads) {
        for (int number = 0; number < threads; number++)
            workers.emplace_back([this, number] { serve(number); });
    }

    void submit(Task task) {
        {
            std::lock_guard<std::mutex> guard(mutex);
            tasks.push_back(std::move(task));
        }
        filled.notify_one();
    }

    // No more tasks: waits for all of them. Depends on who took which task, and when it was done.
    std::uint64_t finish() {
        {
            std::lock_guard<std::mutex> guard(mutex);
            over = true;
        }
        filled.notify_all();
        for (std::thread &worker : workers)
            worker.join();
        return hash;
    }

  private:
    void serve(int number) {
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex);
            filled.wait(lock, [this] { return over || !tasks.empty(); });
            if (tasks.empty())
                return;
            Task task = std::move(tasks.front());
            tasks.pop_front();
            lock.unlock();
            std::uint64_t value = task(number);
            std::lock_guard<std::mutex> guard(results);
            hash = mixed(hash, value);
        }
    }

    std::mutex mutex, results;
    std::condition_variable filled;
    std::deque<Task> tasks;
    std::vector<std::thread> workers;
    std::uint64_t hash = 0;
    bool over = false;
};

} // namespace

int main(int argc, char **argv) {
    long size = argument(argc, argv, 1, 100000);
    long threads = argument(argc, argv, 2, 4);
    double started = now(), spent_before = spent();
    Pool pool(static_cast<int>(threads));
    for (long task = 0; task < size; task++)
        pool.submit([task](int number) {
            double value = work(static_cast<std::uint64_t>(task), 500);
            return static_cast<std::uint64_t>(value * 1e6) * THREADS_MOST +
                   static_cast<std::uint64_t>(number);
        });
    std::uint64_t hash = pool.finish();
    report("standard", size, threads, hash, now() - started, spent() - spent_before);
}
