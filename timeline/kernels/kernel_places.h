/* The stacks that launched the work of kernel_times, as reports show them. Used by one thread. */
#ifndef KERNEL_PLACES_H
#define KERNEL_PLACES_H

#include "kernel_times.h"

#include "report/model/report_names.h"
#include "report/model/report_tree.h"

struct kernel_place {
	uint32_t node; /* innermost frame */
	/* strings of the program's own frame (host_lines.h), and of the next one outward; 0: there is none */
	uint32_t line, caller;
	uint32_t range; /* string of the innermost range (NVTX) that was open; 0: there is none */
};

struct kernel_places {
	struct kernel_place *places; /* owns; one for each time */
	struct report_node *nodes;   /* owns */
	const char **strings;        /* owns; the texts are those of names */
};

/* names belongs to the profile, and gets the texts of all frames. 0; -EPROTO: a stack is deeper than the wire allows;
 * -ENOMEM. Call kernel_places_fini() in any case. */
int kernel_places_init(struct kernel_places *places, const struct kernel_times *times,
		       const struct profile *profile, struct report_names *names);
void kernel_places_fini(struct kernel_places *places);

#endif
