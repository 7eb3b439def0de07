/* Loops whose parts are handed out as threads ask for them: dynamic, guided, and what the program
   or the environment chooses at run time.

   What a thread got is a value of its own, and a replay gives it the same. It still asks libgomp
   for as many parts as were recorded, so that what is left of the loop is the same too, should the
   recording end in the middle of it.

   In an ordered loop libgomp also has to know who has which part. There a replay asks for every
   part that was recorded, in the order in which they were handed out; this is the order of the
   iterations themselves, so it need not be recorded. */
#include "threads/openmp.h"
#include "threads/openmp_coding.h"

typedef unsigned long long ull;

struct chunk {
    uint64_t start, end;
};

static _Thread_local struct chunk last __attribute__((tls_model("initial-exec")));

static void record_chunk(struct rf_thread *self, uintptr_t address, bool got, uint64_t start,
                         uint64_t end) {
    if (!got) {
        rf_step_record(self, RF_OP_OMP_CHUNK);
        return;
    }
    int64_t distance = (int64_t)(start - last.end);
    int64_t length = (int64_t)(end - start);
    if (distance >= INT64_MAX / 8 || distance <= INT64_MIN / 8) {
        rf_value_record(self, RF_OP_OMP_CHUNK, address, RF_CHUNK_FAR);
        rf_value_record(self, RF_OP_OMP_CHUNK_PART, address, (int64_t)start);
        rf_value_record(self, RF_OP_OMP_CHUNK_PART, address, length);
    } else if (end - start == last.end - last.start) {
        rf_value_record(self, RF_OP_OMP_CHUNK, address, distance * 4 + RF_CHUNK_SAME_LENGTH);
    } else {
        rf_value_record(self, RF_OP_OMP_CHUNK, address, distance * 4 + RF_CHUNK_NEW_LENGTH);
        rf_value_record(self, RF_OP_OMP_CHUNK_PART, address, length);
    }
    last = (struct chunk){start, end};
}

/* False: there was no chunk any more, or nothing more is recorded of the thread: rf_here() then
   says so. */
static bool play_chunk(struct rf_thread *self, uintptr_t address, struct chunk *chunk) {
    int64_t value;
    if (!rf_step_play(self, RF_OP_OMP_CHUNK, address, &value))
        return false;
    uint64_t length = last.end - last.start;
    chunk->start = last.end + (uint64_t)(value >> 2);
    if ((value & 3) == RF_CHUNK_FAR)
        chunk->start = (uint64_t)rf_value_play(self, RF_OP_OMP_CHUNK_PART, address);
    if ((value & 3) != RF_CHUNK_SAME_LENGTH)
        length = (uint64_t)rf_value_play(self, RF_OP_OMP_CHUNK_PART, address);
    chunk->end = chunk->start + length;
    last = *chunk;
    return !self->free;
}

/* ---- ordered loops, in a replay ---- */

struct rf_omp_gate {
    struct rf_omp_gate *next;
    uint64_t number;   /* of the loop in its team */
    uint64_t position; /* all iterations before it are handed out */
    uint64_t end;
    unsigned done; /* threads that got to know that there is nothing more */
};

/* Every member meets the team's ordered loops in the same order. */
static struct rf_omp_gate *find_gate(struct rf_omp_member *member, uint64_t start, uint64_t end) {
    struct rf_omp_team *team = member->team;
    uint64_t number = member->ordered++;
    rf_omp_lock(&team->lock);
    struct rf_omp_gate *gate = team->gates;
    while (gate && gate->number != number)
        gate = gate->next;
    if (!gate) {
        gate = rf_omp_allocate(sizeof *gate);
        *gate = (struct rf_omp_gate){team->gates, number, start, end, 0};
        team->gates = gate;
    }
    rf_omp_unlock(&team->lock);
    return gate;
}

static void leave_gate(struct rf_omp_member *member) {
    struct rf_omp_team *team = member->team;
    struct rf_omp_gate *gate = member->gate;
    member->gate = NULL;
    rf_omp_lock(&team->lock);
    bool finished = ++gate->done == team->size;
    if (finished) {
        struct rf_omp_gate **link = &team->gates;
        while (*link != gate)
            link = &(*link)->next;
        *link = gate->next;
    }
    rf_omp_unlock(&team->lock);
    if (finished)
        rf_omp_free(gate);
}

