#include "collective_folding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collective_exchange.h"

#include "base/array.h"

/* ---- calls */

static bool is_settled(const struct collective_log_call *call)
{
	return call->gpu.known || !call->call.correlation_id;
}

/* Adds a call to its sum, as collective_folding_sum() returns it. */
static int fold_call(struct collective_folding *folding, uint32_t index, bool is_across,
		     struct collective_sum **sum)
{
	const struct collective_log_call *from = &folding->calls[index];
	const struct collective *call = &from->call;
	struct collective_sum *to = *sum = collective_folding_sum(folding, index, is_across);
	bool failed = call->result != COLLECTIVE_SUCCESS && call->result != COLLECTIVE_IN_PROGRESS;

	if (!to)
		return -ENOMEM;
	to->calls++;
	to->numbered += call->communicator_id && call->sequence;
	to->failed += failed;
	to->bytes += failed ? 0 : call->bytes;
	to->total_ns += call->duration_ns;
	to->gpu_calls += from->gpu.known;
	to->gpu_ns += from->gpu.known ? from->gpu.ns : 0;
	to->unjoined += !is_settled(from);
	if (call->duration_ns > to->max_ns)
		to->max_ns = call->duration_ns;
	if (call->sequence && (to->first == 0 || call->sequence < to->first))
		to->first = call->sequence;
	if (call->sequence > to->last_sequence)
		to->last_sequence = call->sequence;
	folding->folds->verdicts[index] = COLLECTIVE_DROPPED;
	return 0;
}

/* Calls that are matched with none: groups, those that hold no rank up, those of unknown communicators. They wait for
 * their kernels alone. */
static int fold_rest(struct collective_folding *folding, uint32_t index)
{
	struct collective_sum *sum;

	if (!folding->all && !is_settled(&folding->calls[index]) &&
	    folding->nr_calls - index <= COLLECTIVE_FOLDS_WAITING)
		return 0;
	return fold_call(folding, index, false, &sum);
}

/* ---- one communicator */

static struct collective_fold *get_fold(struct collective_folding *folding,
					const struct collective_match *match)
{
	struct collective_folds *folds = folding->folds;
	uint32_t writer = folds->writers[match->members[0].process];

	for (uint32_t i = 1; i < match->nr_members; i++)
		if (folds->writers[match->members[i].process] != writer)
			writer = 0;
	struct collective_fold *fold = collective_folds_fold(folds, writer, match->key);
	for (uint32_t i = 0; fold && i < match->nr_members; i++) {
		const struct collective_match_member *member = &match->members[i];

		if (collective_fold_find(fold, member->process, member->communicator_id) ==
			    COLLECTIVE_FOLD_NONE &&
		    collective_fold_add(
			    fold, member->process,
			    collective_folds_end(folds, member->process, member->communicator_id)))
			return NULL;
	}
	if (!fold ||
	    array_reserve(&folding->times, &folding->room_times, fold->nr_members,
			  sizeof(*folding->times)) ||
	    array_reserve(&folding->order, &folding->room_order, fold->nr_members,
			  sizeof(*folding->order)) ||
	    array_reserve(&folding->at, &folding->room_at, match->nr_members,
			  sizeof(*folding->at)) ||
	    array_reserve(&folding->ends, &folding->room_ends, fold->nr_members,
			  sizeof(*folding->ends)))
		return NULL;
	for (uint32_t i = 0; i < match->nr_members; i++)
		folding->at[i] = collective_fold_find(fold, match->members[i].process,
						      match->members[i].communicator_id);
	return fold;
}

/* Splits the kernels of a collective of all ranks. A kernel that is not younger than the member's last one carried an
 * earlier collective, too, and is split. */
static int split_row(struct collective_folding *folding, const struct collective_fold *fold,
		     const struct collective_match *match, const struct collective_match_row *row,
		     bool joint)
{
	struct collective_splits *splits = &folding->folds->splits;

	for (uint32_t i = 0; i < fold->nr_members; i++) {
		uint32_t place = match->places[row->entries + i];
		const struct collective_log_call *call =
			&folding->calls[match->entries[place].call];
		struct collective_split_end *end = &folding->ends[i];

		*end = (struct collective_split_end){
			.key = collective_split_key_of(call->process, &call->gpu),
			.ns = call->gpu.ns,
			.bus_bytes = collective_split_bus_bytes(call->call.function,
								call->call.bytes, fold->nr_members),
			.left_out = !call->gpu.total_known || call->gpu.start_ns + call->gpu.ns <=
								      fold->members[i].gpu_end_ns,
		};
		struct collective_split *split =
			joint ? collective_splits_find(splits, &end->key) : NULL;
		if (split && call->gpu.total_known) {
			split->bus_bytes += end->bus_bytes;
			split->changed = true;
		}
	}
	return joint ? 0 : collective_splits_add(splits, folding->ends, fold->nr_members);
}

