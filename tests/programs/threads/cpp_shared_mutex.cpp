// std::shared_mutex and shared_timed_mutex: readers see what writers left.
#include "trails.hpp"

#include <chrono>
#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;

static std::shared_mutex shared;
static std::shared_timed_mutex timed;
static struct trail trail, trail_timed;

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        work();
        if ((i + number) % 4 == 0) {
            std::unique_lock<std::shared_mutex> lock(shared);
            step("wrote", &trail);
        } else if (i % 3 == 0) {
            std::shared_lock<std::shared_mutex> lock(shared, std::try_to_lock);
            observe("tried", lock ? trail.length : -1);
        } else {
            std::shared_lock<std::shared_mutex> lock(shared);
            observe("read", trail.length);
        }
        if ((i + number) % 3 == 0) {
            std::unique_lock<std::shared_timed_mutex> lock(timed, 20us);
            observe("limit", lock.owns_lock());
            if (lock) {
                step("wrote", &trail_timed);
                work();
            }
        } else {
            std::shared_lock<std::shared_timed_mutex> lock(timed, 20us);
            observe("saw", lock ? trail_timed.length : -1);
            work();
        }
    }
}

int main() {
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("shared", &trail);
    trail_print("timed", &trail_timed);
}