void rf_omp_gates_free(struct rf_omp_team *team) {
    for (struct rf_omp_gate *gate = team->gates, *next; gate; gate = next) {
        next = gate->next;
        rf_omp_free(gate);
    }
}

static bool is_reached(void *what, uint64_t position) {
    const struct rf_omp_gate *gate = what;
    return __atomic_load_n(&gate->position, __ATOMIC_ACQUIRE) == position;
}

/* ---- hooks ---- */

/* What the thread is to do about a chunk that the program asks for. */
struct asking {
    struct rf_thread *self; /* NULL: nothing */
    uintptr_t address;
    bool got;
    struct chunk chunk;
};

static struct asking before(bool first, bool fixed, uintptr_t address) {
    struct rf_omp_member *member = rf_omp_member;
    struct asking asking = {.address = address};
    if (!member)
        return asking; /* alone, it gets everything */
    if (first)
        member->loop_fixed = fixed;
    if (!member->loop_fixed)
        asking.self = rf_here();
    if (asking.self && rf_threads.replays)
        asking.got = play_chunk(asking.self, address, &asking.chunk);
    return asking;
}

/* The result is the recorded one, unless the recording is at its end. */
static bool after(const struct asking *asking, bool got, uint64_t *start, uint64_t *end) {
    struct rf_thread *self = asking->self;
    if (!self || self->free)
        return got;
    if (!rf_threads.replays) {
        record_chunk(self, asking->address, got, got ? *start : 0, got ? *end : 0);
        return got;
    }
    if (asking->got) {
        *start = asking->chunk.start;
        *end = asking->chunk.end;
    }
    return asking->got;
}

/* An ordered loop: waits until this chunk is the next one. */
static void before_ordered(const struct asking *asking) {
    struct rf_thread *self = asking->self;
    struct rf_omp_gate *gate = rf_omp_member ? rf_omp_member->gate : NULL;
    if (self && !self->free && rf_threads.replays && gate)
        rf_omp_await(self, RF_OP_OMP_CHUNK, asking->address, is_reached, gate,
                     asking->got ? asking->chunk.start : gate->end);
}

static bool after_ordered(const struct asking *asking, bool got, uint64_t *start, uint64_t *end) {
    struct rf_thread *self = asking->self;
    struct rf_omp_member *member = rf_omp_member;
    if (self && !self->free && rf_threads.replays && member->gate) {
        const struct chunk *chunk = &asking->chunk;
        if (got != asking->got || (got && (*start != chunk->start || *end != chunk->end)))
            rf_turn_differs(self, RF_OP_OMP_CHUNK, asking->address,
                            "the ordered loop is divided in another way than it was recorded");
        if (got) {
            __atomic_store_n(&member->gate->position, chunk->end, __ATOMIC_RELEASE);
            rf_omp_changed();
        } else {
            leave_gate(member);
        }
    }
    return after(asking, got, start, end);
}

static void begin_ordered(const struct asking *asking, uint64_t start, uint64_t end, bool empty) {
    if (asking->self && rf_threads.replays)
        rf_omp_member->gate = find_gate(rf_omp_member, start, empty ? start : end);
}

#define FIRST(fixed, call)                                                                         \
    do {                                                                                           \
        struct asking asking = before(true, fixed, RF_HERE_ADDRESS);                               \
        bool got = rf_gomp()->call;                                                                \
        return after(&asking, got, (uint64_t *)from, (uint64_t *)to);                              \
    } while (0)

/* In a replay there may still be chunks for a thread that got none. */
#define NEXT(name, type)                                                                           \
    bool name(type *from, type *to) {                                                              \
        struct asking asking = before(false, false, RF_HERE_ADDRESS);                              \
        bool none = asking.self && !asking.self->free && rf_threads.replays && !asking.got;        \
        bool got = !none && rf_gomp()->name(from, to);                                             \
        return after(&asking, got, (uint64_t *)from, (uint64_t *)to);                              \
    }

