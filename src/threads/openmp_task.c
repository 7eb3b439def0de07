#include "threads/openmp_task.h"

#include <stdalign.h>
#include <string.h>

#include "threads/races.h"

#define BUCKETS 256u

_Thread_local struct rf_omp_task *rf_omp_task;

/* The points that the thread has come to, the one that it is in, and the one that its log or its
   recording told of last: see openmp_coding.h. */
static _Thread_local uint64_t points __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t point_here __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t point_told __attribute__((tls_model("initial-exec")));

/* ---- how long a task is there ---- */

/* Its children say to it that they are done, which may be after its own end. */
static void release(struct rf_omp_task *task) {
    while (task && !__atomic_sub_fetch(&task->references, 1, __ATOMIC_ACQ_REL)) {
        struct rf_omp_task *parent = task->parent;
        rf_omp_free(task);
        task = parent;
    }
}

void rf_omp_implicit_enter(struct rf_omp_member *member) {
    struct rf_omp_task *task = rf_omp_allocate(sizeof *task);
    task->team = member->team;
    task->references = 1;
    member->implicit = task;
    member->suspended = rf_omp_task;
    rf_omp_task = task;
}

void rf_omp_implicit_leave(struct rf_omp_member *member) {
    rf_omp_task = member->suspended;
    release(member->implicit);
}

static void *behind(struct rf_omp_task *task, uintptr_t align) {
    uintptr_t end = (uintptr_t)&task->depend[task->depends];
    return (void *)((end + align - 1) / align * align);
}

static struct rf_omp_task *make(struct rf_omp_member *member,
                                const struct rf_omp_request *request) {
    struct rf_omp_task *task;
    uintptr_t align = request->align > 8 ? (uintptr_t)request->align : 8;
    size_t depends = request->depend ? rf_omp_depend_count(request->depend) : 0;
    task = rf_omp_allocate(sizeof *task + depends * sizeof *task->depend + (size_t)request->size +
                           align);
    task->team = member->team;
    task->name = (int64_t)(++member->created * member->team->size + member->number);
    task->address = request->address;
    task->function = request->function;
    task->flags = request->flags;
    task->parent = rf_omp_task;
    task->group = rf_omp_task->group;
    task->references = 1;
    task->depends = depends;
    if (depends)
        task->written = rf_omp_depend_copy(request->depend, task->depend);
    task->arguments = behind(task, align);
    if (request->copy)
        request->copy(task->arguments, request->data);
    else if (request->size)
        memcpy(task->arguments, request->data, (size_t)request->size);
    if (request->bounds)
        memcpy(task->arguments, request->bounds, 2 * sizeof *request->bounds);
    __atomic_add_fetch(&task->parent->references, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&task->parent->unfinished, 1, __ATOMIC_RELAXED);
    if (task->group)
        __atomic_add_fetch(&task->group->unfinished, 1, __ATOMIC_RELAXED);
    /* This thread may still be in a barrier that others have left. */
    task->barriers =
        rf_omp_task->barriers > member->barriers ? rf_omp_task->barriers : member->barriers;
    rf_race_before(task);
    return task;
}

/* The body of a task, in the thread that runs it. */
static void run(struct rf_omp_task *task) {
    struct rf_omp_task *before = rf_omp_task;
    rf_omp_task = task;
    struct rf_omp_group *group = task->group;
    rf_omp_depend_turns(task->address, task->depend, task->depends);
    rf_race_after(task);
    rf_omp_depend_after(task->depend, task->depends, task->written);
    task->function(task->arguments);
    rf_omp_depend_before(task->depend, task->depends, task->written);
    rf_race_before(&task->parent->unfinished);
    if (group)
        rf_race_before(&group->unfinished);
    rf_omp_depend_turns(task->address, task->depend, task->depends);
    rf_omp_task = before;
    /* Whoever waits for the group or for the children may go on with the last of them: nothing of
       the group is touched after this. */
    __atomic_sub_fetch(&task->parent->unfinished, 1, __ATOMIC_SEQ_CST);
    if (group)
        __atomic_sub_fetch(&group->unfinished, 1, __ATOMIC_SEQ_CST);
    release(task);
}

/* ---- record ---- */

/* A thread that leaves a barrier late may run tasks that were created after it. They are told as
   those of the next point, since in a replay they are not there before the barrier is over. */
