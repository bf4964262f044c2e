/* Decides which steps of a program are captured: one in every so many. It only counts, so all ranks that do the same
 * steps capture the same ones. Any thread; lock-free. */
#ifndef WINDOW_STEPS_H
#define WINDOW_STEPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct window_steps { /* zeroed: every step */
	_Atomic uint32_t every;
	_Atomic uint64_t nr_begun, nr_ended;
	atomic_bool inside;
};

/* For steps of which each beginning and each end is told, in turns. Returns whether the step is captured: the every-th,
 * the (2 * every)-th and so on. The n-th end belongs to the n-th beginning, in whatever order threads tell them. */
bool window_steps_begin(struct window_steps *steps);
bool window_steps_end(struct window_steps *steps);

/* For steps whose ends are told only while one is captured. A beginning within a step has no effect. */
bool window_steps_start(struct window_steps *steps);
bool window_steps_stop(struct window_steps *steps);

#endif
