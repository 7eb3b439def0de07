// std::condition_variable and condition_variable_any, with and without limits; one that is told at the end
// of its thread. Whether a limit has passed is not looked at: the library asks the clock for that, not the
// call that waited.
#include "trails.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

using namespace std::chrono_literals;

static std::mutex mutex;
static std::condition_variable more, ended;
static std::condition_variable_any any;
static long items, givers = 2;
static bool over;
static struct trail trail;

static void give() {
    for (int i = 0; i < ROUNDS; i++) {
        work();
        {
            std::lock_guard<std::mutex> lock(mutex);
            items++;
            step("gave", &trail);
            if (i == ROUNDS - 1)
                givers--;
        }
        if (i == ROUNDS - 1) {
            more.notify_all();
            any.notify_all();
        } else {
            more.notify_one();
            if (i % 2)
                any.notify_one();
        }
    }
}

static void take(int number) {
    std::unique_lock<std::mutex> lock(mutex);
    while (items > 0 || givers > 0) {
        if (items > 0) {
            items--;
            step("took", &trail);
            lock.unlock();
            work();
            lock.lock();
        } else if (number == 3) {
            more.wait_for(lock, 20us);
            observe("woke", trail.length);
        } else if (number == 4) {
            more.wait_until(lock, std::chrono::system_clock::now() + 20us);
            observe("woke", trail.length);
        } else {
            any.wait_for(lock, 30us);
            observe("woke", trail.length);
        }
    }
}

int main() {
    observe_open(0);
    std::thread late([] {
        std::unique_lock<std::mutex> lock(mutex);
        over = true;
        std::notify_all_at_thread_exit(ended, std::move(lock));
    });
    late.detach();
    run_threads(5, [](int number) {
        if (number <= 2)
            give();
        else
            take(number);
    });
    std::unique_lock<std::mutex> lock(mutex);
    ended.wait(lock, [] { return over; });
    trail_print("all", &trail);
}
