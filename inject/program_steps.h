/* Counts the steps that the program marks (flamegrid_step() of api/flamegrid.h), on all threads together, while it is
 * captured. A step counts if a window is open when it begins, or when it ends. So the step in which CUDA starts
 * counts. */
#ifndef PROGRAM_STEPS_H
#define PROGRAM_STEPS_H

#include <stdint.h>

struct definition_writer;

/* Tells that a step ends; without one it does nothing. Any thread. */
void program_steps_end(void);

/* Tells that a step begins. Call program_steps_end() first. Returns its number in the process, from 1, captured or not.
 * Any thread. */
uint32_t program_steps_begin(void);

/* Helper: writes the count, if it has changed, as calls of flamegrid_step (DEFINITION_STEP_CBID). */
void program_steps_publish(struct definition_writer *definitions);

#endif
