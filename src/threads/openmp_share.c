/* Sections and single: who gets which. */
#include "threads/openmp.h"

static unsigned section(uintptr_t address, struct rf_thread *self, unsigned number) {
    if (number)
        rf_value_record(self, RF_OP_OMP_SECTION, address, number);
    else
        rf_step_record(self, RF_OP_OMP_SECTION);
    return number;
}

/* `number` is what the real call gave, which was needed to begin. */
static unsigned recorded_section(uintptr_t address, struct rf_thread *self, unsigned number) {
    int64_t value = 0;
    rf_step_play(self, RF_OP_OMP_SECTION, address, &value);
    return self->free ? number : (unsigned)value;
}

static struct rf_thread *member_here(void) {
    return rf_omp_member ? rf_here() : NULL;
}

#define BEGIN_SECTIONS(call)                                                                       \
    do {                                                                                           \
        struct rf_thread *self = member_here();                                                    \
        unsigned number = rf_gomp()->call;                                                         \
        if (!self)                                                                                 \
            return number;                                                                         \
        return rf_threads.replays ? recorded_section(RF_HERE_ADDRESS, self, number)                \
                                  : section(RF_HERE_ADDRESS, self, number);                        \
    } while (0)

unsigned GOMP_sections_start(unsigned count) {
    BEGIN_SECTIONS(GOMP_sections_start(count));
}

unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory) {
    BEGIN_SECTIONS(GOMP_sections2_start(count, reductions, memory));
}

unsigned GOMP_sections_next(void) {
    struct rf_thread *self = member_here();
    if (self && rf_threads.replays) {
        unsigned number = recorded_section(RF_HERE_ADDRESS, self, 0);
        if (!number && !self->free)
            return 0;
        unsigned real = rf_gomp()->GOMP_sections_next();
        return self->free ? real : number;
    }
    unsigned number = rf_gomp()->GOMP_sections_next();
    return self ? section(RF_HERE_ADDRESS, self, number) : number;
}

static bool is_chosen(void *what, uint64_t number) {
    return __atomic_load_n((uint64_t *)what, __ATOMIC_ACQUIRE) > number;
}

/* The recorded one comes first, so libgomp chooses it: whoever met this single had met all those
   before it, so a count tells how many have been chosen. */
static bool play_single(struct rf_thread *self, uintptr_t address, uint64_t number) {
    struct rf_omp_team *team = rf_omp_member->team;
    int64_t value;
    bool recorded = rf_step_play(self, RF_OP_OMP_SINGLE, address, &value);
    if (!recorded && !self->free)
        rf_omp_await(self, RF_OP_OMP_SINGLE, address, is_chosen, &team->singles, number);
    bool chosen = rf_gomp()->GOMP_single_start();
    if (chosen) {
        __atomic_store_n(&team->singles, number + 1, __ATOMIC_RELEASE);
        rf_omp_changed();
    }
    return self->free ? chosen : recorded;
}

static bool single(uintptr_t address) {
    struct rf_thread *self = member_here();
    uint64_t number = rf_omp_member ? rf_omp_member->singles++ : 0;
    if (self && rf_threads.replays)
        return play_single(self, address, number);
    bool chosen = rf_gomp()->GOMP_single_start();
    if (self && chosen)
        rf_value_record(self, RF_OP_OMP_SINGLE, address, 1);
    else if (self)
        rf_step_record(self, RF_OP_OMP_SINGLE);
    return chosen;
}

bool GOMP_single_start(void) {
    return single(RF_HERE_ADDRESS);
}

static void barrier(void) {
    rf_gomp()->GOMP_barrier();
}

/* With copyprivate libgomp chooses and waits in one call, in which tasks run. Made of two, what is
   chosen is known first. Another barrier follows before the next single can be. */
void *GOMP_single_copy_start(void) {
    if (!rf_omp_member)
        return rf_gomp()->GOMP_single_copy_start();
    struct rf_omp_team *team = rf_omp_member->team;
    if (single(RF_HERE_ADDRESS))
        return NULL;
    rf_omp_barrier(RF_HERE_ADDRESS, barrier);
    return team->copied;
}

void GOMP_single_copy_end(void *data) {
    if (!rf_omp_member) {
        rf_gomp()->GOMP_single_copy_end(data);
        return;
    }
    rf_omp_member->team->copied = data;
    rf_omp_barrier(RF_HERE_ADDRESS, barrier);
}
