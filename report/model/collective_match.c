#include "collective_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/collective_log.h"
#include "report/names/outlier.h"

/* The place of the n-th call of a function by a member. */
struct place {
	uint64_t number;
	uint32_t function, member;
	uint32_t entry;
};

struct matcher {
	const struct collective_log *log;
	const struct collective_log_call *calls;
	const struct communicator **ends; /* owns; by the process's begin, and id */
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

/* ---- sorting */

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
	const struct collective_match_entry *x = a, *y = b;
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
	const struct collective_match_member *x = a, *y = b;
	int order = compare(x->rank, y->rank);

	return order ? order : compare(x->process, y->process);
}

/* ---- one communicator */

/* Entries of a member follow one another. span_ns holds the number of the first one until the span is known. */
static int find_members(const struct matcher *matcher, struct collective_match *match)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < match->nr_entries; i++)
		count += i == 0 ||
			 !collective_match_same_end(&match->entries[i], &match->entries[i - 1]);
	match->members = calloc(count, sizeof(*match->members));
	if (!match->members)
		return -ENOMEM;
	match->nr_ranks = COLLECTIVE_NOT_KNOWN;
	for (uint32_t i = 0; i < match->nr_entries; i++) {
		const struct collective_match_entry *entry = &match->entries[i];

		if (i > 0 && collective_match_same_end(entry, entry - 1))
			continue;
		const struct communicator *end =
			end_of(matcher, entry->process, entry->communicator_id);
		if (end->nr_ranks != COLLECTIVE_NOT_KNOWN)
			match->nr_ranks = end->nr_ranks;
		match->origin = end->origin;
		match->members[match->nr_members++] = (struct collective_match_member){
			.process = entry->process, .rank = end->rank, .span_ns = i};
	}
	qsort(match->members, count, sizeof(*match->members), by_rank);
	return 0;
}

static int find_places(const struct matcher *matcher, struct collective_match *match,
		       struct place **places, uint32_t *nr_places)
{

