#include "report_straggler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "straggler_window.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "report/names/clean_text.h"

struct builder {
	const struct profile *profile;
	const struct collective_log *log;
	const char *store_path;
	struct report_straggler *report;
	uint32_t *rank_of; /* owns; for each process: its index in report->ranks, + 1 */
	uint32_t nr_processes;
};

/* ---- communicators */

static int add_communicator(void *context, struct collective_match *match)
{
	struct builder *builder = context;
	struct report_straggler *report = builder->report;

	if (match->nr_members < 2) {
		report->nr_alone++;
		collective_match_fini(match);
		return 0;
	}
	struct report_straggler_member *members = calloc(match->nr_members, sizeof(*members));
	int error = members ? array_append(&report->communicators, &report->nr_communicators,
					   &(struct report_straggler_communicator){*match, members},
					   sizeof(*report->communicators))
			    : -ENOMEM;
	if (error) {
		free(members);
		collective_match_fini(match);
	}
	return error;
}

static uint64_t waited_for(const struct report_straggler_communicator *communicator)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < communicator->match.nr_members; i++)
		sum += communicator->members[i].found.others_ns;
	return sum;
}

static int by_waits(const void *a, const void *b)
{
	const struct report_straggler_communicator *x = a, *y = b;
	uint64_t waited_x = waited_for(x), waited_y = waited_for(y);

	if (waited_x != waited_y)
		return waited_x > waited_y ? -1 : 1;
	return (x->match.key > y->match.key) - (x->match.key < y->match.key);
}

static int judge_communicator(struct report_straggler_communicator *communicator, uint32_t nr_tests)
{
	const struct collective_match *match = &communicator->match;
	const struct straggler_input input = {
		.times_ns = match->times_ns,
		.nr_collectives = (uint32_t)match->used,
		.nr_ranks = match->nr_members,
		.span_ns = match->span_ns,
		.nr_tests = nr_tests,
	};
	struct straggler_rank *found = calloc(match->nr_members, sizeof(*found));
	int error = found ? straggler_find(&input, found) : -ENOMEM;

	for (uint32_t i = 0; i < match->nr_members && !error; i++)
		communicator->members[i].found = found[i];
	free(found);
	return error;
}

static int judge_all(struct report_straggler *report)
{
	uint32_t nr_tests = 0;
	int error = 0;

	for (uint32_t i = 0; i < report->nr_communicators; i++)
		if (report->communicators[i].match.used)
			nr_tests += report->communicators[i].match.nr_members;
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
		&builder->report->ranks[builder->rank_of[of->match.members[member].process] - 1];
	double mean = (double)from->found.others_ns / (of->match.nr_members - 1);

	rank->last += from->found.last;
	rank->used += of->match.used;
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
	    (double)worst->members[rank->member].found.others_ns / (worst->match.nr_members - 1)) {
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

		for (uint32_t j = 0; j < of->match.nr_members; j++)
			of->members[j].of_rank = at[builder->rank_of[of->match.members[j].process]];
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
		const struct collective_match *of = &report->communicators[i].match;

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
static uint32_t choose_parties(const struct builder *builder, const struct collective_match *of,
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

static int explain(struct builder *builder, struct report_straggler_rank *rank)
{
	const struct report_straggler_communicator *of =
		&builder->report->communicators[rank->communicator];
	const struct collective_match *match = &of->match;
	const struct straggler_rank *found = &of->members[rank->member].found;
	uint32_t members[1 + STRAGGLER_OTHERS_MAX];
	struct straggler_party parties[1 + STRAGGLER_OTHERS_MAX] = {0};
	struct straggler_question question = {
		.parties = parties,
		.nr_parties = choose_parties(builder, match, rank->member, members),
		.collectives = match->used,
		.late_ns = found->late_ns > 0 ? (uint64_t)found->late_ns : 0,
	};
	int error = 0;

	if (question.nr_parties < 2)
		return 0;
	question.window_late_ns =
		straggler_window_lateness(match, rank->member, &question.window_count);
	for (uint32_t i = 0; i < question.nr_parties && !error; i++) {
		struct straggler_window *windows;

		parties[i].process = match->members[members[i]].process;
		error = straggler_window_find(match, builder->log, rank->member, members[i],
					      &windows, &parties[i].nr_windows);
		parties[i].windows = windows;
	}
	if (!error)
		error = straggler_causes_find(builder->profile, builder->store_path, builder->log,
					      &question, &rank->causes, &rank->nr_causes,
					      &rank->scope);
	for (uint32_t i = 0; i < question.nr_parties; i++)
		free((void *)parties[i].windows);
	return error;
}

/* ---- the whole */

static void count_calls(struct builder *builder)
{
	uint32_t count;
	const struct collective_log_call *calls = collective_log_calls(builder->log, &count);

	for (uint32_t i = 0; i < count; i++)
		builder->report->without_gpu += calls[i].call.correlation_id && !calls[i].gpu.known;
}

static int build(struct builder *builder)
{
	int error = collective_match_each(builder->log, builder->nr_processes, add_communicator,
					  builder, &builder->report->unknown);

	count_calls(builder);
	if (!error)
		error = judge_all(builder->report);
	if (!error)
		error = make_ranks(builder);
	for (uint32_t i = 0; i < builder->report->nr_named && !error; i++)
		error = explain(builder, &builder->report->ranks[i]);
	return error;
}

int report_straggler_create(const struct profile *profile, const char *store_path,
			    const struct collective_log *log, struct report_straggler **straggler)
{
	struct builder builder = {.profile = profile, .log = log, .store_path = store_path};

	*straggler = builder.report = calloc(1, sizeof(**straggler));
	if (!*straggler)
		return -ENOMEM;
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
		collective_match_fini(&straggler->communicators[i].match);
		free(straggler->communicators[i].members);
	}
	for (uint32_t i = 0; i < straggler->nr_ranks; i++)
		straggler_causes_free(straggler->ranks[i].causes, straggler->ranks[i].nr_causes);
	for (uint32_t i = 0; i < straggler->nr_texts; i++)
		free(straggler->texts[i]);
	free(straggler->texts);
	free(straggler->communicators);
	free(straggler->ranks);
	free(straggler);
}
