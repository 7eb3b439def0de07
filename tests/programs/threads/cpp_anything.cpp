// Threads that do anything, with what C++ has: cpp_anything SEED [STEPS]
//
// As in anything.c, what a thread does next follows from all that it has observed, a trail is only
// touched by who has its thing, and who has a thing visits only those above it. Waits for a limited
// time look at the clock themselves: only what comes of them under the lock is observed.
#include "trails.hpp"

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>

namespace {

constexpr int depth_most = 2, things_each = 5, levels = 16;
constexpr std::chrono::microseconds brief{60};

unsigned choose(unsigned sides) {
    observer.hash = observe_mix(observer.hash, "?", 1);
    return static_cast<unsigned>(observer.hash >> 29) % sides;
}

bool chance(unsigned sides) {
    return choose(sides) == 0;
}

void leave_trail(const char *what, trail &trail) {
    step(what, &trail);
    observe("trail", static_cast<long>(trail.hash));
}

struct Thing {
    explicit Thing(int its_level) : level(its_level) {}
    virtual ~Thing() = default;
    virtual void visit() = 0;
    const int level;
    trail steps{};
};

struct Party {
    Party *outer = nullptr;
    int depth = 0;
    std::vector<std::unique_ptr<Thing>> things;
    std::once_flag once;
    trail first{};
};

struct Person {
    Party *party = nullptr;
    int floor = -1, steps = 0, made = 0;
};
thread_local Person me;

void act();
void visit_above();

// While it has something of that level.
void stay(int level) {
    int floor = me.floor;
    me.floor = level;
    work();
    if (chance(3))
        visit_above();
    me.floor = floor;
}

// ---- things ----

// Any lock that one thread has at a time.
template <typename Mutex> struct Lock : Thing {
    using Thing::Thing;
    Mutex mutex;

    void inside() {
        leave_trail("inside", steps);
        stay(level);
    }
    void visit() override {
        if (chance(3)) {
            std::unique_lock lock(mutex, std::try_to_lock);
            observe("tried", lock.owns_lock());
            if (lock)
                inside();
            return;
        }
        std::lock_guard lock(mutex);
        inside();
    }
};

// The same, for a limited time.
template <typename Mutex> struct Timed : Thing {
    using Thing::Thing;
    Mutex mutex;

    void visit() override {
        std::unique_lock lock(mutex, std::defer_lock);
        bool had = chance(2) ? lock.try_lock_for(brief)
                             : lock.try_lock_until(std::chrono::system_clock::now() + brief);
        observe("had", had);
        if (!had)
            return;
        leave_trail("inside", steps);
        stay(level);
    }
};

template <typename Mutex> struct Shared : Thing {
    using Thing::Thing;
    Mutex mutex;

    void visit() override {
        if (chance(2)) {
            std::unique_lock lock(mutex);
            leave_trail("wrote", steps);
            stay(level);
            return;
        }
        std::shared_lock lock(mutex, std::defer_lock);
        if (chance(2))
            lock.lock();
        bool had = lock.owns_lock() || lock.try_lock();
        observe("read", had);
        if (!had)
            return;
        observe("trail", static_cast<long>(steps.hash));
        stay(level);
    }
};

template <typename Mutex, typename Condition> struct Monitor : Thing {
    using Thing::Thing;
    Mutex mutex;
    Condition changed;
    bool busy = false;

    bool enter() {
        std::unique_lock lock(mutex);
        for (unsigned patience = choose(4); busy && patience > 0; patience--)
            changed.wait_for(lock, brief);
        bool entered = !busy || chance(2);
        if (entered)
            changed.wait(lock, [this] { return !busy; });
        leave_trail(entered ? "enters" : "gives up", steps);
        if (entered)
            busy = true;
        else
            changed.notify_one();
        return entered;
    }
    void leave() {
        std::unique_lock lock(mutex);
        leave_trail("leaves", steps);
        busy = false;
        if (chance(2))
            lock.unlock();
        if (chance(2))
            changed.notify_all();
        else
            changed.notify_one();
    }
    void visit() override {
        if (!enter())
            return;
        stay(level);
        leave();
    }
};

std::unique_ptr<Thing> make_thing(int level) {
    switch (choose(7)) {
    case 0:
        return std::make_unique<Lock<std::mutex>>(level);
    case 1:
        return std::make_unique<Lock<std::recursive_mutex>>(level);
    case 2:
        return std::make_unique<Timed<std::timed_mutex>>(level);
    case 3:
        return std::make_unique<Shared<std::shared_mutex>>(level);
    case 4:
        return std::make_unique<Shared<std::shared_timed_mutex>>(level);
    case 5:
        return std::make_unique<Monitor<std::mutex, std::condition_variable>>(level);
    default:
        return std::make_unique<Monitor<std::recursive_mutex, std::condition_variable_any>>(level);
    }
}

void visit_above() {
    const Party *party = me.party;
    for (unsigned out = choose(static_cast<unsigned>(party->depth) + 1); out > 0; out--)
        party = party->outer;
    Thing &thing = *party->things[choose(things_each)];
    if (thing.level <= me.floor)
        return;
    observe("visits", thing.level);
    thing.visit();
}

// ---- threads ----

// Above all things.
std::mutex gate;
trail gate_trail;

void pass_gate(const char *what) {
    std::lock_guard lock(gate);
    leave_trail(what, gate_trail);
}

struct Farewell {
    ~Farewell() { pass_gate("farewell"); }
    int rounds = 0;
};
thread_local Farewell farewell;

struct First {
    First() { pass_gate("first of all"); }
    long number = observer.rank;
};

// Some fail, and leave it to others to come first.
void arrive() {
    try {
        std::call_once(me.party->once, [] {
            pass_gate("once");
            if (chance(3))
                throw std::runtime_error("not this one");
            leave_trail("first", me.party->first);
        });
        observe("first", static_cast<long>(me.party->first.hash));
    } catch (const std::runtime_error &) {
        observe("not first", 0);
    }
    static First first;
    observe("first of all", first.number);
}

// What a new thread needs to know of the one that makes it.
struct Guest {
    Person person;
    int number;
    uint64_t seed;

