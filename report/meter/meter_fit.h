/* Fits what a GPU's work adds to one of its meters (meter.h): the idle rate, and what each class of work
 * adds in a second of GPU time. Its source are intervals between readings. Pure; any thread. */
#ifndef METER_FIT_H
#define METER_FIT_H

#include <stdbool.h>
#include <stdint.h>

#define METER_CLASSES      16u /* classes of work */
#define METER_RATE_UNKNOWN UINT64_MAX

/* Time between two readings. */
struct meter_interval {
	uint64_t ns, amount; /* ns: above 0 */
	uint64_t class_ns
		[METER_CLASSES]; /* GPU time of each class in it; of several streams more than ns */
};

/* How the amount without work is known. */
enum meter_idle {
	METER_IDLE_UNKNOWN,  /* it is not: the GPU was equally busy all the time */
	METER_IDLE_MEASURED, /* there were intervals without work */
	METER_IDLE_FITTED,   /* intervals of more and less work tell it, in a straight line */
	METER_IDLE_NONE,     /* the meter has nothing without work, of any program */
};

/* What is measured. */
struct meter_scale {
	bool has_base; /* there is some of it without work: else METER_IDLE_NONE in place of a straight line */
	uint64_t little; /* amount in a second below which a miss is none */
};

/* Rates are amounts in a second of time, or of GPU time. */
struct meter_fit {
	enum meter_idle idle;
	uint64_t idle_rate;    /* 0: not known */
	uint32_t nr_idle;      /* intervals without work */
	uint32_t nr_intervals; /* with work */
	uint32_t nr_classes;   /* that ran in them */
	/* What all work adds, and what each class adds. 0: nothing; without intervals it is not known. */
	uint64_t work_rate;
	uint64_t class_rate[METER_CLASSES];
	/* How much of the class's time in intervals does not follow from that of other classes, 0 to 1: 1 minus R
	 * squared. 1: it never shares an interval. 0: it always runs in the same proportion with others. */
	double apart[METER_CLASSES];
	/* The standard error of each class's rate; METER_RATE_UNKNOWN: not known, as of too few intervals. */
	uint64_t error_rate[METER_CLASSES];
	/* The sum of what the fit misses in each interval with work, as a share of their amount, 0 to 1. */
	double residual;
};

/* Fits nr intervals. Work of classes that always run in the same proportion cannot be told apart: they get the rate of
 * all work. No rate is below 0. The result depends on the intervals' order at most in its last digit. */
void meter_fit_make(const struct meter_interval *intervals, uint32_t nr,
		    const struct meter_scale *scale, struct meter_fit *fit);

#endif
