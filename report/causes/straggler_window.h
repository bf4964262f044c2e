/* Finds the times that are compared to explain why a rank is late: before those collectives in which it was last, or
 * from the first collective to the last one. A rank of a group is the last if none outside of the group was later. Part
 * of report_straggler; one thread. */
#ifndef STRAGGLER_WINDOW_H
#define STRAGGLER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/collective_match.h"

struct collective_fold_member;
struct collective_log;

/* The calls of a communicator whose raw rows are kept, where all ranks have one (collective_match_compare()). */
struct straggler_calls {
	struct collective_match match;
	uint64_t *times_ns;
	/* owns; by member: it is of the late member's group, which is compared with ranks outside of it. NULL: alone */
	bool *is_with;
	/* Collectives count in which the late member was that much behind the median: chance makes each rank the last
	 * in some. */
	uint64_t least_ns;
	/* One long wait is compared by itself. What the others do meanwhile is to wait in the collective. */
	bool is_stall;
};

struct straggler_window {
	uint64_t start_ns, end_ns;
};

struct straggler_window_list {
	struct straggler_window *windows; /* owns; in order, and they do not overlap */
	uint32_t count;
	double collectives; /* to which they belong */
	bool is_cut;        /* only a part of the windows is left, or none (straggler_kept.h) */
};

/* The windows of a process. Zeroed: none. */
struct straggler_windows {
	/* by CLOCK_MONOTONIC of its node, between its calls: all that the host does before the next one is in there */
	struct straggler_window_list host;
	/* by the same clock, from the start of a kernel to that of the next one, where these and the clock are known;
	 * otherwise as host */
	struct straggler_window_list idle;
	/* by CUPTI's clock, as idle; none where the kernels are not known */
	struct straggler_window_list gpu;
	bool is_stall; /* GPU work counts by its time in the windows: what began before it may be what it is about */
};

/* Frees what it owns. */
void straggler_windows_fini(struct straggler_windows *windows);

/* *late_ns is the mean time that a member was behind the median of the others in the collectives before which it has a
 * window (straggler_window_find()), and *count their number. 0 or -ENOMEM. */
int straggler_window_lateness(const struct straggler_calls *raw, const struct collective_log *log,
			      uint32_t late, uint64_t *late_ns, uint32_t *count);

/* Lists how long a member was behind the median of the others in each collective in which it counts as last, also in
 * those without a window. late_ns has room for all rows. 0 or -ENOMEM, with *count 0. */
int straggler_window_late(const struct straggler_calls *raw, uint32_t late, uint64_t *late_ns,
			  uint32_t *count);

/* Finds a member's windows, one before each collective in which the late member counts as last: from the member's
 * previous call on the communicator to this one. Collectives whose previous call has no raw row have none. *windows is
 * zeroed before. 0 or -ENOMEM. The caller frees *windows, also on error. */
int straggler_window_find(const struct straggler_calls *raw, const struct collective_log *log,
			  uint32_t late, uint32_t member, struct straggler_windows *windows);

/* Makes one window from the start of a member's first compared collective to the end of the last one. Otherwise as
 * straggler_window_find(). */
int straggler_window_span(const struct collective_fold_member *member, uint64_t collectives,
			  struct straggler_windows *windows);

/* Returns the first window that ends after a time; list->count: there is none. */
uint32_t straggler_window_first(const struct straggler_window_list *list, uint64_t time_ns);

/* Returns the part of a time that lies in the windows, and whether a moment does. */
uint64_t straggler_window_overlap(const struct straggler_window_list *list, uint64_t start_ns,
				  uint64_t end_ns);
bool straggler_window_has(const struct straggler_window_list *list, uint64_t time_ns);

#endif
