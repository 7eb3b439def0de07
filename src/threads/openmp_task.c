#include "threads/openmp_task.h"

#include <stdalign.h>
#include <string.h>

#define BUCKETS 256u

_Thread_local struct rf_omp_task *rf_omp_task;

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
        rf_omp_depend_copy(request->depend, task->depend);
    task->arguments = behind(task, align);
    if (request->copy)
        request->copy(task->arguments, request->data);
    else if (request->size)
        memcpy(task->arguments, request->data, (size_t)request->size);
    if (request->bounds)
        memcpy(task->arguments, request->bounds, 2 * sizeof *request->bounds);
    __atomic_add_fetch(&task->parent->references, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&task->parent->unfinished, 1, __ATOMIC_RELAXED);
    task->parent->has_children = true;
    if (task->group) {
        __atomic_add_fetch(&task->group->unfinished, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&task->group->used, true, __ATOMIC_RELAXED);
    }
    return task;
}

/* The body of a task, in the thread that runs it. */
static void run(struct rf_omp_task *task) {
    struct rf_omp_task *before = rf_omp_task;
    rf_omp_task = task;
    struct rf_omp_group *group = task->group;
    rf_omp_depend_turns(task->address, task->depend, task->depends);
    task->function(task->arguments);
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

static void run_recorded(void *argument) {
    struct rf_omp_task *task = *(struct rf_omp_task **)argument;
    struct rf_thread *self = rf_here();
    if (self)
        rf_value_record(self, RF_OP_OMP_TASK, task->address, task->name);
    run(task);
}

static void record(struct rf_thread *self, const struct rf_omp_request *request,
                   struct rf_omp_task *task) {
    rf_gomp()->GOMP_task(run_recorded, &task, NULL, sizeof task, alignof(struct rf_omp_task *),
                         request->deferrable, request->flags & ~(unsigned)RF_TASK_DETACH,
                         request->depend, request->priority, NULL);
    rf_step_record(self, RF_OP_OMP_TASK);
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

/* Returns false when the recording of the thread ends. */
static bool play_named(struct rf_thread *self, uintptr_t address, int64_t name) {
    struct rf_omp_team *team = rf_omp_member->team;
    rf_omp_await(self, RF_OP_OMP_TASK, address, is_there, team, (uint64_t)name);
    struct rf_omp_task *task = take(team, name);
    if (task)
        play(task);
    return task && !self->free;
}

void rf_omp_tasks_play(struct rf_thread *self, uintptr_t address) {
    int64_t name;
    while (rf_step_play(self, RF_OP_OMP_TASK, address, &name) && play_named(self, address, name))
        ;
    if (self->free)
        rf_omp_tasks_drain();
}

/* Is the thread's next operation the beginning of a task? */
static bool task_is_next(const struct rf_thread *self) {
    if (self->free || self->next.operation != self->done + 1 || self->next.type != RF_TURNS_VALUE)
        return false;
    uint32_t what = rf_replay_site_operation(self);
    return what == RF_OP_OMP_TASK || what == RF_OP_NONE;
}

void rf_omp_tasks_play_last(struct rf_thread *self, uintptr_t address) {
    while (task_is_next(self) &&
           play_named(self, address, rf_value_play(self, RF_OP_OMP_TASK, address)))
        ;
    rf_turn_wake(self);
    if (self->free)
        rf_omp_tasks_drain();
}

void rf_omp_tasks_drain(void) {
    struct rf_omp_team *team = rf_omp_member ? rf_omp_member->team : NULL;
    if (!team || !rf_threads.places || !rf_threads.places->free)
        return;
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

/* ---- hooks ---- */

void rf_omp_task_create(struct rf_thread *self, const struct rf_omp_request *request) {
    struct rf_omp_member *member = rf_omp_member;
    struct rf_omp_team *team = member->team;
    struct rf_omp_task *task = make(member, request);
    __atomic_store_n(&team->with_tasks[member->barriers & 1], member->barriers + 1,
                     __ATOMIC_RELEASE);
    if (!rf_threads.replays) {
        record(self, request, task);
        return;
    }
    put(task);
    rf_omp_tasks_play(self, request->address);
}

void GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long size,
               long align, bool deferrable, unsigned flags, void **depend, int priority,
               void *event) {
    struct rf_thread *self = rf_omp_member ? rf_here() : NULL;
    /* One that is done only when an event is there is left to libgomp. */
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
    rf_omp_task_create(self, &request);
}

void GOMP_taskwait(void) {
    struct rf_omp_task *task = rf_omp_task;
    struct rf_thread *self = rf_omp_member ? rf_here() : NULL;
    if (!self || !task->has_children) {
        rf_gomp()->GOMP_taskwait();
        return;
    }
    task->has_children = false;
    if (!rf_threads.replays) {
        rf_gomp()->GOMP_taskwait();
        rf_step_record(self, RF_OP_OMP_TASK);
        return;
    }
    rf_omp_tasks_play(self, RF_HERE_ADDRESS);
    await_zero(self, RF_HERE_ADDRESS, &task->unfinished);
    rf_gomp()->GOMP_taskwait();
}

void GOMP_taskwait_depend(void **depend) {
    struct rf_thread *self = rf_omp_member ? rf_here() : NULL;
    if (!self || !rf_omp_task->has_children) {
        rf_gomp()->GOMP_taskwait_depend(depend);
        return;
    }
    size_t count = rf_omp_depend_count(depend);
    void **addresses = rf_omp_allocate((count + 1) * sizeof *addresses);
    rf_omp_depend_copy(depend, addresses);
    if (!rf_threads.replays) {
        rf_gomp()->GOMP_taskwait_depend(depend);
        rf_step_record(self, RF_OP_OMP_TASK);
    } else {
        rf_omp_tasks_play(self, RF_HERE_ADDRESS);
    }
    rf_omp_depend_turns(RF_HERE_ADDRESS, addresses, count);
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
    bool used = group && group->used;
    if (self && used && rf_threads.replays) {
        rf_omp_tasks_play(self, RF_HERE_ADDRESS);
        await_zero(self, RF_HERE_ADDRESS, &group->unfinished);
    }
    rf_gomp()->GOMP_taskgroup_end();
    if (self && used && !rf_threads.replays)
        rf_step_record(self, RF_OP_OMP_TASK);
    if (group) {
        rf_omp_task->group = group->outer;
        rf_omp_free(group);
    }
}