static void tell(struct rf_thread *self, const struct rf_omp_task *task) {
    const struct rf_omp_member *member = rf_omp_member;
    bool late = rf_omp_task == member->implicit && task->barriers > member->barriers;
    uint64_t point = point_here + late;
    if (point != point_told) {
        int64_t distance = (int64_t)(point - point_told);
        rf_value_record(self, RF_OP_OMP_TASK, task->address, distance * 2 + 1);
        point_told = point;
    }
    rf_value_record(self, RF_OP_OMP_TASK, task->address, task->name * 2);
}

static void run_recorded(void *argument) {
    struct rf_omp_task *task = *(struct rf_omp_task **)argument;
    struct rf_thread *self = rf_here();
    uint64_t point = point_here;
    if (self)
        tell(self, task);
    run(task);
    point_here = point;
}

/* ---- replay ---- */

static struct rf_omp_task **place_of(struct rf_omp_team *team, int64_t name) {
    if (!team->tasks)
        team->tasks = rf_omp_allocate(BUCKETS * sizeof *team->tasks);
    struct rf_omp_task **link = &team->tasks[(uint64_t)name % BUCKETS];
    while (*link && (*link)->name != name)
        link = &(*link)->next;
    return link;
}

static void put(struct rf_omp_task *task) {
    struct rf_omp_team *team = task->team;
    rf_omp_lock(&team->lock);
    struct rf_omp_task **link = place_of(team, task->name);
    *link = task;
    rf_omp_unlock(&team->lock);
    rf_omp_changed();
}

static bool is_there(void *what, uint64_t name) {
    struct rf_omp_team *team = what;
    rf_omp_lock(&team->lock);
    bool there = *place_of(team, (int64_t)name) != NULL;
    rf_omp_unlock(&team->lock);
    return there;
}

static struct rf_omp_task *take(struct rf_omp_team *team, int64_t name) {
    rf_omp_lock(&team->lock);
    struct rf_omp_task **link = place_of(team, name), *task = *link;
    if (task)
        *link = task->next;
    rf_omp_unlock(&team->lock);
    return task;
}

static void run_played(void *argument) {
    run(*(struct rf_omp_task **)argument);
}

static void play(struct rf_omp_task *task) {
    unsigned flags = task->flags & (RF_TASK_UNTIED | RF_TASK_FINAL | RF_TASK_MERGEABLE);
    rf_gomp()->GOMP_task(run_played, &task, NULL, sizeof task, alignof(struct rf_omp_task *), false,
                         flags, NULL, 0, NULL);
    rf_omp_changed();
}

static void play_named(struct rf_thread *self, uintptr_t address, int64_t name) {
    struct rf_omp_team *team = rf_omp_member->team;
    rf_omp_await(self, RF_OP_OMP_TASK, address, is_there, team, (uint64_t)name);
    struct rf_omp_task *task = take(team, name);
    if (task)
        play(task);
}

/* Is this what the thread's next operation says? */
static bool is_next(const struct rf_thread *self, uint64_t point, int64_t *value) {
    if (self->free || self->next.operation != self->done + 1 ||
        self->next.type != RF_THREAD_LOG_VALUE)
        return false;
    uint32_t what = rf_replay_site_operation(self);
    *value = self->next.value;
    return (what == RF_OP_OMP_TASK || what == RF_OP_NONE) &&
           (*value & 1 ? point_told + (uint64_t)(*value >> 1) : point_told) == point;
}

/* A thread whose recording was cut off runs what nobody else may run any more. */
static void drain(void) {
    struct rf_omp_team *team = rf_omp_member->team;
    for (size_t i = 0; i < BUCKETS && team->tasks; i++) {
        struct rf_omp_task *task;
        do {
            rf_omp_lock(&team->lock);
            task = team->tasks[i];
            if (task)
                team->tasks[i] = task->next;
            rf_omp_unlock(&team->lock);
            if (task)
                play(task);
        } while (task);
    }
}

static void play_point(uintptr_t address, uint64_t point) {
    struct rf_thread *self = rf_here();
    int64_t value;
    while (self && is_next(self, point, &value)) {
        rf_value_play(self, RF_OP_OMP_TASK, address);
        point_told = point;
        if (!(value & 1))
            play_named(self, address, value >> 1);
    }
    if (self)
        rf_turn_wake(self);
    if (rf_threads.places && rf_threads.places->free)
        drain();
}

void rf_omp_tasks_free(struct rf_omp_team *team) {
    rf_omp_free(team->tasks);
}

