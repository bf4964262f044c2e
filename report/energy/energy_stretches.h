/* The time of one GPU between readings of the board's counter of energy, and what ran in it. Used by one thread. */
#ifndef ENERGY_STRETCHES_H
#define ENERGY_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "energy_fit.h"

#include "aggregator/profile/placement_log.h"

/* Of one GPU: stretches, and their time together, 115 days. Of more, the later ones are not used. */
#define ENERGY_STRETCHES_MAX 65536u
#define ENERGY_STRETCHES_NS  10000000000000000ull

/* A row of telemetry. */
struct energy_stretch {
	uint64_t begin_ns, end_ns; /* CLOCK_REALTIME, as CUPTI's clock */
	struct energy_interval interval;
	/* of each class: pieces that run through all of it and of those up to an end, less those that end before it */
	int64_t whole[ENERGY_FIT_CLASSES];
	bool is_thin; /* too little is known of the work in it */
};

struct energy_stretches {
	struct energy_stretch *list; /* owns; by time */
	uint32_t count, room;
};

/* Makes a stretch without work of each row of a device that has readings from its begin to its end. 0 or -ENOMEM. Call
 * fini() in either case. */
int energy_stretches_init(struct energy_stretches *stretches, const struct placement_log *log,
			  uint32_t device);
void energy_stretches_fini(struct energy_stretches *stretches);

/* Adds a piece of work to the stretches in which it ran; settle() follows the last one. scales, by stretch: its
 * nanoseconds there stand for so many each; NULL: for one. */
void energy_stretches_add(struct energy_stretches *stretches, uint32_t class, uint64_t start_ns,
			  uint64_t end_ns, const double *scales);

/* Adds the time of pieces that ran through whole stretches, however many those are. scales: those of all pieces since
 * the last call. */
void energy_stretches_settle(struct energy_stretches *stretches, const double *scales);

/* Forgets all work. */
void energy_stretches_clear(struct energy_stretches *stretches);

/* Marks stretches that begin before a time as thin: nothing is known of their work. */
void energy_stretches_begin(struct energy_stretches *stretches, uint64_t ns);

/* Computes the scales of work that is kept at a level (kept_log.h), and marks stretches of which too little is kept. */
void energy_stretches_scale(struct energy_stretches *stretches, uint32_t level, double *scales);

/* Fits those that are not thin. 0 or -ENOMEM. */
int energy_stretches_fit(const struct energy_stretches *stretches, struct energy_fit *fit);

#endif
