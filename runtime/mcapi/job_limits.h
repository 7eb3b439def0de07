/* How much a job may have of everything: defaults, the environment, the program. */
#ifndef MC_JOB_LIMITS_H
#define MC_JOB_LIMITS_H

#include "include/mcapi.h"
#include "layout.h"

/* Limits for a job that starts now. What is out of range is brought into it. */
void mc_limits_choose(struct mc_limits *limits, const mcapi_param_t *parameters);

#endif
