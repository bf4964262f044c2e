/* A look at a job that runs, by its newest calls (report_straggler.h). Plain data. */
#ifndef STRAGGLER_LOOK_H
#define STRAGGLER_LOOK_H

#include <stdint.h>

struct profile_recent;

struct straggler_look {
	/* It is one of so many, and the more there are, the less may be chance. */
	uint32_t looks;
	/* Looks have the newest window_ns, and less of a job that is younger or has many calls. What is a stall is a
	 * part of this time, even so: a short pause is a large part of little. */
	uint64_t window_ns;
	/* The job's pipelines are compared in that time, and in as many steps. Where a part of the GPU work is kept
	 * (kept_log.h), the time is longer (STRAGGLER_PIPELINE_SAMPLED). recent NULL: they are not compared. */
	const struct profile_recent *recent;
	const char *store_path; /* of recent */
	uint32_t steps;
};

#endif
