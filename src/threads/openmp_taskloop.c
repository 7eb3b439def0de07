/* Loops of tasks: divided here, since libgomp would create the tasks itself and nobody would know
   which is which. The standard leaves open how the iterations are divided, within the limits that
   the clauses set. */
#include "threads/openmp_task.h"

struct division {
    uint64_t tasks, least; /* iterations of each ... */
    uint64_t longer;       /* ... and one more for so many, the first ones */
    uint64_t last;         /* those of the last task, if `grainsize(strict:)` leaves a rest */
};

static struct division divide(uint64_t iterations, unsigned flags, uint64_t wanted, unsigned size) {
    struct division result = {0};
    uint64_t tasks = wanted ? wanted : size;
    if (flags & RF_TASK_GRAINSIZE) {
        uint64_t grain = wanted ? wanted : 1;
        if (flags & RF_TASK_STRICT) {
            result.last = iterations % grain;
            result.tasks = iterations / grain + (result.last != 0);
            result.least = grain;
            return result;
        }
        tasks = iterations / grain; /* so each has at least `grain`, and less than twice that */
    }
    result.tasks = tasks == 0 ? 1 : tasks > iterations ? iterations : tasks;
    result.least = iterations / result.tasks;
    result.longer = iterations % result.tasks;
    return result;
}

static void create_all(struct rf_omp_request *request, uint64_t wanted, uint64_t iterations,
                       uint64_t start, uint64_t step) {
    struct division division =
        divide(iterations, request->flags, wanted, rf_omp_member->team->size);
    for (uint64_t i = 0; i < division.tasks; i++) {
        uint64_t length = division.least + (i < division.longer);
        if (division.last && i + 1 == division.tasks)
            length = division.last;
        uint64_t bounds[2] = {start, start + length * step};
        start = bounds[1];
        request->bounds = bounds;
        rf_omp_task_create(request);
    }
}

/* All arithmetic is modulo 2^64, which is right for both signs. */
static void create(struct rf_omp_request *request, uint64_t wanted, uint64_t iterations,
                   uint64_t start, uint64_t step) {
    unsigned flags = request->flags;
    request->deferrable = (flags & RF_TASK_IF) != 0;
    if (flags & RF_TASK_NOGROUP) {
        create_all(request, wanted, iterations, start, step);
        return;
    }
    GOMP_taskgroup_start();
    if (flags & RF_TASK_REDUCTION)
        GOMP_taskgroup_reduction_register(((uintptr_t **)request->data)[2]);
    create_all(request, wanted, iterations, start, step);
    GOMP_taskgroup_end();
}

#define REQUEST                                                                                    \
    {                                                                                              \
        .function = function, .data = data, .copy = copy, .size = size, .align = align,            \
        .flags = flags, .priority = priority, .address = RF_HERE_ADDRESS                           \
    }

void GOMP_taskloop(void (*function)(void *), void *data, void (*copy)(void *, void *), long size,
                   long align, unsigned flags, unsigned long wanted, int priority, long start,
                   long end, long step) {
    struct rf_thread *self = rf_omp_member ? rf_here() : NULL;
    if (!self) {
        rf_gomp()->GOMP_taskloop(function, data, copy, size, align, flags, wanted, priority, start,
                                 end, step);
        return;
    }
    if (step == 0 || (step > 0 ? start >= end : start <= end))
        return;
    uint64_t distance =
        step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    uint64_t pace = step > 0 ? (uint64_t)step : -(uint64_t)step;
    struct rf_omp_request request = REQUEST;
    create(&request, wanted, (distance - 1) / pace + 1, (uint64_t)start, (uint64_t)step);
}

void GOMP_taskloop_ull(void (*function)(void *), void *data, void (*copy)(void *, void *),
                       long size, long align, unsigned flags, unsigned long wanted, int priority,
                       unsigned long long start, unsigned long long end, unsigned long long step) {
    struct rf_thread *self = rf_omp_member ? rf_here() : NULL;
    if (!self) {
        rf_gomp()->GOMP_taskloop_ull(function, data, copy, size, align, flags, wanted, priority,
                                     start, end, step);
        return;
    }
    bool up = flags & RF_TASK_UP;
    if (step == 0 || (up ? start >= end : start <= end))
        return;
    uint64_t distance = up ? end - start : start - end;
    uint64_t pace = up ? step : -step;
    struct rf_omp_request request = REQUEST;
    create(&request, wanted, (distance - 1) / pace + 1, start, step);
}
