// C++: std::atomic of several sizes, a spin lock of std::atomic_flag, shared pointers; compiled by
// `refrain cc --cxx`.
#include "team.h"

#include <atomic>
#include <memory>

namespace {

struct pair {
    long first, second;
};
struct many {
    long values[4];
};

std::atomic<int> counter;
std::atomic<double> sum;
std::atomic<pair> two;
std::atomic<many> four;
std::atomic<bool> go;
std::atomic_flag flag = ATOMIC_FLAG_INIT;
struct trail kept;

struct owned {
    ~owned() { step(&kept, 1); }
};

} // namespace

int main() {
    team_open();
    auto shared = std::make_shared<owned>();
#pragma omp parallel firstprivate(shared)
    {
        if (omp_get_thread_num() == 0)
            go = true;
        while (!go)
            sched_yield();
        for (int i = 0; i < ROUNDS; i++) {
            observe("counter", counter++);
            double before = sum;
            while (!sum.compare_exchange_weak(before, before * 1.01 + i))
                observe("again", i);
            pair old = two.load();
            while (!two.compare_exchange_strong(old, {old.first + 1, observer.rank}))
                observe("again", 2);
            observe("two", old.second);
            many all = four.exchange({{i, observer.rank, 0, 0}});
            observe("four", all.values[1]);
            work();
            while (flag.test_and_set())
                sched_yield();
            step(&kept, i);
            flag.clear();
        }
        shared.reset();
    }
    shared.reset();
    printf("trail: %a\n", sum.load());
    fflush(stdout);
    trail_print("kept", &kept);
    team_close();
    return 0;
}