#define FIRST_ORDERED(fixed, empty, call)                                                          \
    do {                                                                                           \
        struct asking asking = before(true, fixed, RF_HERE_ADDRESS);                               \
        begin_ordered(&asking, (uint64_t)start, (uint64_t)end, empty);                             \
        before_ordered(&asking);                                                                   \
        bool got = rf_gomp()->call;                                                                \
        return after_ordered(&asking, got, (uint64_t *)from, (uint64_t *)to);                      \
    } while (0)

#define NEXT_ORDERED(name, type)                                                                   \
    bool name(type *from, type *to) {                                                              \
        struct asking asking = before(false, false, RF_HERE_ADDRESS);                              \
        before_ordered(&asking);                                                                   \
        bool got = rf_gomp()->name(from, to);                                                      \
        return after_ordered(&asking, got, (uint64_t *)from, (uint64_t *)to);                      \
    }

#define EMPTY (step > 0 ? start > end : start < end)
#define EMPTY_ULL (up ? start > end : start < end)

#define LOOP(kind)                                                                                 \
    bool GOMP_loop_##kind##_start(long start, long end, long step, long chunk, long *from,         \
                                  long *to) {                                                      \
        FIRST(false, GOMP_loop_##kind##_start(start, end, step, chunk, from, to));                 \
    }                                                                                              \
    bool GOMP_loop_ull_##kind##_start(bool up, ull start, ull end, ull step, ull chunk, ull *from, \
                                      ull *to) {                                                   \
        FIRST(false, GOMP_loop_ull_##kind##_start(up, start, end, step, chunk, from, to));         \
    }                                                                                              \
    NEXT(GOMP_loop_##kind##_next, long)                                                            \
    NEXT(GOMP_loop_ull_##kind##_next, ull)

LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)

#define LOOP_RUNTIME(kind)                                                                         \
    bool GOMP_loop_##kind##_start(long start, long end, long step, long *from, long *to) {         \
        FIRST(rf_omp_schedule_fixed(), GOMP_loop_##kind##_start(start, end, step, from, to));      \
    }                                                                                              \
    bool GOMP_loop_ull_##kind##_start(bool up, ull start, ull end, ull step, ull *from, ull *to) { \
        FIRST(rf_omp_schedule_fixed(),                                                             \
              GOMP_loop_ull_##kind##_start(up, start, end, step, from, to));                       \
    }                                                                                              \
    NEXT(GOMP_loop_##kind##_next, long)                                                            \
    NEXT(GOMP_loop_ull_##kind##_next, ull)

LOOP_RUNTIME(runtime)
LOOP_RUNTIME(nonmonotonic_runtime)
LOOP_RUNTIME(maybe_nonmonotonic_runtime)

#define LOOP_ORDERED(kind)                                                                         \
    bool GOMP_loop_##kind##_start(long start, long end, long step, long chunk, long *from,         \
                                  long *to) {                                                      \
        FIRST_ORDERED(false, EMPTY, GOMP_loop_##kind##_start(start, end, step, chunk, from, to));  \
    }                                                                                              \
    bool GOMP_loop_ull_##kind##_start(bool up, ull start, ull end, ull step, ull chunk, ull *from, \
                                      ull *to) {                                                   \
        FIRST_ORDERED(false, EMPTY_ULL,                                                            \
                      GOMP_loop_ull_##kind##_start(up, start, end, step, chunk, from, to));        \
    }                                                                                              \
    NEXT_ORDERED(GOMP_loop_##kind##_next, long)                                                    \
    NEXT_ORDERED(GOMP_loop_ull_##kind##_next, ull)

LOOP_ORDERED(ordered_dynamic)
LOOP_ORDERED(ordered_guided)

bool GOMP_loop_ordered_runtime_start(long start, long end, long step, long *from, long *to) {
    FIRST_ORDERED(rf_omp_schedule_fixed(), EMPTY,
                  GOMP_loop_ordered_runtime_start(start, end, step, from, to));
}

bool GOMP_loop_ull_ordered_runtime_start(bool up, ull start, ull end, ull step, ull *from,
                                         ull *to) {
    FIRST_ORDERED(rf_omp_schedule_fixed(), EMPTY_ULL,
                  GOMP_loop_ull_ordered_runtime_start(up, start, end, step, from, to));
}

NEXT_ORDERED(GOMP_loop_ordered_runtime_next, long)
NEXT_ORDERED(GOMP_loop_ull_ordered_runtime_next, ull)

/* Iterations that wait for each other: libgomp finds them by their numbers, whoever runs them. */
#define FIRST_CROSSING(fixed, call)                                                                \
    do {                                                                                           \
        rf_omp_crossing(count);                                                                    \
        FIRST(fixed, call);                                                                        \
    } while (0)

#define LOOP_DOACROSS(kind, fixed)                                                                 \
    bool GOMP_loop_doacross_##kind##_start(unsigned count, long *counts, long chunk, long *from,   \
                                           long *to) {                                             \
        FIRST_CROSSING(fixed, GOMP_loop_doacross_##kind##_start(count, counts, chunk, from, to));  \
    }                                                                                              \
    bool GOMP_loop_ull_doacross_##kind##_start(unsigned count, ull *counts, ull chunk, ull *from,  \
                                               ull *to) {                                          \
        FIRST_CROSSING(fixed,                                                                      \
                       GOMP_loop_ull_doacross_##kind##_start(count, counts, chunk, from, to));     \
    }

LOOP_DOACROSS(static, true)
LOOP_DOACROSS(dynamic, false)
LOOP_DOACROSS(guided, false)

bool GOMP_loop_doacross_runtime_start(unsigned count, long *counts, long *from, long *to) {
    FIRST_CROSSING(rf_omp_schedule_fixed(),
                   GOMP_loop_doacross_runtime_start(count, counts, from, to));
}

bool GOMP_loop_ull_doacross_runtime_start(unsigned count, ull *counts, ull *from, ull *to) {
    FIRST_CROSSING(rf_omp_schedule_fixed(),
                   GOMP_loop_ull_doacross_runtime_start(count, counts, from, to));
}

/* The general form. Without `from` the compiler divides the loop itself. */
static bool is_fixed(long schedule, const void *from) {
    enum { RUNTIME = 0, STATIC = 1, AUTO = 4 };
    long kind = schedule & 7;
    return !from || (kind == RUNTIME ? rf_omp_schedule_fixed() : kind == STATIC || kind == AUTO);
}

bool GOMP_loop_start(long start, long end, long step, long schedule, long chunk, long *from,
                     long *to, uintptr_t *reductions, void **memory) {
    FIRST(is_fixed(schedule, from),
          GOMP_loop_start(start, end, step, schedule, chunk, from, to, reductions, memory));
}

bool GOMP_loop_ull_start(bool up, ull start, ull end, ull step, long schedule, ull chunk, ull *from,
                         ull *to, uintptr_t *reductions, void **memory) {
    FIRST(is_fixed(schedule, from),
          GOMP_loop_ull_start(up, start, end, step, schedule, chunk, from, to, reductions, memory));
}

bool GOMP_loop_ordered_start(long start, long end, long step, long schedule, long chunk, long *from,
                             long *to, uintptr_t *reductions, void **memory) {
    FIRST_ORDERED(
        is_fixed(schedule, from), EMPTY,
        GOMP_loop_ordered_start(start, end, step, schedule, chunk, from, to, reductions, memory));
}

bool GOMP_loop_ull_ordered_start(bool up, ull start, ull end, ull step, long schedule, ull chunk,
                                 ull *from, ull *to, uintptr_t *reductions, void **memory) {
    FIRST_ORDERED(is_fixed(schedule, from), EMPTY_ULL,
                  GOMP_loop_ull_ordered_start(up, start, end, step, schedule, chunk, from, to,
                                              reductions, memory));
}

bool GOMP_loop_doacross_start(unsigned count, long *counts, long schedule, long chunk, long *from,
                              long *to, uintptr_t *reductions, void **memory) {
    FIRST_CROSSING(
        is_fixed(schedule, from),
        GOMP_loop_doacross_start(count, counts, schedule, chunk, from, to, reductions, memory));
}

bool GOMP_loop_ull_doacross_start(unsigned count, ull *counts, long schedule, ull chunk, ull *from,
                                  ull *to, uintptr_t *reductions, void **memory) {
    FIRST_CROSSING(
        is_fixed(schedule, from),
        GOMP_loop_ull_doacross_start(count, counts, schedule, chunk, from, to, reductions, memory));
}
