/* `timeline --steps`: shows what the steps of each rank consisted of. Single-threaded. */
#ifndef TIMELINE_SHOW_STEPS_H
#define TIMELINE_SHOW_STEPS_H

#include "timeline/steps/steps_writer.h"
#include "timeline/trace/timeline_source.h"

struct timeline_show_steps {
	const char *name;                     /* of the profile, for messages */
	const char *store_path, *output_path; /* output_path NULL: standard output */
	struct timeline_request request;
	const char
		*range; /* the steps are the program's ranges of this name; NULL: they are marked */
	enum steps_format format;
	uint64_t first_ns; /* of the timeline */
	const char *lacks; /* what the profile lacks, as a sentence; NULL: nothing */
};

/* Returns the exit status, after any message. */
int timeline_show_steps(const struct timeline_show_steps *show, struct timeline_source *source);

#endif
