#include "straggler_steps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "straggler_period.h"

#include "aggregator/profile/collective_folds.h"

#define STEPS_LEAST 3u
#define STEPS_MOST  (1ull << 40) /* more are damage */

/* A call with a raw row. */
struct step_call {
	uint64_t sequence;
	uint32_t communicator_id, kind;
};

static int by_sequence(const void *a, const void *b)
{
	const struct step_call *x = a, *y = b;

	if (x->communicator_id != y->communicator_id)
		return x->communicator_id < y->communicator_id ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static bool is_exchange(uint32_t function)
{
	return function == COLLECTIVE_SEND || function == COLLECTIVE_RECV ||
	       function == COLLECTIVE_ALL_TO_ALL;
}

/* Calls of one function, to one peer or root, with bytes of one size class have the same kind. */
static uint32_t kind_of(const struct collective *call)
{
	uint32_t size_class = call->bytes ? 64 - (uint32_t)__builtin_clzll(call->bytes) : 0;

	return (call->peer & 0xffff) << 12 | size_class << 4 | call->function;
}

/* Returns the process's numbered calls on a communicator, with and without raw rows. *exchanges: some are sends,
 * receives or all_to_alls. */
static uint64_t count_calls(const struct collective_folds *folds, uint32_t process,
			    uint32_t communicator_id, bool *exchanges)
{
	uint64_t count = 0;

	*exchanges = false;
	for (uint32_t i = 0; i < folds->nr_sums; i++) {
		const struct collective_sum *sum = &folds->sums[i];

		if (sum->key.process != process || sum->key.communicator_id != communicator_id)
			continue;
		count += sum->numbered;
		*exchanges |= is_exchange(sum->key.function);
	}
	return count;
}

/* The period of the newest calls that follow one another. kinds has room for all calls. */
static uint32_t find_period(const struct step_call *calls, uint32_t count, uint32_t *kinds)
{
	uint32_t first = count - 1;

	while (first > 0 && calls[first - 1].sequence + 1 == calls[first].sequence)
		first--;
	for (uint32_t i = first; i < count; i++)
		kinds[i - first] = calls[i].kind;
	return straggler_period_find(kinds, count - first);
}

/* What the communicators tell. */
struct tally {
	uint64_t of_exchanges; /* patterns of sends and receives */
	uint64_t steps;        /* the same, where they are steps */
	uint64_t of_others;    /* patterns of other calls: the most that are fewer */
};

static void add_up(const struct collective_folds *folds, uint32_t process,
		   const struct step_call *calls, uint32_t count, uint32_t *kinds, bool exchanges,
		   struct tally *tally)
{
	for (uint32_t i = 0, end; i < count; i = end) {
		bool has_exchanges;

		for (end = i + 1;
		     end < count && calls[end].communicator_id == calls[i].communicator_id; end++)
			;
		uint64_t numbered =
			count_calls(folds, process, calls[i].communicator_id, &has_exchanges);
		uint32_t period =
			has_exchanges == exchanges ? find_period(&calls[i], end - i, kinds) : 0;
		uint64_t patterns = period ? numbered / period : 0;

		if (patterns < STEPS_LEAST || patterns > STEPS_MOST)
			continue;
		if (exchanges && patterns > tally->of_exchanges)
			tally->of_exchanges = patterns;
		if (exchanges && period > STRAGGLER_STEPS_FEW && patterns > tally->steps)
			tally->steps = patterns;
		if (!exchanges && patterns <= tally->of_exchanges / 2 &&
		    patterns > tally->of_others)
			tally->of_others = patterns;
	}
}

int straggler_steps_count(const struct collective_folds *folds, uint32_t process, uint64_t *steps)
{
	uint32_t nr_calls, count = 0;
	const struct collective_log_call *calls = collective_log_calls(folds->log, &nr_calls);
	struct step_call *own = calloc(nr_calls + 1ul, sizeof(*own));
	uint32_t *kinds = calloc(nr_calls + 1ul, sizeof(*kinds));
	struct tally tally = {0};

	*steps = 0;
	for (uint32_t i = 0; i < nr_calls && own && kinds; i++) {
		const struct collective *call = &calls[i].call;

		if (calls[i].process == process && call->sequence)
			own[count++] = (struct step_call){call->sequence, call->communicator_id,
							  kind_of(call)};
	}
	if (count)
		qsort(own, count, sizeof(*own), by_sequence);
	if (count) {
		add_up(folds, process, own, count, kinds, true, &tally);
		add_up(folds, process, own, count, kinds, false, &tally);
	}
	int error = own && kinds ? 0 : -ENOMEM;
	free(own);
	free(kinds);
	*steps = tally.steps ? tally.steps : tally.of_others ? tally.of_others : tally.of_exchanges;
	return error;
}
