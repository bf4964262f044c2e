#include "collective_kept.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collective_folds.h"
#include "collective_match.h"

/* A call that is folded. */
struct raw {
	uint64_t key, process, number, waited_ns; /* key 0: of the process's communicator alone */
	uint32_t communicator_id, function, call;
	bool holds_up;
};

/* A call's place among those of its rank. */
struct place {
	uint64_t sequence;
	uint32_t process, communicator_id;
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_groups(const struct raw *a, const struct raw *b)
{
	int order = compare(a->key, b->key);

	if (!order)
		order = compare(a->process, b->process);
	return order ? order : compare(a->communicator_id, b->communicator_id);
}

static int by_age(const void *a, const void *b)
{
	const struct raw *x = a, *y = b;
	int order = compare_groups(x, y);

	return order ? order : compare(y->call, x->call);
}

static int by_waits(const void *a, const void *b)
{
	const struct raw *x = a, *y = b;
	int order = compare(y->waited_ns, x->waited_ns);

	if (!order)
		order = compare(y->number, x->number);
	return order ? order : compare(x->function, y->function);
}

static void keep(struct collective_folds *folds, const struct raw *raw)
{
	folds->verdicts[raw->call] = COLLECTIVE_KEPT;
}

/* The more calls there are, the fewer numbers are kept: all divisible by 2^shift. Numbers that were left out before
 * stay so. */
static void keep_spread(struct collective_folds *folds, const struct raw *raws, uint32_t count,
			uint32_t room)
{
	uint32_t none = 0, *shift = &none, found;

	for (uint32_t i = 0; i < folds->nr_folds && raws->key; i++)
		if (folds->folds[i].key == raws->key)
			shift = &folds->folds[i].spread;
	for (;; ++*shift) {
		found = 0;
		for (uint32_t i = 0; i < count; i++)
			found += raws[i].holds_up && !(raws[i].number & ((1ull << *shift) - 1));
		if (found <= room || *shift == 63)
			break;
	}
	for (uint32_t i = 0; i < count; i++)
		if (raws[i].holds_up && !(raws[i].number & ((1ull << *shift) - 1)))
			keep(folds, &raws[i]);
}

/* How many sends and receives of each rank stay. counts: of each process, 0: it has none. */
static uint32_t count_kept(const uint32_t *counts, uint32_t nr_processes)
{
	uint32_t width = 0, kept;

	for (uint32_t i = 0; i < nr_processes; i++)
		width += counts[i] > 0;
	if (width < 2)
		return COLLECTIVE_FOLDS_EXCHANGES;
	kept = COLLECTIVE_FOLDS_EXCHANGED / width;
	if (kept > COLLECTIVE_FOLDS_NEWEST * 2 * width) /* some ranks also send to themselves */
		kept = COLLECTIVE_FOLDS_NEWEST * 2 * width;
	return kept > COLLECTIVE_FOLDS_EXCHANGES ? kept : COLLECTIVE_FOLDS_EXCHANGES;
}

static bool is_message(const struct raw *raw)
{
	return raw->function == COLLECTIVE_SEND || raw->function == COLLECTIVE_RECV;
}

static void clear(const struct collective_folds *folds, const struct collective_log_call *calls,
		  const struct raw *raws, uint32_t count, uint32_t *counts)
{
	for (uint32_t i = 0; i < count; i++)
		if (calls[raws[i].call].process < folds->nr_processes)
			counts[calls[raws[i].call].process] = 0;
}

/* raws: the newest first. counts: one for each process, all 0 before and after. */
static void keep_exchanges(struct collective_folds *folds, const struct collective_log_call *calls,
			   const struct raw *raws, uint32_t count, uint32_t *counts)
{
	uint32_t messages = 0;

	for (uint32_t i = 0; i < count; i++)
		if (is_message(&raws[i]) && calls[raws[i].call].process < folds->nr_processes) {
			counts[calls[raws[i].call].process] = 1;
			messages++;
		}
	if (!messages)
		return;
	const uint32_t kept = count_kept(counts, folds->nr_processes);
	clear(folds, calls, raws, count, counts);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t process = calls[raws[i].call].process;

		if (is_message(&raws[i]) && process < folds->nr_processes &&
		    counts[process]++ < kept)
			keep(folds, &raws[i]);
	}
	clear(folds, calls, raws, count, counts);
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = compare(x->process, y->process);

	if (!order)
		order = compare(x->communicator_id, y->communicator_id);
	return order ? order : compare(x->sequence, y->sequence);
}

