/* A stored profile, opened for reading, with all inputs of its reports. Single-threaded. */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include "report/compare/change_writer.h"
#include "report/digest/gpu_rows.h"
#include "report/findings/findings.h"
#include "report/model/report_build.h"
#include "report/model/report_busy.h"
#include "report/model/report_clocks.h"
#include "report/model/report_collectives.h"
#include "report/model/report_diff.h"
#include "report/model/report_ranks.h"
#include "report/model/report_statistics.h"
#include "report/model/report_tree.h"
#include "report/profile/profile.h"
#include "report/profile/whole_profile.h"
#include "report/straggler/report_straggler.h"
#include "report/topology/straggler_topology.h"
#include "timeline/strips/time_strips.h"

/* report_view_open() leaves the last eight members NULL or empty. report_view_find() makes the first two. The caller
 * may set the third. report_subject_read() makes the next two, and the caller sets the last three. report_view_close()
 * destroys all but what is borrowed. */
struct report_view {
	struct profile *profile;
	struct report_tree *tree;
	struct report_busy *busy;
	struct report_ranks *ranks;
	struct report_clocks *clocks;
	struct report_statistics *statistics;
	const char *given_path; /* of the store; borrowed until report_view_close(), as options */
	const char *store_path; /* of the store that is read */
	struct whole_profile whole;
	const struct report_options *options;
	struct resource_usage usage; /* if options ask for a plane of resources */
	struct gpu_rows gpus;
	struct findings *findings;
	const struct straggler_topology *topology; /* borrowed; of a file */
	struct report_collectives *collectives;
	struct report_straggler *straggler;
	struct report_diff *diff; /* difference of two ranks in the tree, or of two profiles */
	const struct change_report *changes; /* borrowed; the difference as rows */
	const char *before_path; /* borrowed; of the store of the other profile in the difference */
};

/* Loads the store. 0, or -errno with one line in *error that names the path. The caller owns *error: free(); it is NULL
 * without an error, or without memory for it. report_view_close() must follow in either case. */
int report_view_open(struct report_view *view, const char *store_path,
		     const struct report_options *options, char **error);
void report_view_close(struct report_view *view);

/* Makes the rows of GPUs and the findings, if they are not there yet. 0 or -errno with *error as above. */
int report_view_find(struct report_view *view, char **error);

/* Makes the tree of the same profile again. 0 or -errno; on error the tree is NULL. */
int report_view_rebuild(struct report_view *view, const struct report_options *options);

/* Reads what the GPUs did over time, unless the view is a difference. events_max: of the timeline; 0: any number. 0;
 * -ENOENT: there is no timeline; -EFBIG: there are more events; other -errno.
 * Call time_strips_fini() in any case. */
int report_view_strips(const struct report_view *view, uint64_t events_max,
		       struct time_strips *strips);

/* Writes the store's error into *error, as report_view_open() does. Returns result, which is 0 or -errno. */
int report_view_explain(const struct report_view *view, int result, char **error);

#endif
