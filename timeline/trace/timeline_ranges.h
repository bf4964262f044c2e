/* The ranges and steps that programs mark, as slices, from the marks of one process. Slices of one thread nest. A
 * range that is open at the first mark that was kept begins there. One that no mark ends lasts until the last event.
 * Where marks are missing (mark_runs.h), open ranges end at the last mark before, and those that began there are left
 * out. Used by one thread. */
#ifndef TIMELINE_RANGES_H
#define TIMELINE_RANGES_H

#include "timeline_source.h"

#include "report/model/report_names.h"
#include "report/model/report_paths.h"

struct timeline_range {
	uint64_t begin_ns, end_ns;
	uint32_t tid;
	uint32_t name;    /* a text of report_names */
	bool is_left_out; /* init()'s own: false in what it has made */
};

struct timeline_ranges {
	struct timeline_range *
		ranges; /* owns; by thread, then in the order of their begins: outer ones come first */
	uint32_t nr_ranges, room_ranges;
};

struct timeline_range_names { /* borrowed */
	struct report_names *names;
	struct report_paths *paths;
	uint32_t nr_nodes; /* of the catalog */
};

struct timeline_marks {
	struct timeline_launch *
		marks; /* borrowed; of one process, in order of time; init() sorts them by thread */
	uint32_t nr_marks;
	uint64_t last_ns;        /* ends what no mark ends */
	uint64_t from_ns, to_ns; /* ranges with a part in this time are made, as a whole */
};

/* Steps are named after their number, and are there without --nvtx, too. 0; -ENOMEM; -EPROTO: the profile is damaged.
 * Call timeline_ranges_fini() in any case. */
int timeline_ranges_init(struct timeline_ranges *ranges, const struct timeline_range_names *names,
			 const struct timeline_marks *of);
void timeline_ranges_fini(struct timeline_ranges *ranges);

#endif
