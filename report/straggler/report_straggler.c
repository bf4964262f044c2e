#include "report_straggler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report_straggler_absences.h"
#include "report_straggler_causes.h"
#include "report_straggler_costs.h"
#include "report_straggler_credible.h"
#include "report_straggler_experts.h"
#include "report_straggler_joins.h"
#include "report_straggler_moments.h"
#include "report_straggler_spans.h"
#include "report_straggler_sums.h"
#include "report_straggler_victims.h"
#include "straggler_places.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collective_folds.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "report/lateness/straggler.h"
#include "report/names/clean_text.h"
#include "report/profile/straggler_rank.h"

struct builder {
	const struct profile *profile;
	const struct collective_folds *folds;
	const char *store_path; /* NULL: no causes are wanted */
	struct report_straggler *report;
	const struct straggler_topology *topology; /* NULL: no file tells it */
	struct straggler_switches switches;
	uint32_t *rank_of; /* owns; for each process: its index in report->ranks, + 1 */
	const struct straggler_look *look; /* NULL: the whole run */
	uint32_t nr_processes, looks;
};

/* The number of communicators, with the pipelines. */
static uint32_t count_all(const struct report_straggler *report)
{
	return report->nr_communicators + (report->pipeline != NULL);
}

/* ---- communicators */

/* A process that is younger than the profile is in no report. */
static bool is_known(const struct builder *builder, const struct collective_fold *fold)
{
	for (uint32_t i = 0; i < fold->nr_members; i++)
		if (fold->members[i].process > builder->nr_processes)
			return false;
	return true;
}

static int add_communicator(struct builder *builder, const struct collective_fold *fold)
{
	struct report_straggler *report = builder->report;
	struct report_straggler_communicator *added =
		&report->communicators[report->nr_communicators];

	if (fold->nr_members < 2) {
		report->nr_alone++;
		return 0;
	}
	if (!is_known(builder, fold))
		return 0;
	*added = (struct report_straggler_communicator){
		.fold = fold,
		.name = communicator_names_of(report->names, fold->key),
		.members = calloc(fold->nr_members, sizeof(*added->members))};
	if (!added->members)
		return -ENOMEM;
	report->nr_communicators++;
	return report_straggler_spans_find(added);
}

/* Returns whether pipelines are of several jobs: their steps have nothing in common. */
static bool has_jobs(const struct builder *builder, const struct straggler_stages *stages)
{
	const struct roster *roster = builder->profile->collection->roster;

	for (uint32_t i = 1; i < stages->nr_ranks; i++)
		if (straggler_rank_other_job(roster_process(roster, stages->ranks[0].process),
					     roster_process(roster, stages->ranks[i].process)))
			return true;
	return false;
}

static int add_pipeline(struct builder *builder)
{
	struct report_straggler *report = builder->report;
	struct report_straggler_communicator *added =
		&report->communicators[report->nr_communicators];
	const struct straggler_look *look = builder->look;
	int error = 0;

	if (look && look->recent)
		error = straggler_pipeline_look(look, &report->pipeline);
	else if (!look && builder->store_path)
		error = straggler_pipeline_create(builder->profile, builder->store_path,
						  builder->folds, &report->pipeline);
	if (error || !report->pipeline)
		return error;
	const struct straggler_pipeline *pipeline = report->pipeline;
	if (has_jobs(builder, &pipeline->stages)) {
		straggler_pipeline_destroy(report->pipeline);
		report->pipeline = NULL;
		report->pipelines_left_out = true;
		return 0;
	}
	*added = (struct report_straggler_communicator){
		.fold = &pipeline->fold,
		.name = pipeline->stages.nr_pipelines > 1 ? "the pipelines" : "the pipeline",
		.members = calloc(pipeline->fold.nr_members, sizeof(*added->members)),
		.span_ns = pipeline->span_ns,
		.is_pipeline = true,
	};
	for (uint32_t i = 0; added->members && i < pipeline->fold.nr_members; i++)
		added->members[i].found = pipeline->counts[i];
	return added->members ? 0 : -ENOMEM;
}

