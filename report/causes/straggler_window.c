#include "straggler_window.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/collective_fold.h"
#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/collective_match.h"
#include "report/statistics/outlier.h"

/* Returns whether a member is one of those with which the late one is compared. */
static bool is_other(const struct straggler_calls *raw, uint32_t late, uint32_t member)
{
	return member != late && !(raw->is_with && raw->is_with[member]);
}

/* Returns whether this member was last of those that are compared, because it spent the shortest time in the
 * collective. Nobody is late in the first one. */
static bool was_last(const struct straggler_calls *raw, uint32_t row, uint32_t member)
{
	const uint32_t width = raw->match.nr_members;
	const uint64_t *times = raw->times_ns + (size_t)row * width;

	if (collective_match_is_first(&raw->match.rows[row]))
		return false;
	uint32_t others = 0, later = 0;

	for (uint32_t i = 0; i < width; i++) {
		if (!is_other(raw, member, i))
			continue;
		if (times[i] <= times[member])
			return false;
		others++;
		later += times[i] - times[member] >= raw->least_ns;
	}
	return others && 2 * later >= others;
}

/* Returns the median of what the others spent in a collective above the time of one member. values: room for each. */
static uint64_t lateness_of(const struct straggler_calls *raw, uint32_t row, uint32_t member,
			    uint64_t *values)
{
	const uint32_t width = raw->match.nr_members;
	const uint64_t *times = raw->times_ns + (size_t)row * width;
	uint32_t count = 0;

	for (uint32_t i = 0; i < width; i++)
		if (is_other(raw, member, i))
			values[count++] = times[i];
	return outlier_median(values, count) - times[member];
}

/* The times between a call and the one before it, as in struct straggler_windows. Empty: none. */
struct between {
	struct straggler_window host, idle, gpu;
};

/* false: the call before has no raw row. */
static bool find_before(const struct collective_match *match,
			const struct collective_log_call *calls, uint32_t entry,
			struct between *between)
{
	const struct collective_match_entry *now = &match->entries[entry];

	/* Of calls that are folded some rows are missing. */
	if (entry == 0 || !collective_match_same_end(now, now - 1) ||
	    now->sequence != now[-1].sequence + 1)
		return false;
	const struct collective_log_call *call = &calls[now->call];
	const struct collective_log_call *before = &calls[(now - 1)->call];
	const struct collective_gpu *from = &before->gpu, *to = &call->gpu;

	memset(between, 0, sizeof(*between));
	between->host = (struct straggler_window){before->call.start_ns + before->call.duration_ns,
						  call->call.start_ns};
	between->idle = between->host;
	if (from->known && to->known)
		between->gpu = (struct straggler_window){from->start_ns, to->start_ns};
	if (from->known && to->known && from->clock_known && to->clock_known)
		between->idle =
			(struct straggler_window){from->start_ns + (uint64_t)from->clock_offset_ns,
						  to->start_ns + (uint64_t)to->clock_offset_ns};
	return true;
}

/* The times before a call of a stall: of the late member as long as the others wait for it, of these next to none. */
static void find_stall(const struct collective_log_call *calls,
		       const struct collective_match_entry *entry, uint64_t ns,
		       struct between *between)
{
	const struct collective_log_call *call = &calls[entry->call];
	const uint64_t start_ns = call->call.start_ns, gpu_ns = call->gpu.start_ns;

	memset(between, 0, sizeof(*between));
	between->host = (struct straggler_window){start_ns > ns ? start_ns - ns : 0, start_ns};
	between->idle = between->host;
	if (call->gpu.known)
		between->gpu = (struct straggler_window){gpu_ns > ns ? gpu_ns - ns : 0, gpu_ns};
}

/* Adds a window without the part that earlier ones have. */
static void add_window(struct straggler_window_list *list, struct straggler_window window,
		       double collectives)
{
	if (list->count && window.start_ns < list->windows[list->count - 1].end_ns)
		window.start_ns = list->windows[list->count - 1].end_ns;
	if (window.start_ns < window.end_ns)
		list->windows[list->count++] = window;
	list->collectives += collectives;
}

static int reserve(struct straggler_windows *windows, uint32_t count)
{
	struct straggler_window_list *lists[] = {&windows->host, &windows->idle, &windows->gpu};
	int error = 0;

	for (int i = 0; i < 3; i++) {
		lists[i]->windows = calloc(count + 1ul, sizeof(*lists[i]->windows));
		error = lists[i]->windows ? error : -ENOMEM;
	}
	return error;
}

