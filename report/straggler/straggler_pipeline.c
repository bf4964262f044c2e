#include "straggler_pipeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "straggler_steps.h"

#include "aggregator/profile/collection.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_kept.h"
#include "aggregator/store/store_schema.h"
#include "report/causes/straggler_kept.h"
#include "report/profile/profile_recent.h"
#include "report/statistics/outlier.h"

#define LONG_NS 1000000000000ull /* to count steps in: of some minutes each, at most */

struct comparing {
	struct straggler_pipeline *pipeline;
	const struct straggler_look *look; /* NULL: the whole run */
	struct straggler_timeline_input input;
	uint64_t *waits; /* owns; of each stretch and rank */
	bool *known;     /* owns; of each stretch: by all ranks */
};

void straggler_pipeline_destroy(struct straggler_pipeline *pipeline)
{
	if (!pipeline)
		return;
	straggler_stages_fini(&pipeline->stages);
	collective_fold_fini(&pipeline->fold);
	free(pipeline->of_stage);
	free(pipeline->times);
	free(pipeline->counts);
	free(pipeline);
}

uint32_t straggler_pipeline_find(const struct straggler_pipeline *pipeline, uint32_t process)
{
	for (uint32_t i = 0; pipeline && i < pipeline->stages.nr_ranks; i++)
		if (pipeline->stages.ranks[i].process == process)
			return i;
	return COLLECTIVE_FOLD_NONE;
}

/* ---- the ranks */

static int make_members(struct straggler_pipeline *pipeline)
{
	const struct straggler_stages *stages = &pipeline->stages;
	struct collective_fold *fold = &pipeline->fold;

	fold->nr_ranks = stages->nr_ranks;
	fold->members = calloc(stages->nr_ranks, sizeof(*fold->members));
	pipeline->of_stage = calloc(stages->nr_stages, sizeof(*pipeline->of_stage));
	pipeline->times = calloc(stages->nr_ranks, sizeof(*pipeline->times));
	pipeline->counts = calloc(stages->nr_ranks, sizeof(*pipeline->counts));
	if (!fold->members || !pipeline->of_stage || !pipeline->times || !pipeline->counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < stages->nr_ranks; i++) {
		struct straggler_pipeline_stage *stage =
			&pipeline->of_stage[stages->ranks[i].stage];

		if (!stage->nr_ranks++)
			stage->first = i;
		fold->members[i] = (struct collective_fold_member){
			.process = stages->ranks[i].process,
			.rank = i,
			.buckets = calloc(COLLECTIVE_FOLD_BUCKETS, sizeof(*fold->members->buckets)),
		};
		fold->nr_members++;
		if (!fold->members[i].buckets)
			return -ENOMEM;
	}
	return 0;
}

/* The host's clock is known by a call whose kernel is. */
static void set_span(const struct collective_folds *folds,
		     const struct straggler_timeline *timeline,
		     struct collective_fold_member *member)
{
	uint32_t count;
	const struct collective_log_call *calls = collective_log_calls(folds->log, &count);

	member->gpu_start_ns = timeline->start_ns;
	member->gpu_end_ns = timeline->end_ns;
	for (uint32_t i = count; i-- > 0 && !member->end_ns;)
		if (calls[i].process == member->process && calls[i].gpu.known &&
		    calls[i].gpu.clock_known) {
			const uint64_t offset_ns = (uint64_t)calls[i].gpu.clock_offset_ns;

			member->start_ns = timeline->start_ns + offset_ns;
			member->end_ns = timeline->end_ns + offset_ns;
		}
}

static void add_times(struct straggler_times *to, const struct straggler_times *from)
{
	to->compute_ns += from->compute_ns;
	to->waits_ns += from->waits_ns;
	to->moves_ns += from->moves_ns;
	to->idle_ns += from->idle_ns;
}

static int read_rank(struct comparing *comparing, uint32_t rank)
{
	struct straggler_pipeline *pipeline = comparing->pipeline;
	const uint32_t nr_ranks = pipeline->stages.nr_ranks;
	struct straggler_timeline timeline;
	int error = straggler_timeline_read(&comparing->input, pipeline->stages.ranks[rank].process,
					    &timeline);

	for (uint32_t i = 0; i < comparing->input.nr_stretches && !error; i++) {
		const struct straggler_stretch *stretch = &timeline.stretches[i];

		comparing->waits[(size_t)i * nr_ranks + rank] =
			stretch->times.waits_ns + stretch->times.moves_ns;
		comparing->known[i] &= stretch->known_ns > 0;
		add_times(&pipeline->times[rank], &stretch->times);
	}
	if (!error)
		set_span(comparing->input.folds, &timeline, &pipeline->fold.members[rank]);
	straggler_timeline_fini(&timeline);
	return error;
}

