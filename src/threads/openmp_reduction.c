/* Reductions over tasks. Each thread has a copy of the variables, which libgomp finds through the
   group that the task is in. In a replay libgomp does not know the groups of tasks that another
   thread created; then it is found here.

   What the compiler lays down for the variables of a group: their number, the size of one thread's
   copies, where the copies of all are and (word 6) where they end; from word 7 on, for each
   variable its address, the place of its copy, and a word that is not for us. */
#include "threads/openmp_task.h"

enum { COUNT, SIZE, COPIES, END = 6, VARIABLES = 7, WORDS = 3 };

void GOMP_taskgroup_reduction_register(uintptr_t *reductions) {
    rf_gomp()->GOMP_taskgroup_reduction_register(reductions);
    if (rf_omp_task && rf_omp_task->group)
        rf_omp_task->group->reductions = reductions;
}

/* `pointer` is a variable, or a copy of one. Returns its place among the copies of a thread. */
static bool find(const uintptr_t *reductions, uintptr_t pointer, uintptr_t *place,
                 uintptr_t *original) {
    bool copy = pointer >= reductions[COPIES] && pointer < reductions[END];
    if (copy)
        pointer = (pointer - reductions[COPIES]) % reductions[SIZE];
    for (size_t i = 0; i < reductions[COUNT]; i++) {
        const uintptr_t *variable = reductions + VARIABLES + WORDS * i;
        if (variable[copy] == pointer) {
            *original = variable[0];
            *place = variable[1];
            return true;
        }
    }
    *place = pointer;
    *original = 0;
    return copy;
}

static bool remap(void **pointer, uintptr_t *original) {
    for (struct rf_omp_group *group = rf_omp_task->group; group; group = group->outer) {
        uintptr_t *reductions = group->reductions, place;
        if (!reductions || !find(reductions, (uintptr_t)*pointer, &place, original))
            continue;
        *pointer = (void *)(reductions[COPIES] + rf_omp_member->number * reductions[SIZE] + place);
        return true;
    }
    return false;
}

void GOMP_task_reduction_remap(size_t count, size_t originals, void **pointers) {
    bool ours = rf_omp_task && rf_omp_member && rf_threads.replays;
    for (size_t i = 0; i < count; i++) {
        uintptr_t original;
        void *both[2] = {pointers[i], NULL};
        if (!ours || !remap(&both[0], &original))
            rf_gomp()->GOMP_task_reduction_remap(1, i < originals, both);
        else
            both[1] = (void *)original;
        pointers[i] = both[0];
        if (i < originals)
            pointers[count + i] = both[1];
    }
}
