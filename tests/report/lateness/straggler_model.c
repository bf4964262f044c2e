#include "straggler_model.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/cmocka_test.h"

#include "aggregator/profile/collective_fold.h"
#include "report/lateness/straggler.h"
#include "tests/report/straggler/straggler_fixture.h"

#define MS 1000000.0

static void set_places(const struct model *model, struct straggler_place *places)
{
	for (uint32_t i = 0; i < model->ranks; i++) {
		uint32_t host = model->ranks_per_host ? i / model->ranks_per_host : i;

		places[i].numbers[STRAGGLER_GROUP_HOST] = host;
		places[i].numbers[STRAGGLER_GROUP_LOCAL_RANK] =
			model->ranks_per_host ? i % model->ranks_per_host : 0;
		for (uint32_t kind = 0; kind < STRAGGLER_GROUP_HOST; kind++)
			places[i].numbers[kind] = STRAGGLER_PLACE_NONE;
		if (model->hosts_per_switch)
			places[i].numbers[model->by_topology ? STRAGGLER_GROUP_SWITCH
							     : STRAGGLER_GROUP_HOSTS] =
				host / model->hosts_per_switch;
	}
}

/* Folds the times, and adds up what a report adds up of each rank. */
static void add_up(const uint64_t *times, const struct model *model, struct collective_fold *fold,
		   struct straggler_subject *found)
{
	uint32_t *order = calloc(model->ranks, sizeof(*order));

	for (uint32_t i = 0; i < model->ranks; i++) {
		const struct communicator end = {
			.communicator_id = 1, .rank = i, .nr_ranks = model->ranks};

		assert_int_equal(collective_fold_add(fold, i + 1, &end), 0);
	}
	for (uint32_t i = 0; i < model->collectives; i++) {
		struct collective_fold_waits waits;

		const uint64_t *row = times + (size_t)i * model->ranks;

		collective_fold_compare(fold, row, order, &waits);
		for (uint32_t j = 0; j < model->ranks; j++)
			found[j].waited_ns += row[j] - waits.least_ns;
		if (waits.last == COLLECTIVE_FOLD_NONE)
			continue;
		found[waits.last].last++;
		found[waits.last].others_ns += waits.waited_ns;
	}
	free(order);
}

struct model_result model_judge(const uint64_t *times, const struct model *model, double span_ms)
{
	struct model_result result = {
		.ranks = calloc(model->ranks, sizeof(*result.ranks)),
		.places = calloc(model->ranks, sizeof(*result.places)),
		.nr_ranks = model->ranks,
	};
	struct collective_fold fold = {.nr_ranks = COLLECTIVE_NOT_KNOWN};
	uint32_t *each = calloc(model->ranks, sizeof(*each));

	for (uint32_t i = 0; i < model->ranks; i++)
		each[i] = i;
	uint32_t nr_groups;

	set_places(model, result.places);
	assert_int_equal(straggler_groups_tests(result.places, model->ranks, &nr_groups), 0);
	add_up(times, model, &fold, result.ranks);
	const struct straggler_input input = {
		.fold = &fold,
		.trials = fold.used,
		.span_ns = (uint64_t)(span_ms * MS),
		.run_ns = (uint64_t)(span_ms * MS),
		.nr_tests = model->ranks + nr_groups,
		.division = {each, model->ranks},
	};
	assert_int_equal(straggler_find(&input, result.ranks), 0);
	assert_int_equal(straggler_groups_find(&input, result.places, result.ranks, &result.groups,
					       &result.nr_groups),
			 0);
	collective_fold_fini(&fold);
	free(each);
	return result;
}

static bool is_planted(const struct model_plant *plant, uint32_t collective, uint32_t rank)
{
	if (plant->late_ms <= 0 || rank < plant->first || rank > plant->last ||
	    collective < plant->from)
		return false;
	uint32_t since = collective - plant->from, every = plant->every ? plant->every : 1;
	return since % every == 0 && (plant->times == 0 || since / every < plant->times);
}

static double noise_of(const struct model *model, double state, uint64_t *seed)
{
	switch (model->noise) {
	case MODEL_LOGNORMAL:
		return model->work_ms * (exp(model->noise_ms / model->work_ms * state) - 1);
	case MODEL_STALLS:
		return model->noise_ms * state +
		       (job_uniform(seed) < 0.01 ? model->work_ms * 3 * job_uniform(seed) : 0);
	default:
		return model->noise_ms * state;
	}
}

/* Returns the step of each rank's first pause. The caller owns them. */
static uint32_t *first_pauses(const struct model *model)
{
	uint64_t seed = model->seed + 7;
	uint32_t *first = calloc(model->ranks, sizeof(*first));

	for (uint32_t i = 0; i < model->ranks; i++)
		first[i] = (uint32_t)(job_uniform(&seed) * model->pause_every);
	return first;
}

double *model_work(const struct model *model)
{
	uint64_t seed = model->seed;
	double *all = calloc((size_t)model->collectives * model->ranks + 1, sizeof(*all));
	double *state = calloc(model->ranks, sizeof(*state));
	uint32_t *pauses = first_pauses(model);

	for (uint32_t i = 0; i < model->collectives; i++)
		for (uint32_t j = 0; j < model->ranks; j++) {
			double *work = &all[(size_t)i * model->ranks + j];

			state[j] = model->drift * state[j] +
				   sqrt(1 - model->drift * model->drift) * job_normal(&seed);
			*work = fmax(model->work_ms + noise_of(model, state[j], &seed), 0);
			for (uint32_t k = 0; k < 2; k++)
				if (is_planted(&model->plants[k], i, j))
					*work += model->plants[k].late_ms;
			if (model->pause_every && i % model->pause_every == pauses[j])
				*work += model->pause_ms;
		}
	free(state);
	free(pauses);
	return all;
}

uint64_t *model_times(const struct model *model, const double *all, double *span_ms)
{
	uint64_t *times = calloc((size_t)model->collectives * model->ranks + 1, sizeof(*times));

	*span_ms = 0;
	for (uint32_t i = 0; i < model->collectives; i++) {
		const double *work = all + (size_t)i * model->ranks;
		double last = 0;

		for (uint32_t j = 0; j < model->ranks; j++)
			last = fmax(last, work[j]);
		for (uint32_t j = 0; j < model->ranks; j++)
			times[(size_t)i * model->ranks + j] =
				(uint64_t)((last - work[j] + MODEL_COLLECTIVE_MS) * MS);
		*span_ms += last + MODEL_COLLECTIVE_MS;
	}
	return times;
}

struct model_result model_play_work(const struct model *model, const double *all)
{
	double span;
	uint64_t *times = model_times(model, all, &span);
	struct model_result result = model_judge(times, model, span);
	free(times);
	return result;
}

struct model_result model_play(const struct model *model)
{
	double *work = model_work(model);
	struct model_result result = model_play_work(model, work);

	free(work);
	return result;
}

void model_free(struct model_result *result)
{
	free(result->ranks);
	free(result->places);
	straggler_groups_free(result->groups, result->nr_groups);
}

uint32_t model_count_named(const struct model_result *result)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < result->nr_ranks; i++)
		count += result->ranks[i].ground != STRAGGLER_NOT_NAMED;
	return count;
}
