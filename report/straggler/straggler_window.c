#include "straggler_window.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/collective_match.h"
#include "report/names/outlier.h"

/* Returns whether this member alone was last, because it spent the shortest time in the collective. */
static bool was_last(const struct straggler_calls *raw, uint32_t row, uint32_t member)
{
	const uint32_t width = raw->match.nr_members;
	const uint64_t *times = raw->times_ns + (size_t)row * width;

	for (uint32_t i = 0; i < width; i++)
		if (i != member && times[i] <= times[member])
			return false;
	return true;
}

uint64_t straggler_window_lateness(const struct straggler_calls *raw, uint32_t late,
				   uint64_t *count)
{
	const uint32_t width = raw->match.nr_members;
	uint64_t *others = calloc(width, sizeof(*others)), sum = 0;

	*count = 0;
	for (uint32_t i = 0; others && i < raw->match.nr_rows; i++) {
		const uint64_t *times = raw->times_ns + (size_t)i * width;
		uint32_t nr_others = 0;

		if (!was_last(raw, i, late))
			continue;
		for (uint32_t j = 0; j < width; j++)
			if (j != late)
				others[nr_others++] = times[j];
		sum += outlier_median(others, nr_others) - times[late];
		++*count;
	}
	free(others);
	return *count ? sum / *count : 0;
}

static bool window_before(const struct collective_match *match,
			  const struct collective_log_call *calls, uint32_t entry,
			  struct straggler_window *window)
{
	const struct collective_match_entry *now = &match->entries[entry];

	/* Of calls that are folded some rows are missing. */
	if (entry == 0 || !collective_match_same_end(now, now - 1) ||
	    now->sequence != now[-1].sequence + 1)
		return false;
	const struct collective_log_call *call = &calls[now->call];
	const struct collective_log_call *before = &calls[(now - 1)->call];
	const struct collective_gpu *from = &before->gpu, *to = &call->gpu;

	if (from->known && to->known && from->clock_known && to->clock_known)
		*window = (struct straggler_window){from->start_ns + from->ns +
							    (uint64_t)from->clock_offset_ns,
						    to->start_ns + (uint64_t)to->clock_offset_ns};
	else
		*window = (struct straggler_window){
			before->call.start_ns + before->call.duration_ns, call->call.start_ns};
	return true;
}

int straggler_window_find(const struct straggler_calls *raw, const struct collective_log *log,
			  uint32_t late, uint32_t member, struct straggler_window **windows,
			  uint32_t *nr_windows)
{
	const struct collective_match *match = &raw->match;
	const uint32_t used = match->nr_rows;
	uint32_t count;
	const struct collective_log_call *calls = collective_log_calls(log, &count);
	uint64_t last_end = 0;

	*nr_windows = 0;
	*windows = calloc(used + 1ul, sizeof(**windows));
	if (!*windows)
		return -ENOMEM;
	for (uint32_t i = 0; i < used; i++) {
		struct straggler_window window;

		if (!was_last(raw, i, late) ||
		    !window_before(match, calls, match->places[match->rows[i].entries + member],
				   &window))
			continue;
		if (window.start_ns < last_end)
			window.start_ns = last_end;
		if (window.start_ns >= window.end_ns)
			continue;
		last_end = window.end_ns;
		(*windows)[(*nr_windows)++] = window;
	}
	return 0;
}
