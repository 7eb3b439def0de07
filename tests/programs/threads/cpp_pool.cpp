// A pool of workers with one queue. Tasks may add tasks; results are collected as they come.
#include "trails.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>

class pool {
  public:
    explicit pool(int count) {
        for (int number = 1; number <= count; number++)
            workers.emplace_back([this, number] { run(number); });
    }
    ~pool() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            ends = true;
        }
        changed.notify_all();
        for (std::thread &worker : workers)
            worker.join();
    }
    void add(std::function<void()> task) {
        {
            std::lock_guard<std::mutex> lock(mutex);
            tasks.push(std::move(task));
        }
        changed.notify_one();
    }

  private:
    void run(int number) {
        observe_open(number);
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [this] { return ends || !tasks.empty(); });
            if (tasks.empty())
                break;
            std::function<void()> task = std::move(tasks.front());
            tasks.pop();
            lock.unlock();
            task();
        }
        observe_close();
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::queue<std::function<void()>> tasks;
    std::vector<std::thread> workers;
    bool ends = false;
};

class results {
  public:
    void add(long value) {
        std::lock_guard<std::mutex> lock(mutex);
        step_value("result", &trail, value);
        changed.notify_all();
    }
    void await(long count) {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this, count] { return trail.length >= count; });
    }
    struct trail trail = {};

  private:
    std::mutex mutex;
    std::condition_variable changed;
};

int main() {
    enum { TASKS = 60 };
    observe_open(0);
    results collected;
    {
        pool workers(THREADS);
        for (long i = 0; i < TASKS; i++)
            workers.add([&workers, &collected, i] {
                work();
                // On the heap, and let go of by another thread than it was made by.
                std::shared_ptr<long> part = std::make_shared<long>(i * 1000);
                workers.add([&collected, part] {
                    work();
                    collected.add(*part);
                });
                collected.add(i);
            });
        collected.await(2 * TASKS);
    }
    trail_print("results", &collected.trail);
}