static struct place place_of(const struct collective_log_call *call)
{
	return (struct place){call->call.sequence, call->process, call->call.communicator_id};
}

/* Keeps the calls with the longest waits, and the rank's call before each of them. raws: sorted by waits; there are at
 * least `worst`. 0 or -ENOMEM. */
static int keep_worst(struct collective_folds *folds, const struct collective_log_call *calls,
		      const struct raw *raws, uint32_t count, uint32_t worst)
{
	struct place *places = calloc(worst + 1ul, sizeof(*places));
	uint32_t nr_places = 0;

	if (!places)
		return -ENOMEM;
	for (; nr_places < worst && raws[nr_places].waited_ns; nr_places++) {
		keep(folds, &raws[nr_places]);
		places[nr_places] = place_of(&calls[raws[nr_places].call]);
	}
	qsort(places, nr_places, sizeof(*places), by_place);
	for (uint32_t i = 0; i < count && nr_places; i++) {
		struct place next = place_of(&calls[raws[i].call]);

		next.sequence++;
		if (next.sequence > 1 &&
		    bsearch(&next, places, nr_places, sizeof(*places), by_place))
			keep(folds, &raws[i]);
	}
	free(places);
	return 0;
}

/* Returns a number of calls, or that of so many collectives, if these have more. */
static uint32_t at_least(uint32_t nr_calls, uint32_t collectives, uint32_t width)
{
	return collectives * width > nr_calls ? collectives * width : nr_calls;
}

/* Many messages between two collectives drop neither out. raws: the newest first. */
static void keep_newest(struct collective_folds *folds, const struct raw *raws, uint32_t count,
			uint32_t last)
{
	uint32_t collectives = 0;

	for (uint32_t i = 0; i < count; i++)
		if (i < last || (!is_message(&raws[i]) && collectives < last)) {
			keep(folds, &raws[i]);
			collectives += !is_message(&raws[i]);
		}
}

static int keep_group(struct collective_folds *folds, const struct collective_log_call *calls,
		      struct raw *raws, uint32_t count)
{
	uint32_t width = 1;

	for (uint32_t i = 0; i < folds->nr_folds && raws->key; i++)
		if (folds->folds[i].key == raws->key)
			width = folds->folds[i].nr_members;
	const uint32_t last = at_least(COLLECTIVE_FOLDS_LAST, COLLECTIVE_FOLDS_NEWEST, width);
	const uint32_t worst = at_least(COLLECTIVE_FOLDS_WORST, COLLECTIVE_FOLDS_COSTLIEST, width);

	keep_newest(folds, raws, count, last);
	keep_spread(folds, raws, count, at_least(COLLECTIVE_FOLDS_SPREAD, 2, width));
	qsort(raws, count, sizeof(*raws), by_waits);
	return keep_worst(folds, calls, raws, count, worst < count ? worst : count);
}

int collective_kept_choose(struct collective_folds *folds)
{
	uint32_t nr_calls, count = 0;
	int error = 0;
	const struct collective_log_call *calls = collective_log_calls(folds->log, &nr_calls);
	struct raw *raws = calloc(nr_calls + 1ul, sizeof(*raws));
	uint32_t *counts = calloc(folds->nr_processes + 1ul, sizeof(*counts));

	if (!raws || !counts) {
		free(raws);
		free(counts);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr_calls; i++) {
		const struct collective_log_call *call = &calls[i];
		const struct communicator *end =
			collective_folds_end(folds, call->process, call->call.communicator_id);

		if (folds->verdicts[i] == COLLECTIVE_WAITS)
			continue;
		raws[count++] = (struct raw){
			.key = end ? end->key : 0,
			.process = end && end->key ? 0 : call->process,
			.communicator_id = end && end->key ? 0 : call->call.communicator_id,
			.number = collective_match_number(&call->call),
			.function = call->call.function,
			.holds_up = collective_match_holds_up(call->call.function) &&
				    call->call.sequence,
			.waited_ns = folds->waited_ns[i],
			.call = i,
		};
	}
	qsort(raws, count, sizeof(*raws), by_age);
	for (uint32_t i = 0, end; i < count && !error; i = end) {
		for (end = i + 1; end < count && !compare_groups(&raws[i], &raws[end]); end++)
			;
		keep_exchanges(folds, calls, &raws[i], end - i, counts);
		error = keep_group(folds, calls, &raws[i], end - i);
	}
	free(raws);
	free(counts);
	return error;
}