/* Adds up the waits of a collective for which nobody is late. */
static void add_waits(const struct collective_folding *folding, uint32_t count,
		      struct collective_fold_waits *waits)
{
	*waits = (struct collective_fold_waits){.last = COLLECTIVE_FOLD_NONE,
						.least_ns = folding->times[0]};
	for (uint32_t i = 1; i < count; i++)
		if (folding->times[i] < waits->least_ns)
			waits->least_ns = folding->times[i];
	for (uint32_t i = 0; i < count; i++)
		waits->waited_ns += folding->times[i] - waits->least_ns;
}

/* Times a collective of all members. */
static enum collective_match_time compare_row(struct collective_folding *folding,
					      struct collective_fold *fold,
					      const struct collective_match *match,
					      const struct collective_match_row *row,
					      struct collective_fold_waits *waits)
{
	enum collective_match_time how =
		collective_match_time(match, folding->calls, row, &fold->launch, folding->times);

	fold->joint += how == COLLECTIVE_MATCH_JOINT;
	fold->grouped += how == COLLECTIVE_MATCH_GROUPED;
	if (how >= COLLECTIVE_MATCH_JOINT)
		return how;
	if (collective_match_is_first(row)) {
		add_waits(folding, fold->nr_members, waits);
		return how;
	}
	fold->by_gpu += how == COLLECTIVE_MATCH_BY_GPU;
	collective_fold_compare(fold, folding->times, folding->order, waits);
	return how;
}

static int fold_row(struct collective_folding *folding, struct collective_fold *fold,
		    const struct collective_match *match, const struct collective_match_row *row)
{
	const uint32_t *places = &match->places[row->entries];
	struct collective_fold_waits waits = {0};
	const bool whole = row->present == fold->nr_members;
	const bool complete =
		fold->nr_ranks == COLLECTIVE_NOT_KNOWN ? whole : row->present >= fold->nr_ranks;
	bool compared = false;
	int error = 0;

	fold->collectives++;
	fold->complete += complete;
	if (row->number > fold->to[row->function])
		fold->to[row->function] = row->number;
	if (whole && fold->nr_members > 1) {
		enum collective_match_time how = compare_row(folding, fold, match, row, &waits);

		compared = how < COLLECTIVE_MATCH_JOINT;
		if (complete && (how == COLLECTIVE_MATCH_BY_GPU || how == COLLECTIVE_MATCH_JOINT))
			error = split_row(folding, fold, match, row, how == COLLECTIVE_MATCH_JOINT);
	}
	for (uint32_t i = 0; !whole && i < fold->nr_members; i++)
		fold->members[i].missing++;
	for (uint32_t i = 0; i < match->nr_members && !error; i++) {
		struct collective_sum *sum;

		if (places[i] == COLLECTIVE_MATCH_ABSENT)
			continue;
		uint32_t call = match->entries[places[i]].call;
		if (!whole)
			fold->members[folding->at[i]].missing--;
		error = fold_call(folding, call, fold->writer == 0, &sum);
		if (error || !compared)
			continue;
		/* The members of a whole collective are in the same order here and there. */
		if (!collective_match_is_first(row))
			collective_folding_extend(&fold->members[i], &folding->calls[call]);
		folding->folds->waited_ns[call] = waits.waited_ns;
		error = collective_folding_count(sum, folding->times[i] - waits.least_ns,
						 i == waits.last, &waits);
	}
	return error;
}

/* is_behind: an exchange before it is held. */
static bool is_ready(const struct collective_folding *folding, const struct collective_fold *fold,
		     const struct collective_match *match, uint32_t row, bool is_behind)
{
	const uint32_t *places = &match->places[match->rows[row].entries];
	uint32_t present = match->rows[row].present, later = match->nr_rows - row;

	if (folding->all || later > COLLECTIVE_FOLDS_WAITING ||
	    (uint64_t)later * fold->nr_members > COLLECTIVE_FOLDS_WAITING_CALLS)
		return true;
	if (is_behind)
		return false;
	if (fold->nr_ranks == COLLECTIVE_NOT_KNOWN
		    ? present < fold->nr_members || later <= COLLECTIVE_FOLDS_UNKNOWN
		    : present < fold->nr_ranks)
		return false;
	for (uint32_t i = 0; i < match->nr_members; i++)
		if (places[i] != COLLECTIVE_MATCH_ABSENT &&
		    !is_settled(&folding->calls[match->entries[places[i]].call]))
			return false;
	return true;
}