static int add_all(struct builder *builder)
{
	const struct collective_folds *folds = builder->folds;
	struct report_straggler *report = builder->report;
	int error = 0;

	report->communicators = calloc(folds->nr_folds + 2ul, sizeof(*report->communicators));
	if (!report->communicators)
		return -ENOMEM;
	for (uint32_t i = 0; i < folds->nr_folds && !error; i++)
		error = add_communicator(builder, &folds->folds[i]);
	if (!error)
		error = report_straggler_sums_add(report);
	if (!error)
		error = report_straggler_credible_keep(report);
	return error ? error : add_pipeline(builder);
}

static uint64_t waited_for(const struct report_straggler_communicator *communicator)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < communicator->fold->nr_members; i++)
		sum += communicator->members[i].found.others_ns;
	return sum;
}

static int by_waits(const void *a, const void *b)
{
	const struct report_straggler_communicator *x = a, *y = b;
	uint64_t waited_x = waited_for(x), waited_y = waited_for(y);

	if (waited_x != waited_y)
		return waited_x > waited_y ? -1 : 1;
	return (x->fold->key > y->fold->key) - (x->fold->key < y->fold->key);
}

/* Judges the ranks and groups of a communicator. */
static int judge(const struct report_straggler_communicator *communicator, uint64_t trials,
		 uint64_t run_ns, bool is_window, uint32_t nr_tests,
		 const struct straggler_place *places, struct straggler_subject *found,
		 struct straggler_group **groups, uint32_t *nr_groups)
{
	const uint32_t count = communicator->fold->nr_members;
	uint32_t *of = calloc(count, sizeof(*of));
	const struct straggler_input input = {
		.fold = communicator->fold,
		.trials = trials,
		.span_ns = communicator->span_ns,
		.run_ns = run_ns > communicator->span_ns ? run_ns : communicator->span_ns,
		.is_window = is_window,
		.nr_tests = nr_tests,
		.division = {of, count},
	};
	int error = of ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && of; i++)
		of[i] = i;
	if (!error)
		error = straggler_find(&input, found);
	if (!error)
		error = straggler_groups_find(&input, places, found, groups, nr_groups);
	free(of);
	return error;
}

static int judge_communicator(const struct builder *builder,
			      struct report_straggler_communicator *communicator, uint32_t nr_tests,
			      const struct straggler_place *places)
{
	const uint32_t count = communicator->fold->nr_members;
	struct straggler_subject *found = calloc(count, sizeof(*found));
	const uint64_t trials = communicator->is_pipeline ? builder->report->pipeline->nr_stretches
							  : communicator->fold->used;
	uint64_t run_ns;
	int error = report_straggler_spans_run(builder->report, builder->rank_of, communicator,
					       &run_ns);

	if (error || !found) {
		free(found);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct report_straggler_member *member = &communicator->members[i];

		found[i] = member->found;
		found[i].behind_ns = collective_bins_median(member->behind, member->nr_behind);
	}
	communicator->run_ns = run_ns;
	if (builder->look && run_ns < builder->look->window_ns)
		run_ns = builder->look->window_ns;
	error = judge(communicator, trials, run_ns, builder->look != NULL, nr_tests, places, found,
		      &communicator->groups, &communicator->nr_groups);
	for (uint32_t i = 0; i < count; i++)
		communicator->members[i].found = found[i];
	for (uint32_t i = 0; i < communicator->nr_groups; i++)
		for (uint32_t j = 0; j < communicator->groups[i].nr_members; j++)
			communicator->members[communicator->groups[i].members[j]].in_group = true;
	free(found);
	return error;
}

static int find_places(const struct builder *builder,
		       const struct report_straggler_communicator *communicator,
		       struct straggler_place **places)
{
	const struct straggler_pipeline *pipeline = builder->report->pipeline;
	int error = straggler_places_find(builder->profile, communicator->fold, &builder->switches,
					  places);

	for (uint32_t i = 0; communicator->is_pipeline && i < pipeline->stages.nr_ranks && !error;
	     i++)
		(*places)[i].numbers[STRAGGLER_GROUP_STAGE] = pipeline->stages.ranks[i].stage;
	return error;
}

