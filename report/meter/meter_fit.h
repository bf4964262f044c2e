/* Fits a GPU's power to its work: the power that it draws without work, and what each class of work adds. Its source
 * are intervals between readings of the board's counter of energy. Pure; any thread. */
#ifndef METER_FIT_H
#define METER_FIT_H

#include <stdint.h>

#define METER_CLASSES 16u /* classes of work */

/* Time between two readings. */
struct meter_interval {
	uint64_t ns, mj; /* ns: above 0 */
	uint64_t class_ns
		[METER_CLASSES]; /* GPU time of each class in it; of several streams more than ns */
};

/* How the power without work is known. */
enum meter_idle {
	METER_IDLE_UNKNOWN,  /* it is not: the GPU was equally busy all the time */
	METER_IDLE_MEASURED, /* there were intervals without work */
	METER_IDLE_FITTED,   /* intervals of more and less work tell it, in a straight line */
};

struct meter_fit {
	enum meter_idle idle;
	uint32_t idle_mw;      /* 0: not known */
	uint32_t nr_idle;      /* intervals without work */
	uint32_t nr_intervals; /* with work */
	uint32_t nr_classes;   /* that ran in them */
	/* What all work adds per GPU time, and what each class adds; 0: not known. */
	uint32_t work_mw;
	uint32_t class_mw[METER_CLASSES];
	/* How much of the class's time in intervals does not follow from that of other classes, 0 to 1: 1 minus R
	 * squared. 1: it never shares an interval. 0: it always runs in the same proportion with others. */
	double apart[METER_CLASSES];
	/* The standard error of each class's power; UINT32_MAX: not known, as of too few intervals. */
	uint32_t error_mw[METER_CLASSES];
	/* The sum of what the fit misses in each interval with work, as a share of their energy, 0 to 1. */
	double residual;
};

/* Fits nr intervals. Work of classes that always run in the same proportion cannot be told apart: they get the power of
 * all work. No power is below 0. The result depends on the intervals' order at most in its last digit. */
void meter_fit_make(const struct meter_interval *intervals, uint32_t nr, struct meter_fit *fit);

#endif