/* Returns whether a collective counts that begins at this entry of a member, and then its times. */
static bool find_times(const struct straggler_calls *raw, const struct collective_log_call *calls,
		       uint32_t row, uint32_t late, uint32_t member, uint64_t *values,
		       struct between *between)
{
	const uint32_t entry = raw->match.places[raw->match.rows[row].entries + member];

	if (!was_last(raw, row, late))
		return false;
	if (!raw->is_stall)
		return find_before(&raw->match, calls, entry, between);
	find_stall(calls, &raw->match.entries[entry],
		   member == late ? lateness_of(raw, row, late, values) : 1, between);
	return true;
}

int straggler_window_lateness(const struct straggler_calls *raw, const struct collective_log *log,
			      uint32_t late, uint64_t *late_ns, uint32_t *count)
{
	uint32_t nr_calls;
	const struct collective_log_call *calls = collective_log_calls(log, &nr_calls);
	uint64_t *values = calloc(raw->match.nr_members + 1ul, sizeof(*values)), sum = 0;
	struct between between;

	*count = 0;
	*late_ns = 0;
	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < raw->match.nr_rows; i++) {
		if (!find_times(raw, calls, i, late, late, values, &between))
			continue;
		sum += lateness_of(raw, i, late, values);
		(*count)++;
	}
	free(values);
	*late_ns = *count ? sum / *count : 0;
	return 0;
}

int straggler_window_late(const struct straggler_calls *raw, uint32_t late, uint64_t *late_ns,
			  uint32_t *count)
{
	uint64_t *values = calloc(raw->match.nr_members + 1ul, sizeof(*values));

	*count = 0;
	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < raw->match.nr_rows; i++)
		if (was_last(raw, i, late))
			late_ns[(*count)++] = lateness_of(raw, i, late, values);
	free(values);
	return 0;
}

int straggler_window_find(const struct straggler_calls *raw, const struct collective_log *log,
			  uint32_t late, uint32_t member, struct straggler_windows *windows)
{
	uint32_t nr_calls;
	const struct collective_log_call *calls = collective_log_calls(log, &nr_calls);
	uint64_t *values = calloc(raw->match.nr_members + 1ul, sizeof(*values));
	int error = reserve(windows, raw->match.nr_rows);

	if (!values)
		error = -ENOMEM;
	windows->is_stall = raw->is_stall;
	for (uint32_t i = 0; i < raw->match.nr_rows && !error; i++) {
		struct between between;

		if (!find_times(raw, calls, i, late, member, values, &between))
			continue;
		add_window(&windows->host, between.host, 1);
		add_window(&windows->idle, between.idle, 1);
		add_window(&windows->gpu, between.gpu, between.gpu.end_ns != 0);
	}
	free(values);
	return error;
}

int straggler_window_span(const struct collective_fold_member *member, uint64_t collectives,
			  struct straggler_windows *windows)
{
	const struct straggler_window host = {member->start_ns, member->end_ns};
	const struct straggler_window gpu = {member->gpu_start_ns, member->gpu_end_ns};
	int error = reserve(windows, 1);

	if (error)
		return error;
	add_window(&windows->host, host, (double)collectives);
	add_window(&windows->idle, host, (double)collectives);
	add_window(&windows->gpu, gpu, (double)collectives);
	return 0;
}

void straggler_windows_fini(struct straggler_windows *windows)
{
	free(windows->host.windows);
	free(windows->idle.windows);
	free(windows->gpu.windows);
	memset(windows, 0, sizeof(*windows));
}

uint32_t straggler_window_first(const struct straggler_window_list *list, uint64_t time_ns)
{
	uint32_t low = 0, high = list->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (list->windows[middle].end_ns > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint64_t straggler_window_overlap(const struct straggler_window_list *list, uint64_t start_ns,
				  uint64_t end_ns)
{
	uint64_t sum = 0;

	for (uint32_t i = straggler_window_first(list, start_ns);
	     i < list->count && list->windows[i].start_ns < end_ns; i++) {
		const struct straggler_window *window = &list->windows[i];
		uint64_t from = window->start_ns > start_ns ? window->start_ns : start_ns;
		uint64_t to = window->end_ns < end_ns ? window->end_ns : end_ns;

		sum += to > from ? to - from : 0;
	}
	return sum;
}

bool straggler_window_has(const struct straggler_window_list *list, uint64_t time_ns)
{
	uint32_t i = straggler_window_first(list, time_ns);

	return i < list->count && list->windows[i].start_ns <= time_ns;
}
