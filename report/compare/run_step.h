/* Compares the time of a step of runs, of which kernels are only a part: a host that became slower shows here alone.
 * Used by one thread. */
#ifndef RUN_STEP_H
#define RUN_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "run_verdict.h"

/* Fills *step from the runs of the question, whose unit is that of its check. nr_judged: its rows, and the step. */
void run_step_compare(const struct check_question *question, enum run_unit unit, bool is_damaged,
		      uint32_t nr_judged, struct check_step *step);

/* Writes "the run takes 52.100 ms a step instead of 47.000 ms (+10.85 %): +0.300 ms in kernels, +4.800 ms idle on
 * GPU 0, most of it in train.py:load_batch:12", cut to size, and returns it; "": nothing is known. The parts make the
 * whole change; they are missing where kernels_ns is not known. */
const char *run_step_text(const struct check_step *step, char *text, size_t size);

#endif
