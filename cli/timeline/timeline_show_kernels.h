/* `timeline --kernels`: shows how kernels, copies and other work took over the time of a run. Single-threaded. */
#ifndef TIMELINE_SHOW_KERNELS_H
#define TIMELINE_SHOW_KERNELS_H

#include "timeline/kernels/kernel_rows.h"
#include "timeline/kernels/kernels_writer.h"
#include "timeline/trace/timeline_source.h"

struct timeline_show_kernels {
	const char *name;        /* of the profile, for messages */
	const char *output_path; /* NULL: standard output */
	struct timeline_request request;
	bool by_stack;
	enum steps_format format;
	uint64_t first_ns; /* of the timeline */
	const char *lacks; /* what the profile lacks, as a sentence; NULL: nothing */
};

/* Returns the exit status, after any message. */
int timeline_show_kernels(const struct timeline_show_kernels *show, struct timeline_source *source);

#endif
