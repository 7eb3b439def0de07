// What the C++ programs share beyond trails.h.
#ifndef TRAILS_HPP
#define TRAILS_HPP

#include "trails.h"

#include <thread>
#include <vector>

// Threads 1 to `count`; the caller is thread 0.
template <typename Body> void run_threads(int count, Body body) {
    std::vector<std::thread> threads;
    for (int number = 1; number <= count; number++)
        threads.emplace_back([number, &body] {
            observe_open(number);
            body(number);
            observe_close();
        });
    for (std::thread &thread : threads)
        thread.join();
}

#endif
