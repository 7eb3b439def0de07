// C++20's latch, barrier and semaphores are atomics in the program itself, which nobody records. Here they
// fix an order; what varies is between them, at a mutex. std::jthread runs it all.
#include "trails.hpp"

#include <barrier>
#include <latch>
#include <mutex>
#include <semaphore>

static std::mutex mutex;
static struct trail trail;
static std::latch start(THREADS);
static std::barrier<> together(THREADS);
static std::binary_semaphore there(0), back(0);

static void visit(const char *what) {
    std::lock_guard<std::mutex> lock(mutex);
    step(what, &trail);
}

int main() {
    observe_open(0);
    {
        std::vector<std::jthread> threads;
        for (int number = 1; number <= THREADS; number++)
            threads.emplace_back([number] {
                observe_open(number);
                start.arrive_and_wait();
                for (int i = 0; i < ROUNDS; i++) {
                    work();
                    visit("locked");
                    if (number == 1) {
                        there.release();
                        back.acquire();
                    } else if (number == 2) {
                        there.acquire();
                        back.release();
                    }
                    visit("and again");
                    if (i % 4 == 0)
                        together.arrive_and_wait();
                }
                observe_close();
            });
    }
    trail_print("all", &trail);
}
