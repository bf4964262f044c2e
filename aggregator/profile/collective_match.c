#include "collective_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collective_log.h"

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

bool collective_match_holds_up(uint32_t function)
{
	return function == COLLECTIVE_ALL_REDUCE || function == COLLECTIVE_ALL_GATHER ||
	       function == COLLECTIVE_REDUCE_SCATTER || function == COLLECTIVE_ALL_TO_ALL;
}

uint64_t collective_match_number(const struct collective *call)
{
	return call->function_sequence ? call->function_sequence : call->sequence;
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

	if (!order)
		order = compare(x->process, y->process);
	return order ? order : compare(x->communicator_id, y->communicator_id);
}

static int by_order(const void *a, const void *b)
{
	const struct collective_match_row *x = a, *y = b;
	int order = compare(x->sequence, y->sequence);

	if (!order)
		order = compare(x->function, y->function);
	return order ? order : compare(x->number, y->number);
}

/* ---- one communicator */

/* Entries of a member follow one another. */
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
			.process = entry->process,
			.communicator_id = entry->communicator_id,
			.rank = end->rank,
			.begin = i};
	}
	qsort(match->members, count, sizeof(*match->members), by_rank);
	return 0;
}

static int find_places(const struct matcher *matcher, const struct collective_match *match,
		       struct place **places, uint32_t *nr_places)
{
	*nr_places = 0;
	*places = calloc(match->nr_entries, sizeof(**places));
	if (!*places)
		return -ENOMEM;
	for (uint32_t member = 0; member < match->nr_members; member++) {
		uint32_t first = match->members[member].begin;

		for (uint32_t i = first;
		     i < match->nr_entries &&
		     collective_match_same_end(&match->entries[i], &match->entries[first]);
		     i++) {
			const struct collective *call =
				&matcher->calls[match->entries[i].call].call;

			if (collective_match_holds_up(call->function))
				(*places)[(*nr_places)++] = (struct place){
					.number = collective_match_number(call),
					.function = call->function,
					.member = member,
					.entry = i,
				};
		}
	}
	qsort(*places, *nr_places, sizeof(**places), by_number);
	return 0;
}

static bool same_collective(const struct place *a, const struct place *b)
{
	return a->function == b->function && a->number == b->number;
}

/* Takes the places of one collective from begin on. Only the first place of each member counts. Returns the index
 * where the collective's places end. */
static uint32_t take_row(struct collective_match *match, const struct place *places,
			 uint32_t nr_places, uint32_t begin)
{
	struct collective_match_row *row = &match->rows[match->nr_rows];
	uint32_t *at, i;

	*row = (struct collective_match_row){.number = places[begin].number,
					     .function = places[begin].function,
					     .entries = match->nr_rows * match->nr_members};
	if (match->nr_rows > 0 && row[-1].function == row->function)
		row->sequence = row[-1].sequence;
	at = &match->places[row->entries];
	memset(at, 0xff, match->nr_members * sizeof(*at));
	for (i = begin; i < nr_places && same_collective(&places[i], &places[begin]); i++) {
		struct collective_match_entry *entry = &match->entries[places[i].entry];

		entry->twice = at[places[i].member] != COLLECTIVE_MATCH_ABSENT;
		entry->in_row = !entry->twice;
		if (entry->twice)
			continue;
		at[places[i].member] = places[i].entry;
		row->present++;
		if (places[i].member == 0)
			row->sequence = entry->sequence;
	}
	match->nr_rows++;
	return i;
}

static int find_rows(struct collective_match *match, const struct place *places, uint32_t nr_places)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < nr_places; i++)
		count += i == 0 || !same_collective(&places[i], &places[i - 1]);
	if ((uint64_t)count * match->nr_members > UINT32_MAX)
		return -ENOMEM;
	match->rows = calloc(count + 1ul, sizeof(*match->rows));
	match->places = calloc((size_t)count * match->nr_members + 1, sizeof(*match->places));
	if (!match->rows || !match->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_places;)
		i = take_row(match, places, nr_places, i);
	qsort(match->rows, match->nr_rows, sizeof(*match->rows), by_order);
	return 0;
}

static int make_match(const struct matcher *matcher, struct collective_match *match)
{
	struct place *places = NULL;
	uint32_t nr_places;
	int error = find_members(matcher, match);

	if (!error)
		error = find_places(matcher, match, &places, &nr_places);
	if (!error)
		error = find_rows(match, places, nr_places);
	free(places);
	return error;
}

/* ---- times */

enum collective_match_time collective_match_time(const struct collective_match *match,
						 const struct collective_log_call *calls,
						 const struct collective_match_row *row,
						 struct collective_match_launch *launch,
						 uint64_t *times)
{
	const uint32_t *at = &match->places[row->entries];
	const struct collective_log_call *first = &calls[match->entries[at[0]].call];
	bool by_gpu = true, grouped = false;

	for (uint32_t i = 0; i < match->nr_members; i++) {
		const struct collective_log_call *call = &calls[match->entries[at[i]].call];

		by_gpu = by_gpu && call->gpu.known;
		grouped = grouped || call->call.group;
	}
	if (by_gpu && launch->known && launch->start_ns == first->gpu.start_ns &&
	    launch->correlation_id == first->call.correlation_id)
		return COLLECTIVE_MATCH_JOINT;
	if (!by_gpu && grouped)
		return COLLECTIVE_MATCH_GROUPED;
	for (uint32_t i = 0; i < match->nr_members; i++) {
		const struct collective_log_call *call = &calls[match->entries[at[i]].call];

		times[i] = by_gpu ? call->gpu.ns : call->call.duration_ns;
	}
	*launch = (struct collective_match_launch){first->gpu.start_ns, first->call.correlation_id,
						   first->gpu.known};
	return by_gpu ? COLLECTIVE_MATCH_BY_GPU : COLLECTIVE_MATCH_BY_HOST;
}

int collective_match_compare(struct collective_match *match, const struct collective_log *log,
			     uint64_t **times)
{
	const uint32_t width = match->nr_members;
	struct collective_match_launch launch = {0};
	uint32_t count, used = 0;
	const struct collective_log_call *calls = collective_log_calls(log, &count);

	*times = calloc((size_t)match->nr_rows * width + 1, sizeof(**times));
	if (!*times)
		return -ENOMEM;
	for (uint32_t i = 0; i < match->nr_rows; i++) {
		if (match->rows[i].present == width &&
		    collective_match_time(match, calls, &match->rows[i], &launch,
					  *times + (size_t)used * width) < COLLECTIVE_MATCH_JOINT)
			match->rows[used++] = match->rows[i];
	}
	match->nr_rows = used;
	return 0;
}

/* ---- all communicators */

static int collect(const struct matcher *matcher, bool all, struct collective_match_entry **entries,
		   uint32_t *nr_entries)
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
		    !call->sequence || (calls[i].folded && !all))
			continue;
		const struct communicator *end =
			end_of(matcher, calls[i].process, call->communicator_id);
		if (!end || !end->key)
			continue;
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

int collective_match_each(const struct collective_log *log, uint32_t nr_processes, bool all,
			  collective_match_take *take, void *context)
{
	struct matcher matcher = {.log = log, .nr_processes = nr_processes};
	struct collective_match_entry *entries = NULL;
	uint32_t nr_entries = 0, count;

	matcher.calls = collective_log_calls(log, &count);
	int error = index_ends(&matcher);
	if (!error)
		error = collect(&matcher, all, &entries, &nr_entries);
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
	free(match->rows);
	free(match->places);
	free(match->entries);
	*match = (struct collective_match){0};
}
