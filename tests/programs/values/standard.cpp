// Clocks, random devices and threads of the C++ library.
#include <chrono>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

template <typename Clock> static void clock_now(const char *name) {
    std::cout << "thread 0: " << name << ' ' << Clock::now().time_since_epoch().count() << '\n';
}

int main() {
    clock_now<std::chrono::system_clock>("system_clock");
    clock_now<std::chrono::steady_clock>("steady_clock");
    clock_now<std::chrono::high_resolution_clock>("high_resolution_clock");
    for (const char *token : {"default", "/dev/urandom", "/dev/random", "rdrand", "rdseed",
                              "getentropy", "arc4random"}) {
        try {
            std::random_device device(token);
            std::cout << "thread 0: " << token << ' ' << device() << ' ' << device() << '\n';
        } catch (const std::exception &) {
            std::cout << "thread 0: " << token << " is not there\n";
        }
    }
    std::random_device seed;
    std::mt19937_64 generator(seed());
    std::cout << "thread 0: generator " << generator() << '\n';
    std::ifstream file("/dev/urandom", std::ios::binary);
    unsigned long long number = 0;
    file.read(reinterpret_cast<char *>(&number), sizeof number);
    std::cout << "thread 0: ifstream " << number << ' ' << file.get() << '\n';
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    std::this_thread::sleep_until(until);
    clock_now<std::chrono::steady_clock>("after sleeping");

    std::mutex lock;
    std::ostringstream told;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            std::random_device own;
            for (int k = 0; k < 20; k++) {
                unsigned value = own();
                auto time = std::chrono::steady_clock::now().time_since_epoch().count();
                std::lock_guard<std::mutex> guard(lock);
                told << ' ' << i << ':' << value % 1000 << '@' << time % 1000000;
            }
        });
    for (auto &thread : threads)
        thread.join();
    std::cout << "thread 0: told" << told.str() << '\n';
}