/* ---- the comparison */

static void compare(struct comparing *comparing, uint32_t *order)
{
	struct straggler_pipeline *pipeline = comparing->pipeline;
	struct collective_fold *fold = &pipeline->fold;
	const uint32_t nr_ranks = pipeline->stages.nr_ranks, shift = comparing->input.shift;
	uint64_t nr_known = 0;

	fold->shift = shift;
	for (uint32_t i = 0; i < comparing->input.nr_stretches; i++) {
		const uint64_t *waits = &comparing->waits[(size_t)i * nr_ranks];
		struct collective_fold_waits found;

		if (!comparing->known[i])
			continue;
		fold->used = nr_known++ << shift;
		collective_fold_compare(fold, waits, order, &found);
		for (uint32_t j = 0; j < nr_ranks; j++)
			pipeline->counts[j].waited_ns += waits[j] - found.least_ns;
		if (found.last == COLLECTIVE_FOLD_NONE)
			continue;
		pipeline->counts[found.last].last++;
		pipeline->counts[found.last].others_ns += found.waited_ns;
	}
	pipeline->nr_stretches = nr_known;
	fold->used = nr_known << shift;
	if (fold->used > comparing->input.steps)
		fold->used = comparing->input.steps;
	fold->collectives = fold->complete = fold->by_gpu = fold->used;
}

static int find_spans(struct straggler_pipeline *pipeline)
{
	uint64_t *spans = calloc(pipeline->stages.nr_ranks, sizeof(*spans));

	if (!spans)
		return -ENOMEM;
	for (uint32_t i = 0; i < pipeline->stages.nr_ranks; i++)
		spans[i] = pipeline->fold.members[i].gpu_end_ns -
			   pipeline->fold.members[i].gpu_start_ns;
	pipeline->span_ns = outlier_median(spans, pipeline->stages.nr_ranks);
	free(spans);
	return 0;
}

static void find_means(struct straggler_pipeline *pipeline)
{
	for (uint32_t i = 0; i < pipeline->stages.nr_stages; i++) {
		struct straggler_pipeline_stage *stage = &pipeline->of_stage[i];

		for (uint32_t j = 0; j < stage->nr_ranks; j++)
			add_times(&stage->times, &pipeline->times[stage->first + j]);
		stage->times.compute_ns /= stage->nr_ranks;
		stage->times.waits_ns /= stage->nr_ranks;
		stage->times.moves_ns /= stage->nr_ranks;
		stage->times.idle_ns /= stage->nr_ranks;
	}
}

static int compare_all(struct comparing *comparing)
{
	struct straggler_pipeline *pipeline = comparing->pipeline;
	const uint32_t nr_ranks = pipeline->stages.nr_ranks;
	uint32_t *order = calloc(nr_ranks, sizeof(*order));
	int error = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < comparing->input.nr_stretches; i++)
		comparing->known[i] = true;
	for (uint32_t i = 0; i < nr_ranks && !error; i++)
		error = read_rank(comparing, i);
	if (!error) {
		compare(comparing, order);
		find_means(pipeline);
		error = find_spans(pipeline);
	}
	free(order);
	return error;
}

static int find_level(struct comparing *comparing)
{
	const struct straggler_stages *stages = &comparing->pipeline->stages;
	struct straggler_timeline_input *input = &comparing->input;
	uint32_t *processes = calloc(stages->nr_ranks + 1ul, sizeof(*processes));

	for (uint32_t i = 0; i < stages->nr_ranks && processes; i++)
		processes[i] = stages->ranks[i].process;
	if (processes)
		input->level = straggler_kept_level(input->profile->collection, input->sort,
						    processes, stages->nr_ranks);
	free(processes);
	return processes ? 0 : -ENOMEM;
}

/* Chooses the newest time, and counts its steps. Those of the first rank stand for all. */
static int choose_window(struct comparing *comparing)
{
	const struct straggler_look *look = comparing->look;
	const uint32_t process = comparing->pipeline->stages.ranks[0].process;
	struct straggler_timeline_input *input = &comparing->input;
	struct straggler_timeline timeline;
	uint64_t long_steps;
	int error = straggler_steps_within(input->folds, process, LONG_NS, &long_steps);

	if (error || !long_steps)
		return error;
	const double step_ns = (double)LONG_NS / (double)long_steps;
	input->window_ns = (uint64_t)(look->steps * step_ns);
	if (input->window_ns < look->window_ns)
		input->window_ns = look->window_ns;
	if (input->level && input->sort == KEPT_NEWEST && input->window_ns < KEPT_NEWEST_NS)
		input->window_ns = KEPT_NEWEST_NS;
	else if (input->level && input->sort == KEPT_GPU)
		input->window_ns = (input->window_ns << input->level) * STRAGGLER_PIPELINE_SAMPLED;
	error = straggler_timeline_read(input, process, &timeline);
	comparing->pipeline->steps =
		(uint64_t)((double)(timeline.end_ns - timeline.start_ns) / step_ns);
	straggler_timeline_fini(&timeline);
	return error;
}

