/* The guest's entry point for programs that tell it of their ranges, steps and streams through api/flamegrid.h. */
#ifndef PROGRAM_API_H
#define PROGRAM_API_H

#include "api/flamegrid.h"

/* Returns the functions of version 1, which live as long as the process. It may come before CUDA starts, or without
 * CUDA. Any thread. */
__attribute__((visibility("default"))) const struct flamegrid_api *flamegrid_api_1(void);

#endif
