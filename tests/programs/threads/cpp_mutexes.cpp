// std::mutex and its relatives, with the locks that hold them.
#include "trails.hpp"

#include <chrono>
#include <mutex>

using namespace std::chrono_literals;

static std::mutex plain, left, right;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static struct trail trail, trail_both, trail_recursive, trail_timed;

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        work();
        {
            std::lock_guard<std::mutex> lock(plain);
            step("plain", &trail);
        }
        {
            // Tries and backs off, so how often it locks varies as well.
            std::scoped_lock lock(number % 2 ? left : right, number % 2 ? right : left);
            step("both", &trail_both);
        }
        {
            std::unique_lock<std::recursive_mutex> lock(recursive, std::try_to_lock);
            observe("recursive", lock.owns_lock());
            if (lock) {
                std::lock_guard<std::recursive_mutex> again(recursive);
                step("recursive", &trail_recursive);
                work();
            }
        }
        if (i % 2 ? timed.try_lock_for(20us)
                  : timed.try_lock_until(std::chrono::system_clock::now() + 20us)) {
            step("timed", &trail_timed);
            work();
            timed.unlock();
        } else {
            observe("too late", i);
        }
    }
}

int main() {
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("plain", &trail);
    trail_print("both", &trail_both);
    trail_print("recursive", &trail_recursive);
    trail_print("timed", &trail_timed);
}
