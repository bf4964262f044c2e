/* Fits what a GPU's work adds to one of its resources (resource.h): the idle rate, and what each class of work
 * adds in a second of GPU time. Its source are intervals between readings. Pure; any thread. */
#ifndef RESOURCE_FIT_H
#define RESOURCE_FIT_H

#include <stdbool.h>
#include <stdint.h>

#define RESOURCE_CLASSES      16u /* classes of work */
#define RESOURCE_RATE_UNKNOWN UINT64_MAX

/* Time between two readings. */
struct resource_interval {
	uint64_t ns, amount; /* ns: above 0 */
	uint64_t class_ns
		[RESOURCE_CLASSES]; /* GPU time of each class in it; of several streams more than ns */
};

/* How the amount without work is known. */
enum resource_idle {
	RESOURCE_IDLE_UNKNOWN,  /* it is not: the GPU was equally busy all the time */
	RESOURCE_IDLE_MEASURED, /* there were intervals without work */
	RESOURCE_IDLE_FITTED,   /* intervals of more and less work tell it, in a straight line */
	RESOURCE_IDLE_NONE,     /* the resource has nothing without work, of any program */
};

/* What is measured. */
struct resource_scale {
	bool has_base; /* there is some of it without work: else RESOURCE_IDLE_NONE in place of a straight line */
	uint64_t little; /* amount in a second below which a miss is none */
};

/* Rates are amounts in a second of time, or of GPU time. */
struct resource_fit {
	enum resource_idle idle;
	uint64_t idle_rate;    /* 0: not known */
	double idle_share;     /* of an interval: less work than that is none */
	uint32_t nr_idle;      /* intervals without any work */
	uint32_t nr_intervals; /* with work */
	uint32_t nr_classes;   /* that ran in them */
	/* What all work adds, and what each class adds. 0: nothing; without intervals it is not known. */
	uint64_t work_rate;
	uint64_t class_rate[RESOURCE_CLASSES];
	/* How much of the class's time in intervals does not follow from that of other classes, 0 to 1: 1 minus R
	 * squared. 1: it never shares an interval. 0: it always runs in the same proportion with others. */
	double apart[RESOURCE_CLASSES];
	/* The standard error of each class's rate; RESOURCE_RATE_UNKNOWN: not known, as of too few intervals. */
	uint64_t error_rate[RESOURCE_CLASSES];
	/* The sum of what the fit misses in each interval with work, as a share of their amount, 0 to 1. */
	double residual;
};

/* Fits nr intervals. Work of classes that always run in the same proportion cannot be told apart: they get the rate of
 * all work. No rate is below 0. The result depends on the intervals' order at most in its last digit. */
void resource_fit_make(const struct resource_interval *intervals, uint32_t nr,
		       const struct resource_scale *scale, struct resource_fit *fit);

#endif
