#include "straggler_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "outlier.h"

/* Where the n-th call of a function by a member is. */
struct place {
	uint64_t number;
	uint32_t function, member;
	uint32_t entry;
};

struct matcher {
	const struct collective_log *log;
	const struct collective_log_call *calls;
	const struct communicator **ends; /* owns; by where a process's begin, and id */
	uint32_t *begins;                 /* owns */
	uint32_t nr_processes;
};

static bool holds_all_up(uint32_t function)
{
	return function == COLLECTIVE_ALL_REDUCE || function == COLLECTIVE_ALL_GATHER ||
	       function == COLLECTIVE_REDUCE_SCATTER || function == COLLECTIVE_ALL_TO_ALL;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* ---- what belongs together ---------------------------------------------------------------------- */

static int index_ends(struct matcher *matcher)
{
	uint32_t count, all = 0;
	const struct collective_log_communicator *made =
		collective_log_communicators(matcher->log, &count);

	matcher->begins = calloc(matcher->nr_processes + 2ul, sizeof(*matcher->begins));
	if (!matcher->begins)
		return -ENOMEM;
	for (uint32_t id = 1; id <= matcher->nr_processes; id++) {
		matcher->begins[id] = all;
		all += collective_log_defined(matcher->log, id);
	}
	matcher->ends = calloc(all + 1ul, sizeof(struct communicator *));
	if (!matcher->ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		if (made[i].process <= matcher->nr_processes)
			matcher->ends[matcher->begins[made[i].process] +
				      made[i].communicator.communicator_id - 1] =
				&made[i].communicator;
	return 0;
}

static const struct communicator *end_of(const struct matcher *matcher, uint32_t process,
					 uint32_t communicator_id)
{
	return matcher->ends[matcher->begins[process] + communicator_id - 1];
}

static int by_end(const void *a, const void *b)
{
	const struct straggler_match_entry *x = a, *y = b;
	int order = compare(x->key, y->key);

	if (!order)
		order = compare(x->process, y->process);
	if (!order)
		order = compare(x->communicator_id, y->communicator_id);
	if (!order)
		order = compare(x->sequence, y->sequence);
	return order ? order : compare(x->call, y->call);
}

static int by_number(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = compare(x->function, y->function);

	if (!order)
		order = compare(x->number, y->number);
	if (!order)
		order = compare(x->member, y->member);
	return order ? order : compare(x->entry, y->entry);
}

static int by_rank(const void *a, const void *b)
{
	const struct report_straggler_member *x = a, *y = b;
	int order = compare(x->rank, y->rank);

	return order ? order : compare(x->process, y->process);
}

static bool same_end(const struct straggler_match_entry *a, const struct straggler_match_entry *b)
{
	return a->process == b->process && a->communicator_id == b->communicator_id;
}

/* ---- one communicator --------------------------------------------------------------------------- */

/* Entries of a member are together; span_ns holds the first one's number until the span is known. */
static int find_members(const struct matcher *matcher, struct straggler_match *match)
{
	struct report_straggler_communicator *communicator = &match->communicator;
	uint32_t count = 0;

	for (uint32_t i = 0; i < match->nr_entries; i++)
		count += i == 0 || !same_end(&match->entries[i], &match->entries[i - 1]);
	communicator->members = calloc(count, sizeof(*communicator->members));
	if (!communicator->members)
		return -ENOMEM;
	communicator->nr_ranks = COLLECTIVE_NOT_KNOWN;
	for (uint32_t i = 0; i < match->nr_entries; i++) {
		const struct straggler_match_entry *entry = &match->entries[i];

		if (i > 0 && same_end(entry, entry - 1))
			continue;
		const struct communicator *end =
			end_of(matcher, entry->process, entry->communicator_id);
		if (end->nr_ranks != COLLECTIVE_NOT_KNOWN)
			communicator->nr_ranks = end->nr_ranks;
		communicator->origin = end->origin;
		communicator->members[communicator->nr_members++] =
			(struct report_straggler_member){
				.process = entry->process, .rank = end->rank, .span_ns = i};
	}
	qsort(communicator->members, count, sizeof(*communicator->members), by_rank);
	return 0;
}

static int find_places(const struct matcher *matcher, struct straggler_match *match,
		       struct place **places, uint32_t *nr_places)
{
	struct report_straggler_communicator *communicator = &match->communicator;

	*nr_places = 0;
	*places = calloc(match->nr_entries, sizeof(**places));
	if (!*places)
		return -ENOMEM;
	for (uint32_t member = 0; member < communicator->nr_members; member++) {
		uint32_t first = (uint32_t)communicator->members[member].span_ns;

		for (uint32_t i = first;
		     i < match->nr_entries && same_end(&match->entries[i], &match->entries[first]);
		     i++) {
			const struct collective *call =
				&matcher->calls[match->entries[i].call].call;

			if (!holds_all_up(call->function)) {
				communicator->others++;
				continue;
			}
			(*places)[(*nr_places)++] = (struct place){
				.number = call->function_sequence ? call->function_sequence
								  : call->sequence,
				.function = call->function,
				.member = member,
				.entry = i,
			};
		}
	}
	qsort(*places, *nr_places, sizeof(**places), by_number);
	return 0;
}

/* The places of one collective, from begin on, and what is wrong with them: those of a member that is there already go.
 * Returns where they end. */
static uint32_t take_collective(struct straggler_match *match, struct place *places,
				uint32_t nr_places, uint32_t begin, uint32_t *row)
{
	struct report_straggler_communicator *communicator = &match->communicator;
	uint32_t i, count = 0;

	memset(row, 0xff, communicator->nr_members * sizeof(*row));
	for (i = begin; i < nr_places && places[i].function == places[begin].function &&
			places[i].number == places[begin].number;
	     i++) {
		if (row[places[i].member] == UINT32_MAX) {
			row[places[i].member] = places[i].entry;
			count++;
		} else {
			communicator->duplicates++;
		}
	}
	communicator->collectives++;
	for (uint32_t j = 0; j < communicator->nr_members; j++)
		communicator->members[j].missing += row[j] == UINT32_MAX;
	communicator->complete += communicator->nr_ranks == COLLECTIVE_NOT_KNOWN
					  ? count == communicator->nr_members
					  : count >= communicator->nr_ranks;
	return i;
}

/* Rows are brought into the first member's order. */
static int by_entry(const void *a, const void *b)
{
	return compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int find_rows(struct straggler_match *match, struct place *places, uint32_t nr_places,
		     uint32_t *nr_rows)
{
	const uint32_t width = match->communicator.nr_members;
	uint32_t *row;

	*nr_rows = 0;
	/* A row has a place for each member, so there are no more than this. */
	match->rows = calloc(nr_places + width + 1ul, sizeof(*match->rows));
	if (!match->rows)
		return -ENOMEM;
	row = calloc(width, sizeof(*row));
	if (!row)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_places;) {
		bool whole = true;

		i = take_collective(match, places, nr_places, i, row);
		for (uint32_t j = 0; j < width; j++)
			whole = whole && row[j] != UINT32_MAX;
		if (whole)
			memcpy(match->rows + (size_t)(*nr_rows)++ * width, row,
			       width * sizeof(*row));
	}
	free(row);
	qsort(match->rows, *nr_rows, width * sizeof(*row), by_entry);
	return 0;
}

static const struct collective_log_call *
call_of(const struct matcher *matcher, const struct straggler_match *match, uint32_t entry)
{
	return &matcher->calls[match->entries[entry].call];
}

/* Times of a row, if it has any: by kernels, or by the host. */
static bool time_row(const struct matcher *matcher, struct straggler_match *match,
		     const uint32_t *row, const uint32_t *before, uint64_t *times)
{
	struct report_straggler_communicator *communicator = &match->communicator;
	bool by_gpu = true, grouped = false;

	for (uint32_t i = 0; i < communicator->nr_members; i++) {
		by_gpu = by_gpu && call_of(matcher, match, row[i])->gpu.known;
		grouped = grouped || call_of(matcher, match, row[i])->call.group;
	}
	if (by_gpu && before) {
		const struct collective_log_call *now = call_of(matcher, match, row[0]);
		const struct collective_log_call *then = call_of(matcher, match, before[0]);

		if (then->gpu.known && then->gpu.start_ns == now->gpu.start_ns &&
		    then->call.correlation_id == now->call.correlation_id) {
			communicator->joint++;
			return false;
		}
	}
	if (!by_gpu && grouped) {
		communicator->grouped++;
		return false;
	}
	for (uint32_t i = 0; i < communicator->nr_members; i++) {
		const struct collective_log_call *call = call_of(matcher, match, row[i]);

		times[i] = by_gpu ? call->gpu.ns : call->call.duration_ns;
	}
	communicator->by_gpu += by_gpu;
	return true;
}

static int find_times(const struct matcher *matcher, struct straggler_match *match,
		      uint32_t nr_rows)
{
	struct report_straggler_communicator *communicator = &match->communicator;
	const uint32_t width = communicator->nr_members;
	uint32_t used = 0;

	match->times_ns = calloc((size_t)nr_rows * width + 1, sizeof(*match->times_ns));
	if (!match->times_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_rows; i++) {
		const uint32_t *row = match->rows + (size_t)i * width;
		const uint32_t *before = used ? match->rows + (size_t)(used - 1) * width : NULL;

		if (time_row(matcher, match, row, before, match->times_ns + (size_t)used * width))
			memmove(match->rows + (size_t)used++ * width, row, width * sizeof(*row));
	}
	communicator->used = used;
	return 0;
}

/* By each one's own clock, the GPU's where all times are of kernels. */
static int find_spans(const struct matcher *matcher, struct straggler_match *match)
{
	struct report_straggler_communicator *communicator = &match->communicator;
	const uint32_t width = communicator->nr_members;
	bool by_gpu = communicator->by_gpu == communicator->used;
	uint64_t *spans = calloc(width, sizeof(*spans));

	if (!spans)
		return -ENOMEM;
	for (uint32_t i = 0; i < width; i++) {
		const struct collective_log_call *first, *last;

		communicator->members[i].span_ns = 0;
		if (!communicator->used)
			continue;
		first = call_of(matcher, match, match->rows[i]);
		last = call_of(matcher, match, match->rows[(communicator->used - 1) * width + i]);
		uint64_t start = by_gpu ? first->gpu.start_ns : first->call.start_ns;
		uint64_t end = by_gpu ? last->gpu.start_ns + last->gpu.ns
				      : last->call.start_ns + last->call.duration_ns;
		spans[i] = communicator->members[i].span_ns = end > start ? end - start : 0;
	}
	communicator->span_ns = outlier_median(spans, width);
	free(spans);
	return 0;
}

static int make_match(const struct matcher *matcher, struct straggler_match *match)
{
	struct place *places = NULL;
	uint32_t nr_places, nr_rows;
	int error = find_members(matcher, match);

	if (error || match->communicator.nr_members < 2)
		return error;
	error = find_places(matcher, match, &places, &nr_places);
	if (!error)
		error = find_rows(match, places, nr_places, &nr_rows);
	if (!error)
		error = find_times(matcher, match, nr_rows);
	if (!error)
		error = find_spans(matcher, match);
	free(places);
	return error;
}

/* ---- all of them -------------------------------------------------------------------------------- */

static int collect(const struct matcher *matcher, struct straggler_match_entry **entries,
		   uint32_t *nr_entries, uint64_t *unknown)
{
	uint32_t count;
	const struct collective_log_call *calls = collective_log_calls(matcher->log, &count);

	*nr_entries = 0;
	*entries = calloc(count + 1ul, sizeof(**entries));
	if (!*entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct collective *call = &calls[i].call;

		if (calls[i].process > matcher->nr_processes || !call->communicator_id ||
		    !call->sequence)
			continue;
		const struct communicator *end =
			end_of(matcher, calls[i].process, call->communicator_id);
		if (!end || !end->key) {
			*unknown += 1;
			continue;
		}
		(*entries)[(*nr_entries)++] =
			(struct straggler_match_entry){.key = end->key,
						       .sequence = call->sequence,
						       .process = calls[i].process,
						       .communicator_id = call->communicator_id,
						       .call = i};
	}
	qsort(*entries, *nr_entries, sizeof(**entries), by_end);
	return 0;
}

static int take_one(const struct matcher *matcher, const struct straggler_match_entry *entries,
		    uint32_t nr_entries, straggler_match_take *take, void *context)
{
	struct straggler_match match = {.communicator = {.key = entries->key},
					.nr_entries = nr_entries};
	int error = -ENOMEM;

	match.entries = malloc(nr_entries * sizeof(*entries));
	if (match.entries) {
		memcpy(match.entries, entries, nr_entries * sizeof(*entries));
		error = make_match(matcher, &match);
	}
	if (!error)
		return take(context, &match);
	straggler_match_fini(&match);
	return error;
}

int straggler_match_each(const struct collective_log *log, uint32_t nr_processes,
			 straggler_match_take *take, void *context, uint64_t *unknown)
{
	struct matcher matcher = {.log = log, .nr_processes = nr_processes};
	struct straggler_match_entry *entries = NULL;
	uint32_t nr_entries = 0, count;

	*unknown = 0;
	matcher.calls = collective_log_calls(log, &count);
	int error = index_ends(&matcher);
	if (!error)
		error = collect(&matcher, &entries, &nr_entries, unknown);
	for (uint32_t i = 0, next; i < nr_entries && !error; i = next) {
		for (next = i + 1; next < nr_entries && entries[next].key == entries[i].key; next++)
			;
		error = take_one(&matcher, entries + i, next - i, take, context);
	}
	free(entries);
	free(matcher.begins);
	free((void *)matcher.ends);
	return error;
}

void straggler_match_fini(struct straggler_match *match)
{
	free(match->communicator.members);
	free(match->times_ns);
	free(match->rows);
	free(match->entries);
	*match = (struct straggler_match){0};
}

/* ---- of one that is late ------------------------------------------------------------------------ */

/* Whether it alone was in it for the shortest time. */
static bool was_last(const struct straggler_match *match, uint32_t row, uint32_t member)
{
	const uint32_t width = match->communicator.nr_members;
	const uint64_t *times = match->times_ns + (size_t)row * width;

	for (uint32_t i = 0; i < width; i++)
		if (i != member && times[i] <= times[member])
			return false;
	return true;
}

uint64_t straggler_match_lateness(const struct straggler_match *match, uint32_t late,
				  uint64_t *count)
{
	const uint32_t width = match->communicator.nr_members;
	uint64_t *others = calloc(width, sizeof(*others)), sum = 0;

	*count = 0;
	for (uint32_t i = 0; others && i < match->communicator.used; i++) {
		const uint64_t *times = match->times_ns + (size_t)i * width;
		uint32_t nr_others = 0;

		if (!was_last(match, i, late))
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

static bool window_before(const struct straggler_match *match,
			  const struct collective_log_call *calls, uint32_t entry,
			  struct straggler_window *window)
{
	const struct straggler_match_entry *now = &match->entries[entry];

	if (entry == 0 || !same_end(now, now - 1))
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

int straggler_match_windows(const struct straggler_match *match, const struct collective_log *log,
			    uint32_t late, uint32_t member, struct straggler_window **windows,
			    uint32_t *nr_windows)
{
	const uint32_t width = match->communicator.nr_members;
	const uint32_t used = (uint32_t)match->communicator.used;
	uint32_t count;
	const struct collective_log_call *calls = collective_log_calls(log, &count);
	uint64_t last_end = 0;

	*nr_windows = 0;
	*windows = calloc(used + 1ul, sizeof(**windows));
	if (!*windows)
		return -ENOMEM;
	for (uint32_t i = 0; i < used; i++) {
		struct straggler_window window;

		if (!was_last(match, i, late) ||
		    !window_before(match, calls, match->rows[(size_t)i * width + member], &window))
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
