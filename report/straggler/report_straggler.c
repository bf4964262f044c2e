#include "report_straggler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "straggler_window.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collective_folds.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "report/names/clean_text.h"
#include "report/names/outlier.h"

struct builder {
	const struct profile *profile;
	const struct collective_folds *folds;
	const char *store_path;
	struct report_straggler *report;
	uint32_t *rank_of; /* owns; for each process: its index in report->ranks, + 1 */
	uint32_t nr_processes;
};

/* ---- communicators */

/* Each member's span is on its own clock: the GPU's if all times are of kernels. */
static int find_spans(struct report_straggler_communicator *communicator)
{
	const struct collective_fold *fold = communicator->fold;
	uint64_t *spans = calloc(fold->nr_members + 1ul, sizeof(*spans));
	bool by_gpu = fold->by_gpu == fold->used;

	if (!spans)
		return -ENOMEM;
	for (uint32_t i = 0; i < fold->nr_members && fold->used; i++) {
		const struct collective_fold_member *member = &fold->members[i];
		uint64_t start = by_gpu ? member->gpu_start_ns : member->start_ns;
		uint64_t end = by_gpu ? member->gpu_end_ns : member->end_ns;

		spans[i] = communicator->members[i].span_ns = end > start ? end - start : 0;
	}
	communicator->span_ns = outlier_median(spans, fold->nr_members);
	free(spans);
	return 0;
}

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
		.fold = fold, .members = calloc(fold->nr_members, sizeof(*added->members))};
	if (!added->members)
		return -ENOMEM;
	report->nr_communicators++;
	return find_spans(added);
}

/* What a sum says of its rank. The bins of all sums of a rank are put together. */
static int add_sum(struct builder *builder, const struct collective_sum *sum)
{
	const struct collective_folds *folds = builder->folds;
	const struct communicator *end =
		collective_folds_end(folds, sum->key.process, sum->key.communicator_id);
	uint32_t at = COLLECTIVE_FOLD_NONE;

	builder->report->without_gpu += sum->unjoined;
	if (!end || !end->key) {
		builder->report->unknown += sum->numbered;
		return 0;
	}
	for (uint32_t i = 0; i < builder->report->nr_communicators && sum->used; i++) {
		const struct report_straggler_communicator *of = &builder->report->communicators[i];

		if (of->fold->key != end->key || (of->fold->writer == 0) != sum->key.is_across)
			continue;
		at = collective_fold_find(of->fold, sum->key.process, sum->key.communicator_id);
		if (at == COLLECTIVE_FOLD_NONE)
			continue;
		struct straggler_rank *found = &of->members[at].found;
		found->last += sum->last;
		found->others_ns += sum->others_ns;
		found->waited_ns += sum->waited_ns;
		for (uint32_t j = 0; j < sum->nr_behind; j++)
			if (collective_bins_add(&of->members[at].behind, &of->members[at].nr_behind,
						&sum->behind[j]))
				return -ENOMEM;
		break;
	}
	return 0;
}

static int add_all(struct builder *builder)
{
	const struct collective_folds *folds = builder->folds;
	struct report_straggler *report = builder->report;
	int error = 0;

	report->communicators = calloc(folds->nr_folds + 1ul, sizeof(*report->communicators));
	if (!report->communicators)
		return -ENOMEM;
	for (uint32_t i = 0; i < folds->nr_folds && !error; i++)
		error = add_communicator(builder, &folds->folds[i]);
	for (uint32_t i = 0; i < folds->nr_sums && !error; i++)
		error = add_sum(builder, &folds->sums[i]);
	return error;
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

static int judge_communicator(struct report_straggler_communicator *communicator, uint32_t nr_tests)
{
	const uint32_t count = communicator->fold->nr_members;
	const struct straggler_input input = {
		.fold = communicator->fold,
		.span_ns = communicator->span_ns,
		.nr_tests = nr_tests,
	};
	struct straggler_rank *found = calloc(count, sizeof(*found));

	if (!found)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct report_straggler_member *member = &communicator->members[i];

		found[i] = member->found;
		found[i].behind_ns = collective_bins_median(member->behind, member->nr_behind);
	}
	int error = straggler_find(&input, found);
	for (uint32_t i = 0; i < count; i++)
		communicator->members[i].found = found[i];
	free(found);
	return error;
}