/* Calls that came too late are in no collective any more. */
static int fold_late(struct collective_folding *folding, struct collective_fold *fold,
		     const struct collective_match *match, const struct collective_match_row *row)
{
	struct collective_sum *sum;
	int error = 0;

	for (uint32_t i = 0; i < match->nr_members && !error; i++) {
		uint32_t place = match->places[row->entries + i];

		if (place != COLLECTIVE_MATCH_ABSENT)
			error = fold_call(folding, match->entries[place].call, false, &sum);
	}
	fold->unmatched += row->present;
	return error;
}

/* Collectives and exchanges of all ranks are folded in order: the first one that waits holds up the others. */
static int fold_rows(struct collective_folding *folding, struct collective_fold *fold,
		     const struct collective_match *match, struct collective_exchanges *exchanges)
{
	const uint64_t held_from = collective_exchange_held_from(exchanges);
	int error = 0;

	for (uint32_t i = 0; i < match->nr_rows && !error; i++) {
		const struct collective_match_row *row = &match->rows[i];

		error = collective_exchange_compare(folding, fold, exchanges, row->sequence);
		if (error)
			break;
		if (row->number <= fold->to[row->function]) {
			error = fold_late(folding, fold, match, row);
		} else if (is_ready(folding, fold, match, i, row->sequence > held_from)) {
			error = fold_row(folding, fold, match, row);
		} else {
			collective_exchange_hold(exchanges);
			break;
		}
	}
	return error ? error : collective_exchange_compare(folding, fold, exchanges, UINT64_MAX);
}

/* Folds a call that is in no collective. */
static int fold_alone(struct collective_folding *folding, struct collective_fold *fold,
		      const struct collective_match_entry *entry, bool of_all)
{
	struct collective_sum *sum;

	if (of_all)
		return fold_call(folding, entry->call, fold->writer == 0, &sum);
	int error = fold_rest(folding, entry->call);
	if (folding->folds->verdicts[entry->call] != COLLECTIVE_WAITS) {
		fold->duplicates += entry->twice;
		fold->others += !entry->twice;
	}
	return error;
}

static int take_communicator(void *context, struct collective_match *match)
{
	struct collective_folding *folding = context;
	struct collective_fold *fold = get_fold(folding, match);
	struct collective_exchanges exchanges = {0};
	const struct collective_exchange_calls calls = {
		.calls = folding->calls,
		.nr_calls = folding->nr_calls,
		.hosts = folding->folds->hosts,
		.nr_ranks = fold ? fold->nr_members : 0,
		.waiting = COLLECTIVE_FOLDS_WAITING,
		.waiting_calls = COLLECTIVE_FOLDS_WAITING_CALLS,
	};
	int error = fold ? 0 : -ENOMEM;

	if (!error)
		error = collective_exchange_find(match, &calls, folding->all, &exchanges);
	if (!error)
		error = collective_exchange_split(folding, fold, &exchanges);
	if (!error)
		error = fold_rows(folding, fold, match, &exchanges);
	for (uint32_t i = 0; i < match->nr_entries && !error; i++) {
		const struct collective_exchange *exchange = collective_exchange_of(&exchanges, i);

		if (!match->entries[i].in_row && !(exchange && exchange->held))
			error = fold_alone(folding, fold, &match->entries[i],
					   exchange && exchange->all);
	}
	collective_exchange_fini(&exchanges);
	collective_match_fini(match);
	return error;
}

int collective_folds_take(struct collective_folds *folds, bool all)
{
	struct collective_folding folding = {.folds = folds, .all = all};

	folding.calls = collective_log_calls(folds->log, &folding.nr_calls);
	folds->verdicts = calloc(folding.nr_calls + 1ul, sizeof(*folds->verdicts));
	folds->waited_ns = calloc(folding.nr_calls + 1ul, sizeof(*folds->waited_ns));
	int error = folds->verdicts && folds->waited_ns ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < folding.nr_calls && !error; i++) {
		folds->waited_ns[i] = folding.calls[i].waited_ns;
		if (folding.calls[i].folded)
			folds->verdicts[i] = COLLECTIVE_DROPPED;
	}
	if (!error && folds->nr_processes)
		error = collective_match_each(folds->log, folds->nr_processes - 1, false,
					      take_communicator, &folding);
	for (uint32_t i = 0; i < folding.nr_calls && !error; i++) {
		const struct collective_log_call *call = &folding.calls[i];
		const struct communicator *end =
			collective_folds_end(folds, call->process, call->call.communicator_id);

		if (folds->verdicts[i] == COLLECTIVE_WAITS && call->process < folds->nr_processes &&
		    (!call->call.sequence || !end || !end->key))
			error = fold_rest(&folding, i);
	}
	free(folding.times);
	free(folding.order);
	free(folding.at);
	free(folding.ends);
	return error;
}