static int judge_all(const struct builder *builder)
{
	struct report_straggler *report = builder->report;
	const uint32_t count = count_all(report);
	struct straggler_place **places = calloc(count + 1ul, sizeof(*places));
	uint32_t nr_tests = 0;
	int error = places ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !error; i++) {
		const struct collective_fold *fold = report->communicators[i].fold;
		uint32_t nr_groups = 0;

		error = find_places(builder, &report->communicators[i], &places[i]);
		if (!error)
			error = straggler_groups_tests(places[i], fold->nr_members, &nr_groups);
		if (!error && fold->used)
			nr_tests += (fold->nr_members + nr_groups) * builder->looks;
	}
	for (uint32_t i = 0; i < count && !error; i++)
		error = judge_communicator(builder, &report->communicators[i], nr_tests, places[i]);
	for (uint32_t i = 0; i < count && places; i++)
		free(places[i]);
	free(places);
	if (!error && report->nr_communicators)
		qsort(report->communicators, report->nr_communicators,
		      sizeof(*report->communicators), by_waits);
	return error;
}

/* ---- ranks of the job */

static int keep_text(struct builder *builder, uint32_t string, const char **text)
{
	struct report_straggler *report = builder->report;
	uint32_t size;
	const char *bytes = catalog_string(builder->profile->collection->catalog, string, &size);
	char *clean = clean_text_of(bytes, size);
	int error = clean ? array_append(&report->texts, &report->nr_texts, &clean, sizeof(clean))
			  : -ENOMEM;

	if (error)
		free(clean);
	*text = error ? NULL : clean;
	return error;
}

static int add_rank(struct builder *builder, uint32_t process)
{
	const struct roster *roster = builder->profile->collection->roster;
	const struct roster_process *added = roster_process(roster, process);
	const struct roster_host *host = roster_host(roster, added->identity.host);
	struct report_straggler *report = builder->report;

	for (uint32_t i = 0; i < report->nr_ranks; i++)
		if (straggler_rank_same(roster_process(roster, report->ranks[i].process), added)) {
			builder->rank_of[process] = i + 1;
			return 0;
		}
	struct report_straggler_rank *rank = &report->ranks[report->nr_ranks];
	*rank = (struct report_straggler_rank){.id = report->nr_ranks + 1,
					       .rank = added->rank,
					       .process = process,
					       .pid = added->identity.pid,
					       .host = "",
					       .job = "",
					       .communicator = REPORT_STRAGGLER_NONE,
					       .member = REPORT_STRAGGLER_NONE,
					       .kept_on = REPORT_STRAGGLER_NONE};
	builder->rank_of[process] = ++report->nr_ranks;
	report->has_jobs |=
		straggler_rank_other_job(roster_process(roster, report->ranks[0].process), added);
	int error = keep_text(builder, added->job, &rank->job);
	return !error && host ? keep_text(builder, host->node, &rank->host) : error;
}

/* Takes pid and host of the process that is late: a rank may have others, on other hosts. */
static int take_places(struct builder *builder)
{
	const struct roster *roster = builder->profile->collection->roster;
	struct report_straggler *report = builder->report;
	int error = 0;

	for (uint32_t i = 0; i < report->nr_ranks && !error; i++) {
		struct report_straggler_rank *rank = &report->ranks[i];

		if (rank->communicator == REPORT_STRAGGLER_NONE)
			continue;
		const struct report_straggler_communicator *of =
			&report->communicators[rank->communicator];
		const uint32_t process = of->fold->members[rank->member].process;
		const struct roster_process *late = roster_process(roster, process);
		const struct roster_host *host = roster_host(roster, late->identity.host);

		if (process == rank->process)
			continue;
		rank->process = process;
		rank->pid = late->identity.pid;
		error = host ? keep_text(builder, host->node, &rank->host) : 0;
	}
	return error;
}

