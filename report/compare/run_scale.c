#include "run_scale.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_folds.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/statistics_table.h"
#include "proto/definition.h"
#include "report/names/call_period.h"
#include "report/profile/profile.h"
#include "report/profile/profile_collectives.h"

#define COUNT_MOST (1ull << 40) /* calls of a rank; more are damage */

static uint32_t kind_of(const struct collective *call)
{
	uint32_t kind = call->function;

	kind = kind * 0x01000193u ^ call->peer;
	kind = kind * 0x01000193u ^ (uint32_t)call->bytes;
	return kind * 0x01000193u ^ (uint32_t)(call->bytes >> 32);
}

static int by_call(const void *a, const void *b)
{
	const struct collective_log_call *x = *(const struct collective_log_call *const *)a;
	const struct collective_log_call *y = *(const struct collective_log_call *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->call.communicator_id != y->call.communicator_id)
		return x->call.communicator_id < y->call.communicator_id ? -1 : 1;
	return (x->call.sequence > y->call.sequence) - (x->call.sequence < y->call.sequence);
}

/* Returns the length of the pattern of the newest calls that follow one another; 0: there is none. */
static uint32_t find_period(const struct collective_log_call **calls, uint32_t count,
			    uint32_t *kinds)
{
	uint32_t first = count - 1;

	while (first > 0 && calls[first - 1]->call.sequence + 1 == calls[first]->call.sequence)
		first--;
	for (uint32_t i = first; i < count; i++)
		kinds[i - first] = kind_of(&calls[i]->call);
	return call_period_find(kinds, count - first);
}

static uint64_t count_calls(const struct collective_folds *folds, uint32_t process,
			    uint32_t communicator_id)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < folds->nr_sums; i++)
		if (folds->sums[i].key.process == process &&
		    folds->sums[i].key.communicator_id == communicator_id &&
		    folds->sums[i].numbered < COUNT_MOST)
			calls += folds->sums[i].numbered;
	return calls;
}

/* Takes the communicator of each process on which most calls are. calls: in order. */
static void count_steps(const struct collective_folds *folds,
			const struct collective_log_call **calls, uint32_t nr_calls,
			uint32_t *kinds, struct run_counts *counts)
{
	uint32_t process = 0;
	uint64_t most = 0, steps = 0;
	bool all = true;

	for (uint32_t i = 0, end; i < nr_calls; i = end) {
		const struct collective_log_call *first = calls[i];

		for (end = i + 1; end < nr_calls && calls[end]->process == first->process &&
				  calls[end]->call.communicator_id == first->call.communicator_id;
		     end++)
			;
		uint64_t numbered = count_calls(folds, first->process, first->call.communicator_id);
		if (first->process != process) {
			counts->nr_ranks++;
			counts->steps += steps;
			all &= process == 0 || steps > 0;
			process = first->process;
			most = steps = 0;
		}
		counts->collectives += numbered;
		if (numbered <= most)
			continue;
		most = numbered;
		uint32_t period = find_period(&calls[i], end - i, kinds);
		steps = period ? numbered / period : 0;
	}
	counts->steps = all && steps ? counts->steps + steps : 0;
}

static uint64_t marks_of(const struct roster_process *process)
{
	const struct message_api_call key = {.domain = DEFINITION_STEP_DOMAIN,
					     .cbid = DEFINITION_STEP_CBID};
	const struct message_api_call *call =
		process->statistics ? statistics_table_find_call(process->statistics, &key) : NULL;

	return call && call->count < COUNT_MOST ? call->count : 0;
}

static void count_marks(const struct profile *profile, struct run_counts *counts)
{
	const struct roster *roster = profile->collection->roster;
	const uint32_t nr = roster_size(roster).processes;
	uint64_t most = 0;

	for (uint32_t id = 1; id <= nr; id++) {
		uint64_t marks = marks_of(roster_process(roster, id));

		most = marks > most ? marks : most;
	}
	for (uint32_t id = 1; most && id <= nr; id++) {
		const struct roster_process *process = roster_process(roster, id);
		uint64_t marks = marks_of(process);
		uint32_t nr_configs;

		statistics_table_configs(process->statistics, &nr_configs);
		if (!marks && (process->rank < 0 || nr_configs == 0))
			continue;
		counts->marks += marks ? marks : most;
		counts->differ |= marks && marks != most;
		counts->nr_marked++;
	}
}

int run_counts_read(const struct profile *profile, const char *store_path,
		    struct run_counts *counts, char **error)
{
	struct collective_folds *folds;
	uint32_t nr_all, nr = 0;

	*counts = (struct run_counts){0};
	count_marks(profile, counts);
	int result = profile_collectives_load(store_path, &folds, error);
	if (result)
		return result;
	const struct collective_log_call *all = collective_log_calls(folds->log, &nr_all);
	const struct collective_log_call **calls = calloc(nr_all + 1ul, sizeof(*calls));
	uint32_t *kinds = calloc(nr_all + 1ul, sizeof(*kinds));
	if (calls && kinds) {
		for (uint32_t i = 0; i < nr_all; i++)
			if (all[i].call.sequence && all[i].call.communicator_id)
				calls[nr++] = &all[i];
		qsort(calls, nr, sizeof(*calls), by_call);
		count_steps(folds, calls, nr, kinds, counts);
	} else {
		result = -ENOMEM;
	}
	free(calls);
	free(kinds);
	collective_folds_destroy(folds);
	return result;
}

uint32_t run_counts_ranks(const struct run_counts *counts, enum run_unit unit)
{
	if (unit == RUN_MARKS)
		return counts->nr_marked;
	return unit <= RUN_COLLECTIVES ? counts->nr_ranks : 0;
}

struct run_scale run_scale_choose(const struct run_counts *before, const struct run_counts *after,
				  double launches)
{
	struct run_scale scale = {RUN_WHOLE, 1, 1, 1};

	if (before->marks && after->marks)
		scale = (struct run_scale){RUN_MARKS, (double)before->marks, (double)after->marks,
					   0};
	else if (before->steps && after->steps)
		scale = (struct run_scale){RUN_STEPS, (double)before->steps, (double)after->steps,
					   0};
	else if (before->collectives && after->collectives)
		scale = (struct run_scale){RUN_COLLECTIVES, (double)before->collectives,
					   (double)after->collectives, 0};
	else if (launches > 0)
		scale = (struct run_scale){RUN_LAUNCHES, 1, launches, 0};
	scale.factor = scale.after / scale.before;
	if (launches > 0 && fabs(launches / scale.factor - 1) < RUN_SCALE_NEAR)
		scale.factor = launches;
	return scale;
}

struct run_scale run_scale_of_ranks(const struct run_counts *counts)
{
	const struct run_scale scale = run_scale_choose(counts, counts, 0);

	if (scale.unit > RUN_STEPS || (scale.unit == RUN_MARKS && counts->differ))
		return (struct run_scale){RUN_WHOLE, 1, 1, 1};
	const double steps = scale.before / run_counts_ranks(counts, scale.unit);
	return (struct run_scale){scale.unit, steps, steps, 1};
}

const char *run_unit_name(enum run_unit unit)
{
	static const char *const names[] = {"step", "step", "collective", "launch", "run"};

	return names[unit];
}