    static Guest next(int steps) {
        return {{me.party, me.floor, steps}, observer.rank * 1000 + ++me.made, observer.hash};
    }
    template <typename Function> long run(Function function) const {
        observe_open(number);
        observer.hash = observe_mix(seed, &number, sizeof number);
        me = person;
        farewell.rounds++;
        function();
        observe_close();
        return static_cast<long>(observer.hash);
    }
};

void be_guest() {
    arrive();
    for (int i = 0; i < me.steps; i++)
        act();
}

void hold_party() {
    std::vector<std::thread> guests;
    std::vector<std::future<long>> results;
    for (unsigned count = 2 + choose(3); count > 0; count--) {
        Guest guest = Guest::next(2 + me.steps / 2);
        std::packaged_task<long()> task([guest] { return guest.run(be_guest); });
        results.push_back(task.get_future());
        guests.emplace_back(std::move(task));
    }
    for (size_t i = 0; i < guests.size(); i++)
        visit_above();
    for (auto &result : results)
        observe("result", result.get());
    for (auto &guest : guests)
        guest.join();
}

void give_party() {
    Party *outer = me.party;
    if (outer->depth == depth_most || me.steps == 0)
        return;
    auto party = std::make_unique<Party>();
    party->outer = outer;
    party->depth = outer->depth + 1;
    for (int i = 0; i < things_each; i++)
        party->things.push_back(make_thing(party->depth * levels + i));
    me.party = party.get();
    hold_party();
    me.party = outer;
}

void send_for() {
    Guest guest = Guest::next(0);
    auto result = std::async(std::launch::async, [guest] {
        return guest.run([] {
            visit_above();
            visit_above();
        });
    });
    visit_above();
    observe("result", result.get());
}

void act() {
    switch (unsigned which = choose(24)) {
    case 0:
        give_party();
        break;
    case 1:
        send_for();
        break;
    default:
        observe("acts", which);
        visit_above();
    }
}

} // namespace

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
    Party world;
    observe_open(0);
    observer.hash = observe_mix(observer.hash, &seed, sizeof seed);
    me = {&world, -1, argc > 2 ? atoi(argv[2]) : 12};
    for (int i = 0; i < things_each; i++)
        world.things.push_back(make_thing(i));
    give_party();
    for (int i = 0; i < me.steps; i++)
        act();
    observe_close();
    return 0;
}
