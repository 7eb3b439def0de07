// Done by whoever comes first: std::call_once, also one that throws and is called again, and variables of
// a function that are made when it is first called.
#include "trails.hpp"

#include <array>
#include <mutex>
#include <utility>

enum { THINGS = 24 };

static std::mutex mutex;
static struct trail trail;
static std::array<std::once_flag, THINGS> flags;
static std::array<int, THINGS> refusals;

static void visit(const char *what, long value) {
    std::lock_guard<std::mutex> lock(mutex);
    step_value(what, &trail, value);
}

struct thing {
    int maker;
    explicit thing(long which) : maker(observer.rank) {
        visit("made", which);
        work();
    }
};

template <int which> static int maker() {
    static thing it(which);
    return it.maker;
}

template <int... which> static void make_all(std::integer_sequence<int, which...>, int number) {
    int (*makers[])() = {maker<which>...};
    for (int i = 0; i < THINGS; i++) {
        int at = number % 2 ? i : i ^ 1;
        work();
        observe("maker", makers[at]());
        try {
            std::call_once(flags[at], [at] {
                visit("once", at);
                if (refusals[at]++ < at % 3)
                    throw at;
                work();
            });
        } catch (int refused) {
            observe("refused", refused);
        }
    }
}

int main() {
    observe_open(0);
    run_threads(THREADS, [](int number) {
        make_all(std::make_integer_sequence<int, THINGS>(), number);
    });
    trail_print("all", &trail);
}