	*nr_places = 0;
	*places = calloc(match->nr_entries, sizeof(**places));
	if (!*places)
		return -ENOMEM;
	for (uint32_t member = 0; member < match->nr_members; member++) {
		uint32_t first = (uint32_t)match->members[member].span_ns;

		for (uint32_t i = first;
		     i < match->nr_entries &&
		     collective_match_same_end(&match->entries[i], &match->entries[first]);
		     i++) {
			const struct collective *call =
				&matcher->calls[match->entries[i].call].call;

			if (!holds_all_up(call->function)) {
				match->others++;
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

/* Takes the places of one collective from begin on, and checks them. Only the first place of each member counts.
 * Returns the index where the collective's places end. */
static uint32_t take_collective(struct collective_match *match, struct place *places,
				uint32_t nr_places, uint32_t begin, uint32_t *row)
{
	uint32_t i, count = 0;

	memset(row, 0xff, match->nr_members * sizeof(*row));
	for (i = begin; i < nr_places && places[i].function == places[begin].function &&
			places[i].number == places[begin].number;
	     i++) {
		if (row[places[i].member] == UINT32_MAX) {
			row[places[i].member] = places[i].entry;
			count++;
		} else {
			match->duplicates++;
		}
	}
	match->collectives++;
	for (uint32_t j = 0; j < match->nr_members; j++)
		match->members[j].missing += row[j] == UINT32_MAX;
	match->complete += match->nr_ranks == COLLECTIVE_NOT_KNOWN ? count == match->nr_members
								   : count >= match->nr_ranks;
	return i;
}

/* Sorts rows by the first member's order. */
static int by_entry(const void *a, const void *b)
{
	return compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int find_rows(struct collective_match *match, struct place *places, uint32_t nr_places,
		     uint32_t *nr_rows)
{
	const uint32_t width = match->nr_members;
	uint32_t *row;

	*nr_rows = 0;
	/* A row has a place for each member, so this many suffice. */
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
call_of(const struct matcher *matcher, const struct collective_match *match, uint32_t entry)
{
	return &matcher->calls[match->entries[entry].call];
}

/* Times a row by kernels, or else by the host. false: neither is known. */
static bool time_row(const struct matcher *matcher, struct collective_match *match,
		     const uint32_t *row, const uint32_t *before, uint64_t *times)
{
	bool by_gpu = true, grouped = false;

	for (uint32_t i = 0; i < match->nr_members; i++) {
		by_gpu = by_gpu && call_of(matcher, match, row[i])->gpu.known;
		grouped = grouped || call_of(matcher, match, row[i])->call.group;
	}
	if (by_gpu && before) {
		const struct collective_log_call *now = call_of(matcher, match, row[0]);
		const struct collective_log_call *then = call_of(matcher, match, before[0]);

		if (then->gpu.known && then->gpu.start_ns == now->gpu.start_ns &&
		    then->call.correlation_id == now->call.correlation_id) {
			match->joint++;
			return false;
		}
	}
	if (!by_gpu && grouped) {
		match->grouped++;
		return false;
	}
	for (uint32_t i = 0; i < match->nr_members; i++) {
		const struct collective_log_call *call = call_of(matcher, match, row[i]);

		times[i] = by_gpu ? call->gpu.ns : call->call.duration_ns;
	}
	match->by_gpu += by_gpu;
	return true;
}

static int find_times(const struct matcher *matcher, struct collective_match *match,
		      uint32_t nr_rows)
{
	const uint32_t width = match->nr_members;
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
	match->used = used;
	return 0;
}

/* Each member's span is on its own clock: the GPU's if all times are of kernels. */
static int find_spans(const struct matcher *matcher, struct collective_match *match)
{
	const uint32_t width = match->nr_members;
	bool by_gpu = match->by_gpu == match->used;
	uint64_t *spans = calloc(width, sizeof(*spans));

	if (!spans)
		return -ENOMEM;
	for (uint32_t i = 0; i < width; i++) {
		const struct collective_log_call *first, *last;

		match->members[i].span_ns = 0;
		if (!match->used)
			continue;
		first = call_of(matcher, match, match->rows[i]);
		last = call_of(matcher, match, match->rows[(match->used - 1) * width + i]);
		uint64_t start = by_gpu ? first->gpu.start_ns : first->call.start_ns;
		uint64_t end = by_gpu ? last->gpu.start_ns + last->gpu.ns
				      : last->call.start_ns + last->call.duration_ns;
		spans[i] = match->members[i].span_ns = end > start ? end - start : 0;
	}
	match->span_ns = outlier_median(spans, width);
	free(spans);
	return 0;
}

static int make_match(const struct matcher *matcher, struct collective_match *match)
{
	struct place *places = NULL;
	uint32_t nr_places, nr_rows;
	int error = find_members(matcher, match);

	if (error || match->nr_members < 2)
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

/* ---- all communicators */

static int collect(const struct matcher *matcher, struct collective_match_entry **entries,
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
			(struct collective_match_entry){.key = end->key,
							.sequence = call->sequence,
							.process = calls[i].process,
							.communicator_id = call->communicator_id,
							.call = i};
	}
	qsort(*entries, *nr_entries, sizeof(**entries), by_end);
	return 0;
}

static int take_one(const struct matcher *matcher, const struct collective_match_entry *entries,
		    uint32_t nr_entries, collective_match_take *take, void *context)
{
	struct collective_match match = {.key = entries->key, .nr_entries = nr_entries};
	int error = -ENOMEM;

	match.entries = malloc(nr_entries * sizeof(*entries));
	if (match.entries) {
		memcpy(match.entries, entries, nr_entries * sizeof(*entries));
		error = make_match(matcher, &match);
	}
	if (!error)
		return take(context, &match);
	collective_match_fini(&match);
	return error;
}

int collective_match_each(const struct collective_log *log, uint32_t nr_processes,
			  collective_match_take *take, void *context, uint64_t *unknown)
{
	struct matcher matcher = {.log = log, .nr_processes = nr_processes};
	struct collective_match_entry *entries = NULL;
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

void collective_match_fini(struct collective_match *match)
{
	free(match->members);
	free(match->times_ns);
	free(match->rows);
	free(match->entries);
	*match = (struct collective_match){0};
}
