/* The GPU work of a process that runs at one moment, by parts of a step (step_rows.h). Plain data; used by one
 * thread. */
#ifndef STEP_RUNNING_H
#define STEP_RUNNING_H

#include "step_rows.h"

#define STEP_RUNNING_KEPT    64u /* pieces of work whose launches are known at a time */
#define STEP_RUNNING_UNKNOWN UINT64_MAX

struct step_running {
	uint32_t nr, nr_of[STEP_PARTS];
	uint32_t nr_kept;
	struct {
		uint64_t launched_ns;
		uint32_t work;
		enum step_part part;
	} kept[STEP_RUNNING_KEPT];
};

/* A piece of work begins, which is named by a number. launched_ns: STEP_RUNNING_UNKNOWN if its launch is not known. */
void step_running_begin(struct step_running *running, enum step_part part, uint32_t work,
			uint64_t launched_ns);
void step_running_end(struct step_running *running, enum step_part part, uint32_t work);

/* Returns the part that counts; something must run. *launched_ns: when the last of its work was launched;
 * STEP_RUNNING_UNKNOWN if that is not known of all. */
enum step_part step_running_part(const struct step_running *running, uint64_t *launched_ns);

#endif
