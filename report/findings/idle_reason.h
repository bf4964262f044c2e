/* Why a GPU was idle, as the idle plane tells: what the launching thread did meanwhile. Part of findings; used by one
 * thread. */
#ifndef IDLE_REASON_H
#define IDLE_REASON_H

#include <stdbool.h>

#include "finding.h"

#define IDLE_REASON_TEXT 32u

/* Of the idle time outside of pauses. */
struct idle_reason {
	uint64_t pause_ns; /* the GPU's pauses */
	uint32_t line;     /* string of the program's line in hosts; 0: none explains enough */
	uint32_t within;   /* string of the data loader's frame in which half of it is; 0: none */
	bool is_below;     /* the line calls that frame; else it is that frame, or called by it */
	double part;       /* of the GPU's idle time */
	char what[IDLE_REASON_TEXT]; /* "waits", "waits for the GPU", "works" */
	bool is_loading;             /* no line explains enough, but the data loader's lines do */
	bool is_recorded;            /* the idle plane has something of the GPU */
	bool has_waits;              /* the plane of waits has something of the GPU's host */
	uint64_t unseen_ns;          /* nothing was sampled, or the plane has nothing of it */
	uint64_t off_cpu_ns;         /* the thread was on no CPU, and waits were not recorded */
};

/* hosts may be NULL: nothing is known. 0 or -ENOMEM. */
int idle_reason_find(const struct report_tree *hosts, const struct gpu_row *row,
		     struct idle_reason *reason);

/* Sums up the idle time of these GPUs outside of pauses by the program's lines, with the callers of helpers. hosts
 * NULL: there are none. 0; -ENOMEM: *lines is empty. */
int idle_reason_lines(const struct report_tree *hosts, const struct gpu_row *const *rows,
		      uint32_t nr_rows, struct host_lines *lines);

#endif
