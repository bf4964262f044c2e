/* The time of one GPU between readings of its resources, and what ran in it. Used by one thread. */
#ifndef RESOURCE_STRETCHES_H
#define RESOURCE_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "resource.h"
#include "resource_fit.h"

#include "aggregator/profile/placement_log.h"

/* Of one GPU: stretches, and their time together, 115 days. Of more, the later ones are not used. */
#define RESOURCE_STRETCHES_MAX 65536u
#define RESOURCE_STRETCHES_NS  10000000000000000ull

/* A row of telemetry. */
struct resource_stretch {
	uint64_t begin_ns, end_ns;           /* CLOCK_REALTIME, as CUPTI's clock */
	uint64_t ns;                         /* end_ns - begin_ns */
	uint32_t known;                      /* resources: a set */
	uint64_t amounts[RESOURCES];         /* of those, in this time */
	uint64_t class_ns[RESOURCE_CLASSES]; /* as in resource_interval */
	/* of each class: pieces that run through all of it and of those up to an end, less those that end before it */
	int64_t whole[RESOURCE_CLASSES];
	bool is_thin; /* too little is known of the work in it */
};

struct resource_stretches {
	struct resource_stretch *list; /* owns; by time */
	uint32_t count, room;
};

/* Makes a stretch without work of each row of a device that has readings from its begin to its end. Each lies delay_ns
 * before its row. 0 or -ENOMEM. Call fini() in either case. */
int resource_stretches_init(struct resource_stretches *stretches, const struct placement_log *log,
			    uint32_t device, uint64_t delay_ns);
void resource_stretches_fini(struct resource_stretches *stretches);

/* Adds a piece of work to the stretches in which it ran; settle() follows the last one. scales, by stretch: its
 * nanoseconds there stand for so many each; NULL: for one. */
void resource_stretches_add(struct resource_stretches *stretches, uint32_t class, uint64_t start_ns,
			    uint64_t end_ns, const double *scales);

/* Adds the time of pieces that ran through whole stretches, however many those are. scales: those of all pieces since
 * the last call. */
void resource_stretches_settle(struct resource_stretches *stretches, const double *scales);

/* Forgets all work. */
void resource_stretches_clear(struct resource_stretches *stretches);

/* Marks stretches that begin before a time as thin: nothing is known of their work. */
void resource_stretches_begin(struct resource_stretches *stretches, uint64_t ns);

/* The same of those that end after a time. */
void resource_stretches_end(struct resource_stretches *stretches, uint64_t ns);

/* Computes the scales of work that is kept at a level (kept_log.h), and marks stretches of which too little is kept. */
void resource_stretches_scale(struct resource_stretches *stretches, uint32_t level, double *scales);

/* Fits a resource over those in which it is known and that are not thin. 0 or -ENOMEM. */
int resource_stretches_fit(const struct resource_stretches *stretches, enum resource resource,
			   struct resource_fit *fit);

/* Returns what such a fit misses in the same stretches, with work and without, as a share of their amount; 0: they have
 * none. */
double resource_stretches_missed(const struct resource_stretches *stretches, enum resource resource,
				 const struct resource_fit *fit);

#endif