static void choose_stretches(struct comparing *comparing)
{
	const struct straggler_pipeline *pipeline = comparing->pipeline;
	struct straggler_timeline_input *input = &comparing->input;

	input->steps = pipeline->steps ? pipeline->steps : STRAGGLER_PIPELINE_UNKNOWN;
	while (input->steps >> input->shift > STRAGGLER_PIPELINE_STRETCHES ||
	       (input->steps + (1ull << input->shift) - 1) >> input->shift >
		       STRAGGLER_PIPELINE_STRETCHES)
		input->shift++;
	input->nr_stretches =
		(uint32_t)((input->steps + (1ull << input->shift) - 1) >> input->shift);
}

static int compare_stretches(struct comparing *comparing)
{
	choose_stretches(comparing);
	comparing->waits =
		calloc((size_t)comparing->input.nr_stretches * comparing->pipeline->stages.nr_ranks,
		       sizeof(*comparing->waits));
	comparing->known = calloc(comparing->input.nr_stretches, sizeof(*comparing->known));
	return comparing->waits && comparing->known ? compare_all(comparing) : -ENOMEM;
}

/* Long steps need more time than the newest work has. */
static int choose_work(struct comparing *comparing)
{
	static const enum kept_sort sorts[] = {KEPT_NEWEST, KEPT_GPU};
	int error = 0;

	for (int i = 0; i < 2 && !error && comparing->pipeline->steps < STRAGGLER_PIPELINE_LEAST;
	     i++) {
		comparing->input.sort = sorts[i];
		error = find_level(comparing);
		if (!error)
			error = choose_window(comparing);
	}
	return error;
}

/* The aggregator goes on writing: levels and pieces must be of one time. */
static int look_at(struct comparing *comparing)
{
	struct database *database = comparing->input.database;
	int error = database_execute(database, "BEGIN");

	if (error)
		return error;
	error = store_kept_load_levels(database, comparing->input.profile->collection);
	if (!error)
		error = choose_work(comparing);
	if (!error && comparing->pipeline->steps >= STRAGGLER_PIPELINE_LEAST)
		error = compare_stretches(comparing);
	database_execute(database, "COMMIT");
	return error;
}

static int read_run(struct comparing *comparing)
{
	int error = straggler_steps_count(comparing->input.folds,
					  comparing->pipeline->stages.ranks[0].process,
					  &comparing->pipeline->steps);

	if (!error)
		error = find_level(comparing);
	return error ? error : compare_stretches(comparing);
}

static int read_all(struct comparing *comparing, const char *store_path)
{
	int error = database_open(store_path, true, &comparing->input.database, NULL);

	if (error)
		return error;
	error = store_schema_show(comparing->input.database);
	if (!error)
		error = comparing->look ? look_at(comparing) : read_run(comparing);
	database_close(comparing->input.database);
	return error;
}

static int create(struct comparing *comparing, const char *store_path,
		  struct straggler_pipeline **result)
{
	struct straggler_pipeline *pipeline = *result = calloc(1, sizeof(*pipeline));

	comparing->pipeline = pipeline;
	if (!pipeline)
		return -ENOMEM;
	int error = straggler_stages_find(comparing->input.profile, comparing->input.folds,
					  &pipeline->stages);
	const bool none = !pipeline->stages.nr_ranks;
	if (!error && !none)
		error = make_members(pipeline);
	if (!error && !none)
		error = read_all(comparing, store_path);
	free(comparing->waits);
	free(comparing->known);
	if (error || none) {
		straggler_pipeline_destroy(pipeline);
		*result = NULL;
	}
	return error;
}

int straggler_pipeline_create(const struct profile *profile, const char *store_path,
			      const struct collective_folds *folds,
			      struct straggler_pipeline **pipeline)
{
	struct comparing comparing = {
		.input = {.profile = profile, .folds = folds, .sort = KEPT_GPU}};

	return create(&comparing, store_path, pipeline);
}

int straggler_pipeline_look(const struct straggler_look *look, struct straggler_pipeline **pipeline)
{
	struct comparing comparing = {
		.look = look,
		.input = {.profile = look->recent->profile, .folds = look->recent->calls},
	};

	return create(&comparing, look->store_path, pipeline);
}
