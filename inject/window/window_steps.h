/* Which steps of a program are captured: one in every so many, by counting alone, so that all ranks that do the same
 * steps capture the same ones. Any thread; lock-free. */
#ifndef WINDOW_STEPS_H
#define WINDOW_STEPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct window_steps { /* zeroed: every step */
	uint32_t every;
	_Atomic uint64_t nr_begun, nr_ended;
	atomic_bool inside;
};

/* Where each beginning and each end is told, and beginnings and ends come in turns. Whether it is that of a step to
 * capture: of the every-th, the one 2 x every-th and so on. An end is of the same step as the beginning with its
 * number, in whatever order threads tell. */
bool window_steps_begin(struct window_steps *steps);
bool window_steps_end(struct window_steps *steps);

/* Where ends are told only while something is captured, and a beginning within a step has no effect. */
bool window_steps_start(struct window_steps *steps);
bool window_steps_stop(struct window_steps *steps);

#endif
