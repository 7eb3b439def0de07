// Variables of functions and std::call_once again, with nothing in them or between them that takes a turn:
// which of several in a row a thread makes, and who makes what another one has given up.
#include "trails.hpp"

#include <array>
#include <mutex>
#include <utility>

enum { THINGS = 24 };

static std::array<int, THINGS> refusals[2]; // only who makes the thing looks at it
static std::array<std::once_flag, THINGS> flags;
static std::array<int, THINGS> makers;

static int make(int kind, int which) {
    work();
    if (refusals[kind][which]++ < which % 3)
        throw which;
    return observer.rank;
}

template <int which> static int maker() {
    static int it = make(0, which);
    return it;
}

template <typename Get> static void meet(const char *what, Get get) {
    try {
        observe(what, get());
    } catch (int refused) {
        observe("refused", refused);
    }
}

template <int... which> static void meet_all(std::integer_sequence<int, which...>) {
    int (*variables[])() = {maker<which>...};
    for (int i = 0; i < THINGS; i++) {
        if (dice(4) == 0)
            work();
        meet("variable", variables[i]);
        if (dice(4) == 0)
            work();
        meet("once", [i] {
            std::call_once(flags[i], [i] { makers[i] = make(1, i); });
            return makers[i];
        });
    }
}

int main() {
    observe_open(0);
    run_threads(THREADS, [](int) { meet_all(std::make_integer_sequence<int, THINGS>()); });
}
