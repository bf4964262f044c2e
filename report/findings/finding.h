/* A list of findings, what they are made of, and what their kinds share. Part of findings; used by one thread. */
#ifndef FINDING_H
#define FINDING_H

#include <stdint.h>

#include "report/digest/gpu_rows.h"
#include "report/digest/host_lines.h"
#include "report/model/report_plane.h"
#include "report/model/report_ranks.h"
#include "report/model/report_statistics.h"
#include "report/model/report_tree.h"

/* Borrowed during findings_create(). */
struct findings_input {
	const struct report_tree *work; /* of the GPU's plane */
	const struct report_tree
		*hosts; /* of the planes of waits and idle time; NULL: none has records */
	const struct report_tree *allocs; /* of all allocations; NULL: memory was not recorded */
	const struct report_ranks *ranks;
	const struct gpu_rows *gpus;
	const struct report_statistics *statistics;
};

struct finding {
	const char *kind; /* "short_kernels": for programs. Static storage */
	char *text;       /* one sentence without a dot; owns, as evidence */
	char *evidence;
	const char *cure;        /* static storage */
	double share, threshold; /* parts of what the text names, from 0 to 1 */
	uint64_t ns;             /* the time that the finding is about */
	/* where its evidence is: a plane, and in it a line as in host_lines.h or a kernel's name; own; NULL: none */
	enum report_plane plane;
	char *line, *kernel;
	char *host;        /* owns; NULL: several, or all */
	int32_t rank, gpu; /* REPORT_RANK_NONE, REPORT_GPU_NONE: several, or all */
};

struct findings {
	struct finding *findings; /* owns; by time, the longest first */
	uint32_t nr_findings, room;
};

/* Adds a copy of the finding, which takes its texts, also on error. 0; -ENOMEM, also if a text is NULL. */
int finding_add(struct findings *findings, struct finding *finding);

/* Frees the texts of all findings, and the array. */
void finding_list_fini(struct findings *findings);

/* Returns a copy of the first line's text, which the caller owns; NULL: there is none, or no memory. */
char *finding_line(const struct host_lines *lines);

/* Adds up the leaves that wanted accepts. */
void finding_sum(const struct report_tree *tree, host_lines_wanted *wanted, const void *context,
		 uint64_t *ns, uint64_t *count);

/* Returns the time from the first to the last work of all GPUs, added up. */
uint64_t finding_window_ns(const struct findings_input *input);

#endif