static void add_member(struct builder *builder, uint32_t communicator, uint32_t member)
{
	const struct report_straggler_communicator *of =
		&builder->report->communicators[communicator];
	const struct report_straggler_member *from = &of->members[member];
	struct report_straggler_rank *rank =
		&builder->report->ranks[builder->rank_of[of->fold->members[member].process] - 1];
	double mean = (double)from->found.others_ns / (of->fold->nr_members - 1);

	/* Waits in collectives are waits of the pipeline, too: they count once. */
	if (!of->is_pipeline) {
		rank->last += from->found.last;
		rank->used += of->fold->used;
		rank->others_ns += from->found.others_ns;
		rank->waited_ns += from->found.waited_ns;
		rank->others_mean_ns += mean;
	}
	if (!from->found.ground)
		return;
	rank->named++;
	if (rank->communicator == REPORT_STRAGGLER_NONE) {
		rank->communicator = communicator;
		rank->member = member;
		return;
	}
	const struct report_straggler_communicator *worst =
		&builder->report->communicators[rank->communicator];
	if (mean >
	    (double)worst->members[rank->member].found.others_ns / (worst->fold->nr_members - 1)) {
		rank->communicator = communicator;
		rank->member = member;
	}
}

static int by_lateness(const void *a, const void *b)
{
	const struct report_straggler_rank *x = a, *y = b;

	if (!x->named != !y->named)
		return x->named ? -1 : 1;
	if (x->named && !x->kept_by != !y->kept_by)
		return x->kept_by ? 1 : -1;
	if (x->others_mean_ns > y->others_mean_ns || x->others_mean_ns < y->others_mean_ns)
		return x->others_mean_ns > y->others_mean_ns ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

/* Sorting has moved the ranks, so members get the new indexes. */
static int link_members(struct builder *builder)
{
	struct report_straggler *report = builder->report;
	uint32_t *at = calloc(report->nr_ranks + 1ul, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < report->nr_ranks; i++)
		at[report->ranks[i].id] = i;
	for (uint32_t i = 0; i < count_all(report); i++) {
		struct report_straggler_communicator *of = &report->communicators[i];

		for (uint32_t j = 0; j < of->fold->nr_members; j++)
			of->members[j].of_rank = at[builder->rank_of[of->fold->members[j].process]];
	}
	free(at);
	return 0;
}

static int sort_ranks(struct builder *builder)
{
	struct report_straggler *report = builder->report;

	qsort(report->ranks, report->nr_ranks, sizeof(*report->ranks), by_lateness);
	return link_members(builder);
}

/* The ranks of all communicators, before any is judged. */
static int make_ranks(struct builder *builder)
{
	struct report_straggler *report = builder->report;
	int error = 0;

	builder->rank_of = calloc(builder->nr_processes + 1ul, sizeof(*builder->rank_of));
	report->ranks = calloc(builder->nr_processes + 1ul, sizeof(*report->ranks));
	if (!builder->rank_of || !report->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < count_all(report); i++) {
		const struct collective_fold *of = report->communicators[i].fold;

		for (uint32_t j = 0; j < of->nr_members && !error; j++)
			if (!builder->rank_of[of->members[j].process])
				error = add_rank(builder, of->members[j].process);
	}
	return error ? error
		     : report_straggler_spans_of_ranks(report, builder->rank_of,
						       builder->nr_processes);
}

static int judge_ranks(struct builder *builder)
{
	struct report_straggler *report = builder->report;

	for (uint32_t i = 0; i < count_all(report); i++)
		for (uint32_t j = 0; j < report->communicators[i].fold->nr_members; j++)
			add_member(builder, i, j);
	int error = sort_ranks(builder);
	while (report->nr_named < report->nr_ranks && report->ranks[report->nr_named].named)
		report->nr_named++;
	return error;
}

/* ---- groups */

static int add_group(struct builder *builder, uint32_t communicator,
		     const struct straggler_group *group)
{
	struct report_straggler *report = builder->report;
	const struct report_straggler_communicator *of = &report->communicators[communicator];
	struct report_straggler_group added = {.communicator = communicator, .group = group};
	char *name;
	int error =
		straggler_places_name(builder->profile, of->fold, &builder->switches, group, &name);

	if (!error)
		error = array_append(&report->texts, &report->nr_texts, &name, sizeof(name));
	if (error) {
		free(name);
		return error;
	}
	added.name = name;
	for (uint32_t i = 0; i < group->nr_members; i++)
		report->ranks[of->members[group->members[i]].of_rank].groups++;
	return array_append(&report->groups, &report->nr_groups, &added, sizeof(added));
}

static int make_groups(struct builder *builder)
{
	const struct report_straggler *report = builder->report;
	int error = 0;

	for (uint32_t i = 0; i < count_all(report); i++)
		for (uint32_t j = 0; j < report->communicators[i].nr_groups && !error; j++)
			error = add_group(builder, i, &report->communicators[i].groups[j]);
	return error;
}

/* ---- the whole */

static int fill(struct builder *builder)
{
	int error = communicator_names_create(builder->profile->collection, builder->folds,
					      &builder->report->names);

	if (!error)
		error = straggler_switches_find(builder->profile, builder->topology,
						&builder->switches);
	if (!error)
		error = add_all(builder);
	if (!error)
		error = make_ranks(builder);
	if (!error)
		error = judge_all(builder);
	/* Communicators of a look have newest calls of different lengths of time. */
	if (!error && !builder->look)
		error = report_straggler_costs_keep(builder->report, builder->rank_of);
	if (!error)
		error = report_straggler_victims_excuse(builder->report);
	if (!error)
		error = judge_ranks(builder);
	if (!error)
		error = take_places(builder);
	if (!error)
		error = make_groups(builder);
	if (!error)
		error = straggler_links_find(builder->folds, &builder->report->links,
					     &builder->report->nr_links);
	if (!error)
		error = report_straggler_victims_find(builder->report);
	if (!error)
		error = sort_ranks(builder);
	if (!error)
		report_straggler_joins_find(builder->report);
	if (!error && builder->store_path)
		error = report_straggler_absences_find(builder->profile, builder->report);
	if (!error && builder->store_path)
		error = report_straggler_moments_find(builder->profile, builder->report);
	if (!error && builder->store_path)
		error = report_straggler_experts_find(builder->profile, builder->store_path,
						      builder->look, builder->report);
	if (!error && builder->store_path)
		error = report_straggler_causes_find(builder->profile, builder->store_path,
						     builder->report);
	return error;
}

int report_straggler_create(const struct profile *profile, const char *store_path,
			    const struct straggler_topology *topology,
			    struct collective_folds *folds, const struct straggler_look *look,
			    struct report_straggler **straggler)
{
	struct builder builder = {
		.profile = profile,
		.folds = folds,
		.store_path = store_path,
		.topology = topology,
		.report = calloc(1, sizeof(**straggler)),
		.nr_processes = roster_size(profile->collection->roster).processes,
		.look = look,
		.looks = look ? look->looks : 1,
	};

	*straggler = builder.report;
	if (!builder.report) {
		collective_folds_destroy(folds);
		return -ENOMEM;
	}
	builder.report->folds = folds;
	int error = fill(&builder);
	free(builder.rank_of);
	straggler_switches_fini(&builder.switches);
	if (error) {
		report_straggler_destroy(*straggler);
		*straggler = NULL;
	}
	return error;
}

void report_straggler_destroy(struct report_straggler *straggler)
{
	if (!straggler)
		return;
	for (uint32_t i = 0; straggler->communicators && i < count_all(straggler); i++) {
		for (uint32_t j = 0; straggler->communicators[i].members &&
				     j < straggler->communicators[i].fold->nr_members;
		     j++)
			free(straggler->communicators[i].members[j].behind);
		free(straggler->communicators[i].members);
		straggler_groups_free(straggler->communicators[i].groups,
				      straggler->communicators[i].nr_groups);
	}
	for (uint32_t i = 0; i < straggler->nr_groups; i++)
		straggler_causes_free(straggler->groups[i].causes, straggler->groups[i].nr_causes);
	free(straggler->groups);
	free(straggler->links);
	straggler_absences_fini(&straggler->absences);
	free(straggler->missing);
	free(straggler->experts);
	straggler_pipeline_destroy(straggler->pipeline);
	communicator_names_destroy(straggler->names);
	collective_folds_destroy(straggler->folds);
	for (uint32_t i = 0; i < straggler->nr_ranks; i++)
		straggler_causes_free(straggler->ranks[i].causes, straggler->ranks[i].nr_causes);
	array_free_texts(straggler->texts, straggler->nr_texts);
	array_free_texts(straggler->wrong, straggler->nr_wrong);
	free(straggler->communicators);
	free(straggler->ranks);
	free(straggler);
}