static int judge_all(struct report_straggler *report)
{
	uint32_t nr_tests = 0;
	int error = 0;

	for (uint32_t i = 0; i < report->nr_communicators; i++)
		if (report->communicators[i].fold->used)
			nr_tests += report->communicators[i].fold->nr_members;
	for (uint32_t i = 0; i < report->nr_communicators && !error; i++)
		error = judge_communicator(&report->communicators[i], nr_tests);
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

static bool same_rank(const struct roster_process *a, const struct roster_process *b)
{
	return a->rank >= 0 && a->rank == b->rank && a->job == b->job;
}

static int add_rank(struct builder *builder, uint32_t process)
{
	const struct roster *roster = builder->profile->collection->roster;
	const struct roster_process *added = roster_process(roster, process);
	const struct roster_host *host = roster_host(roster, added->identity.host);
	struct report_straggler *report = builder->report;

	for (uint32_t i = 0; i < report->nr_ranks; i++)
		if (same_rank(roster_process(roster, report->ranks[i].process), added)) {
			builder->rank_of[process] = i + 1;
			return 0;
		}
	struct report_straggler_rank *rank = &report->ranks[report->nr_ranks];
	*rank = (struct report_straggler_rank){.id = report->nr_ranks + 1,
					       .rank = added->rank,
					       .process = process,
					       .pid = added->identity.pid,
					       .host = "",
					       .communicator = REPORT_STRAGGLER_NONE,
					       .member = REPORT_STRAGGLER_NONE};
	builder->rank_of[process] = ++report->nr_ranks;
	return host ? keep_text(builder, host->node, &rank->host) : 0;
}

static void add_member(struct builder *builder, uint32_t communicator, uint32_t member)
{
	const struct report_straggler_communicator *of =
		&builder->report->communicators[communicator];
	const struct report_straggler_member *from = &of->members[member];
	struct report_straggler_rank *rank =
		&builder->report->ranks[builder->rank_of[of->fold->members[member].process] - 1];
	double mean = (double)from->found.others_ns / (of->fold->nr_members - 1);

	rank->last += from->found.last;
	rank->used += of->fold->used;
	rank->others_ns += from->found.others_ns;
	rank->waited_ns += from->found.waited_ns;
	rank->others_mean_ns += mean;
	if (!from->found.named)
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
	for (uint32_t i = 0; i < report->nr_communicators; i++) {
		struct report_straggler_communicator *of = &report->communicators[i];

		for (uint32_t j = 0; j < of->fold->nr_members; j++)
			of->members[j].of_rank = at[builder->rank_of[of->fold->members[j].process]];
	}
	free(at);
	return 0;
}

static int make_ranks(struct builder *builder)
{
	struct report_straggler *report = builder->report;
	int error = 0;

	builder->rank_of = calloc(builder->nr_processes + 1ul, sizeof(*builder->rank_of));
	report->ranks = calloc(builder->nr_processes + 1ul, sizeof(*report->ranks));
	if (!builder->rank_of || !report->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < report->nr_communicators; i++) {
		const struct collective_fold *of = report->communicators[i].fold;

		for (uint32_t j = 0; j < of->nr_members && !error; j++) {
			if (!builder->rank_of[of->members[j].process])
				error = add_rank(builder, of->members[j].process);
			if (!error)
				add_member(builder, i, j);
		}
	}
	qsort(report->ranks, report->nr_ranks, sizeof(*report->ranks), by_lateness);
	while (report->nr_named < report->nr_ranks && report->ranks[report->nr_named].named)
		report->nr_named++;
	return error ? error : link_members(builder);
}

/* ---- causes */

/* Chooses the late rank, then other ranks of the job; of many, every n-th. */
static uint32_t choose_parties(const struct builder *builder, const struct collective_fold *of,
			       uint32_t late, uint32_t members[static 1 + STRAGGLER_OTHERS_MAX])
{
	const struct roster *roster = builder->profile->collection->roster;
	uint32_t count = 1, step = 1 + (of->nr_members - 2) / STRAGGLER_OTHERS_MAX;

	members[0] = late;
	for (uint32_t i = 0; i < of->nr_members && count <= STRAGGLER_OTHERS_MAX; i += step) {
		uint32_t process = of->members[i].process;
		bool there = false;

		for (uint32_t j = 0; j < count; j++) {
			uint32_t other = of->members[members[j]].process;

			there |= process == other || same_rank(roster_process(roster, process),
							       roster_process(roster, other));
		}
		if (!there)
			members[count++] = i;
	}
	return count;
}

/* The calls of a communicator that have raw rows. */
struct raw_calls {
	const struct collective_fold *fold;
	const struct collective_log *log;
	struct straggler_calls calls;
};

static int take_calls(void *context, struct collective_match *match)
{
	struct raw_calls *raw = context;

	if (match->key != raw->fold->key) {
		collective_match_fini(match);
		return 0;
	}
	raw->calls.match = *match;
	return collective_match_compare(&raw->calls.match, raw->log, &raw->calls.times_ns);
}

/* Returns the match's member that is the fold's; COLLECTIVE_FOLD_NONE: it has no raw row. */
static uint32_t find_calls(const struct raw_calls *raw, uint32_t member)
{
	const struct collective_fold_member *of = &raw->fold->members[member];

	for (uint32_t i = 0; i < raw->calls.match.nr_members; i++)
		if (raw->calls.match.members[i].process == of->process &&
		    raw->calls.match.members[i].communicator_id == of->communicator_id)
			return i;
	return COLLECTIVE_FOLD_NONE;
}

static int find_windows(const struct raw_calls *raw, uint32_t late, const uint32_t *members,
			struct straggler_question *question, struct straggler_party *parties)
{
	uint32_t at = find_calls(raw, late);
	int error = 0;

	if (at == COLLECTIVE_FOLD_NONE)
		return 0;
	question->window_late_ns =
		straggler_window_lateness(&raw->calls, at, &question->window_count);
	for (uint32_t i = 0; i < question->nr_parties && !error; i++) {
		struct straggler_window *windows = NULL;
		uint32_t member = find_calls(raw, members[i]);

		if (member != COLLECTIVE_FOLD_NONE)
			error = straggler_window_find(&raw->calls, raw->log, at, member, &windows,
						      &parties[i].nr_windows);
		parties[i].windows = windows;
	}
	return error;
}

static int explain(struct builder *builder, struct report_straggler_rank *rank)
{
	const struct report_straggler_communicator *of =
		&builder->report->communicators[rank->communicator];
	const struct straggler_rank *found = &of->members[rank->member].found;
	struct raw_calls raw = {.fold = of->fold, .log = builder->folds->log};
	uint32_t members[1 + STRAGGLER_OTHERS_MAX];
	struct straggler_party parties[1 + STRAGGLER_OTHERS_MAX] = {0};
	struct straggler_question question = {
		.parties = parties,
		.nr_parties = choose_parties(builder, of->fold, rank->member, members),
		.collectives = of->fold->used,
		.late_ns = found->late_ns > 0 ? (uint64_t)found->late_ns : 0,
	};

	if (question.nr_parties < 2)
		return 0;
	for (uint32_t i = 0; i < question.nr_parties; i++)
		parties[i].process = of->fold->members[members[i]].process;
	int error = collective_match_each(raw.log, builder->nr_processes, true, take_calls, &raw);
	if (!error)
		error = find_windows(&raw, rank->member, members, &question, parties);
	if (!error)
		error = straggler_causes_find(builder->profile, builder->store_path, builder->folds,
					      &question, &rank->causes, &rank->nr_causes,
					      &rank->scope);
	for (uint32_t i = 0; i < question.nr_parties; i++)
		free((void *)parties[i].windows);
	collective_match_fini(&raw.calls.match);
	free(raw.calls.times_ns);
	return error;
}

/* ---- the whole */

static int build(struct builder *builder)
{
	int error = add_all(builder);

	if (!error)
		error = judge_all(builder->report);
	if (!error)
		error = make_ranks(builder);
	for (uint32_t i = 0; i < builder->report->nr_named && !error; i++)
		error = explain(builder, &builder->report->ranks[i]);
	return error;
}

int report_straggler_create(const struct profile *profile, const char *store_path,
			    struct collective_folds *folds, struct report_straggler **straggler)
{
	struct builder builder = {.profile = profile, .folds = folds, .store_path = store_path};

	*straggler = builder.report = calloc(1, sizeof(**straggler));
	if (!*straggler) {
		collective_folds_destroy(folds);
		return -ENOMEM;
	}
	builder.report->folds = folds;
	builder.nr_processes = roster_size(profile->collection->roster).processes;
	int error = build(&builder);
	free(builder.rank_of);
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
	for (uint32_t i = 0; i < straggler->nr_communicators; i++) {
		for (uint32_t j = 0; j < straggler->communicators[i].fold->nr_members; j++)
			free(straggler->communicators[i].members[j].behind);
		free(straggler->communicators[i].members);
	}
	collective_folds_destroy(straggler->folds);
	for (uint32_t i = 0; i < straggler->nr_ranks; i++)
		straggler_causes_free(straggler->ranks[i].causes, straggler->ranks[i].nr_causes);
	for (uint32_t i = 0; i < straggler->nr_texts; i++)
		free(straggler->texts[i]);
	free(straggler->texts);
	free(straggler->communicators);
	free(straggler->ranks);
	free(straggler);
}
