#include "straggler_steps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "aggregator/profile/collective_folds.h"
#include "report/names/call_period.h"

#define STEPS_LEAST 3u
#define STEPS_MOST  (1ull << 40) /* more are damage */

#define FEW_CALLS 2u /* of a kernel: their sizes tell kernels apart */

/* A call with a raw row. */
struct step_call {
	uint64_t sequence, start_ns;
	uint32_t communicator_id, correlation_id, function, peer, size_class;
};

/* The calls of a kernel that follow one another. */
struct step_kernel {
	uint32_t kind, nr_calls;
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

/* Room to work in, for as many as there are calls. */
struct room {
	struct step_kernel *kernels;
	uint32_t *kinds;
};

/* Whose steps are counted. */
struct counting {
	const struct collective_folds *folds;
	const struct room *room;
	uint32_t process;
	uint64_t window_ns; /* 0: the whole run */
};

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

/* Kernels of a few calls with the same functions, peers and size classes have the same kind. Those of more calls
 * exchange data among many, in varying sizes: they have the kind of their number. */
static uint32_t kind_of(const struct step_call *calls, uint32_t count)
{
	uint32_t kind = count;

	for (uint32_t i = 0; i < count && count <= FEW_CALLS; i++)
		kind = kind * 0x01000193u +
		       (calls[i].peer << 12 | calls[i].size_class << 4 | calls[i].function) + 1;
	return kind;
}

/* Lists the kernels of calls of one communicator. Returns their number. */
static uint32_t list_kernels(const struct step_call *calls, uint32_t count,
			     struct step_kernel *kernels)
{
	uint32_t nr = 0;

	for (uint32_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && calls[i].correlation_id &&
				  calls[end].correlation_id == calls[i].correlation_id;
		     end++)
			;
		kernels[nr++] = (struct step_kernel){kind_of(&calls[i], end - i), end - i};
	}
	return nr;
}

static uint32_t first_of_newest(const struct step_call *calls, uint32_t count)
{
	uint32_t first = count - 1;

	while (first > 0 && calls[first - 1].sequence + 1 == calls[first].sequence)
		first--;
	return first;
}

/* Returns the calls of a communicator in the window, at the rate of the newest that follow one another. */
static uint64_t count_within(uint64_t window_ns, const struct step_call *calls, uint32_t count,
			     bool *exchanges)
{
	const uint32_t first = first_of_newest(calls, count);
	const double ns = (double)calls[count - 1].start_ns - (double)calls[first].start_ns;

	*exchanges = false;
	for (uint32_t i = first; i < count; i++)
		*exchanges |= is_exchange(calls[i].function);
	const double within = ns > 0 ? (double)window_ns * (count - 1 - first) / ns : 0;
	return within < (double)STEPS_MOST ? (uint64_t)within : 0;
}

/* Finds the period of the newest calls that follow one another: so many kernels, with so many calls. */
static uint32_t find_period(const struct step_call *calls, uint32_t count, const struct room *room,
			    uint32_t *nr_calls)
{
	const uint32_t first = first_of_newest(calls, count);
	const uint32_t nr = list_kernels(&calls[first], count - first, room->kernels);
	for (uint32_t i = 0; i < nr; i++)
		room->kinds[i] = room->kernels[i].kind;
	const uint32_t period = call_period_find(room->kinds, nr);
	*nr_calls = 0;
	for (uint32_t i = 0; i < period; i++)
		*nr_calls += room->kernels[nr - 1 - i].nr_calls;
	return period;
}

/* What the communicators tell. */
struct tally {
	uint64_t calls;     /* sends and receives, or patterns of them, if these are seen */
	uint64_t patterns;  /* of sends and receives */
	uint64_t steps;     /* the same, where they are steps */
	uint64_t of_others; /* patterns of other calls: the most that are fewer */
};

/* What one communicator tells. */
static void add_pattern(struct tally *tally, bool exchanges, uint32_t period, uint64_t patterns)
{
	if (patterns < STEPS_LEAST || patterns > STEPS_MOST)
		return;
	if (exchanges && patterns > tally->patterns)
		tally->patterns = patterns;
	if (exchanges && period > STRAGGLER_STEPS_FEW && patterns > tally->steps)
		tally->steps = patterns;
	const uint64_t most = tally->patterns ? tally->patterns : tally->calls;
	if (!exchanges && patterns <= most / 2 && patterns > tally->of_others)
		tally->of_others = patterns;
}

static void add_up(const struct counting *counting, const struct step_call *calls, uint32_t count,
		   bool exchanges, struct tally *tally)
{
	for (uint32_t i = 0, end; i < count; i = end) {
		bool has_exchanges;
		uint32_t nr_calls;

		for (end = i + 1;
		     end < count && calls[end].communicator_id == calls[i].communicator_id; end++)
			;
		const uint64_t numbered =
			counting->window_ns ? count_within(counting->window_ns, &calls[i], end - i,
							   &has_exchanges)
					    : count_calls(counting->folds, counting->process,
							  calls[i].communicator_id, &has_exchanges);
		if (has_exchanges != exchanges)
			continue;
		if (exchanges && numbered > tally->calls)
			tally->calls = numbered;
		const uint32_t period = find_period(&calls[i], end - i, counting->room, &nr_calls);
		if (period)
			add_pattern(tally, exchanges, period, numbered / nr_calls);
	}
}

static struct step_call call_of(const struct collective *call)
{
	return (struct step_call){
		.sequence = call->sequence,
		.start_ns = call->start_ns,
		.communicator_id = call->communicator_id,
		.correlation_id = call->correlation_id,
		.function = call->function,
		.peer = call->peer & 0xffff,
		.size_class = call->bytes ? 64 - (uint32_t)__builtin_clzll(call->bytes) : 0,
	};
}

static int count_steps(const struct collective_folds *folds, uint32_t process, uint64_t window_ns,
		       uint64_t *steps)
{
	uint32_t nr_calls, count = 0;
	const struct collective_log_call *calls = collective_log_calls(folds->log, &nr_calls);
	struct step_call *own = calloc(nr_calls + 1ul, sizeof(*own));
	const struct room room = {calloc(nr_calls + 1ul, sizeof(*room.kernels)),
				  calloc(nr_calls + 1ul, sizeof(*room.kinds))};
	const struct counting counting = {folds, &room, process, window_ns};
	struct tally tally = {0};
	int error = own && room.kernels && room.kinds ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < nr_calls && !error; i++)
		if (calls[i].process == process && calls[i].call.sequence)
			own[count++] = call_of(&calls[i].call);
	if (count) {
		qsort(own, count, sizeof(*own), by_sequence);
		add_up(&counting, own, count, true, &tally);
		add_up(&counting, own, count, false, &tally);
	}
	free(own);
	free(room.kernels);
	free(room.kinds);
	*steps = tally.steps ? tally.steps : tally.of_others ? tally.of_others : tally.patterns;
	return error;
}

int straggler_steps_count(const struct collective_folds *folds, uint32_t process, uint64_t *steps)
{
	return count_steps(folds, process, 0, steps);
}

int straggler_steps_within(const struct collective_folds *folds, uint32_t process,
			   uint64_t window_ns, uint64_t *steps)
{
	return count_steps(folds, process, window_ns, steps);
}