static bool is_zero(void *what, uint64_t value) {
    return __atomic_load_n((uint64_t *)what, __ATOMIC_SEQ_CST) == value;
}

static void await_zero(struct rf_thread *self, uintptr_t address, uint64_t *count) {
    if (!self->free)
        rf_omp_await(self, RF_OP_OMP_TASK, address, is_zero, count, 0);
}

/* ---- points ---- */

/* Two numbers each: in a barrier the second one is its end. */
static uint64_t next_point(void) {
    points += 2;
    point_here = points;
    return points;
}

uint64_t rf_omp_point(uintptr_t address) {
    uint64_t point = next_point();
    if (rf_threads.replays)
        play_point(address, point);
    return point;
}

void rf_omp_point_after(uintptr_t address, uint64_t point) {
    if (rf_threads.replays)
        play_point(address, point + 1);
}

/* ---- hooks ---- */

void rf_omp_task_create(const struct rf_omp_request *request) {
    struct rf_omp_task *task = make(rf_omp_member, request);
    if (rf_threads.replays) {
        put(task);
        rf_omp_point(request->address);
        return;
    }
    next_point();
    rf_gomp()->GOMP_task(run_recorded, &task, NULL, sizeof task, alignof(struct rf_omp_task *),
                         request->deferrable, request->flags, request->depend, request->priority,
                         NULL);
}

void GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long size,
               long align, bool deferrable, unsigned flags, void **depend, int priority,
               void *event) {
    struct rf_thread *self = rf_omp_member ? rf_here() : NULL;
    /* One that is done only when an event is there is left to libgomp. */
    if (self && flags & RF_TASK_DETACH)
        rf_unseen(RF_UNSEEN_DETACH);
    if (!self || flags & RF_TASK_DETACH) {
        rf_gomp()->GOMP_task(function, data, copy, size, align, deferrable, flags, depend, priority,
                             event);
        return;
    }
    struct rf_omp_request request = {.function = function,
                                     .data = data,
                                     .copy = copy,
                                     .size = size,
                                     .align = align,
                                     .deferrable = deferrable,
                                     .flags = flags,
                                     .depend = flags & RF_TASK_DEPEND ? depend : NULL,
                                     .priority = priority,
                                     .address = RF_HERE_ADDRESS};
    rf_omp_task_create(&request);
}

void GOMP_taskwait(void) {
    struct rf_thread *self = rf_omp_member ? rf_here() : NULL;
    if (self) {
        rf_omp_point(RF_HERE_ADDRESS);
        if (rf_threads.replays)
            await_zero(self, RF_HERE_ADDRESS, &rf_omp_task->unfinished);
    }
    rf_gomp()->GOMP_taskwait();
    if (rf_omp_task)
        rf_race_after(&rf_omp_task->unfinished);
}

void GOMP_taskwait_depend(void **depend) {
    struct rf_thread *self = rf_omp_member ? rf_here() : NULL;
    if (self)
        rf_omp_point(RF_HERE_ADDRESS);
    rf_gomp()->GOMP_taskwait_depend(depend);
    if (!self)
        return;
    size_t count = rf_omp_depend_count(depend);
    void **addresses = rf_omp_allocate((count + 1) * sizeof *addresses);
    size_t written = rf_omp_depend_copy(depend, addresses);
    rf_omp_depend_turns(RF_HERE_ADDRESS, addresses, count);
    rf_omp_depend_after(addresses, count, written);
    rf_omp_free(addresses);
}

void GOMP_taskgroup_start(void) {
    rf_gomp()->GOMP_taskgroup_start();
    if (!rf_omp_task)
        return;
    struct rf_omp_group *group = rf_omp_allocate(sizeof *group);
    group->outer = rf_omp_task->group;
    rf_omp_task->group = group;
}

void GOMP_taskgroup_end(void) {
    struct rf_omp_group *group = rf_omp_task ? rf_omp_task->group : NULL;
    struct rf_thread *self = group ? rf_here() : NULL;
    if (self) {
        rf_omp_point(RF_HERE_ADDRESS);
        if (rf_threads.replays)
            await_zero(self, RF_HERE_ADDRESS, &group->unfinished);
    }
    rf_gomp()->GOMP_taskgroup_end();
    if (group) {
        rf_race_after(&group->unfinished);
        rf_omp_task->group = group->outer;
        rf_omp_free(group);
    }
}
