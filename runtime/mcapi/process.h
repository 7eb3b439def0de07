/* Processes of a job: who is there, and who has died. */
#ifndef MC_PROCESS_H
#define MC_PROCESS_H

#include "layout.h"

/* When a process started, in ticks since the machine did; 0 if it has ended or cannot be seen. */
uint64_t mc_process_start(uint32_t pid);
uint64_t mc_pid_namespace(void);

bool mc_process_alive(const struct mc_process *process);

/* Takes a place in the table for this process; MC_NONE if all are taken. */
uint32_t mc_process_enter(struct mc_segment *segment);

/* Whether any other process than `except` is alive. */
bool mc_processes_any(const struct mc_segment *segment, uint32_t except);

#endif
