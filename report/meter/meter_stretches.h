/* The time of one GPU between readings of its meters, and what ran in it. Used by one thread. */
#ifndef METER_STRETCHES_H
#define METER_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "meter.h"
#include "meter_fit.h"

#include "aggregator/profile/placement_log.h"

/* Of one GPU: stretches, and their time together, 115 days. Of more, the later ones are not used. */
#define METER_STRETCHES_MAX 65536u
#define METER_STRETCHES_NS  10000000000000000ull

/* A row of telemetry. */
struct meter_stretch {
	uint64_t begin_ns, end_ns;        /* CLOCK_REALTIME, as CUPTI's clock */
	uint64_t ns;                      /* end_ns - begin_ns */
	uint32_t known;                   /* meters: a set */
	uint64_t amounts[METERS];         /* of those, in this time */
	uint64_t class_ns[METER_CLASSES]; /* as in meter_interval */
	/* of each class: pieces that run through all of it and of those up to an end, less those that end before it */
	int64_t whole[METER_CLASSES];
	bool is_thin; /* too little is known of the work in it */
};

struct meter_stretches {
	struct meter_stretch *list; /* owns; by time */
	uint32_t count, room;
};

/* Makes a stretch without work of each row of a device that has readings from its begin to its end. 0 or -ENOMEM. Call
 * fini() in either case. */
int meter_stretches_init(struct meter_stretches *stretches, const struct placement_log *log,
			 uint32_t device);
void meter_stretches_fini(struct meter_stretches *stretches);

/* Adds a piece of work to the stretches in which it ran; settle() follows the last one. scales, by stretch: its
 * nanoseconds there stand for so many each; NULL: for one. */
void meter_stretches_add(struct meter_stretches *stretches, uint32_t class, uint64_t start_ns,
			 uint64_t end_ns, const double *scales);

/* Adds the time of pieces that ran through whole stretches, however many those are. scales: those of all pieces since
 * the last call. */
void meter_stretches_settle(struct meter_stretches *stretches, const double *scales);

/* Forgets all work. */
void meter_stretches_clear(struct meter_stretches *stretches);

/* Marks stretches that begin before a time as thin: nothing is known of their work. */
void meter_stretches_begin(struct meter_stretches *stretches, uint64_t ns);

/* Computes the scales of work that is kept at a level (kept_log.h), and marks stretches of which too little is kept. */
void meter_stretches_scale(struct meter_stretches *stretches, uint32_t level, double *scales);

/* Fits a meter over those in which it is known and that are not thin. 0 or -ENOMEM. */
int meter_stretches_fit(const struct meter_stretches *stretches, enum meter meter,
			struct meter_fit *fit);

#endif
