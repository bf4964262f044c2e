#include "straggler_text.h"

#include <inttypes.h>
#include <string.h>

#include "absence_text.h"
#include "cost_text.h"
#include "experts_text.h"
#include "unnamed_text.h"

#include "report/digest/report_refusal.h"
#include "report/model/report_paths.h"
#include "report/model/report_summary.h"
#include "report/names/local_time.h"
#include "report/names/text_line.h"
#include "report/names/text_width.h"
#include "report/straggler/report_straggler_most.h"
#include "report/straggler/report_straggler_sums.h"

#define NUMBER_SIZE   32u
#define NAMED_MAX     3u  /* ranks and groups that the line names */
#define CAUSE_COLUMNS 96u /* of a cause in it */

const char *straggler_text_ground(enum straggler_ground ground)
{
	static const char *const names[] = {
		[STRAGGLER_NOT_NAMED] = "none", [STRAGGLER_FREQUENCY] = "frequency",
		[STRAGGLER_COST] = "cost",      [STRAGGLER_LUMPS] = "lumps",
		[STRAGGLER_STALL] = "stall",    [STRAGGLER_PHASE] = "phase",
		[STRAGGLER_HIDDEN] = "hidden",
	};

	return names[ground];
}

const char *straggler_text_reason(enum straggler_ground ground)
{
	static const char *const reasons[] = {
		[STRAGGLER_NOT_NAMED] = "",
		[STRAGGLER_FREQUENCY] = "it is last more often than chance makes one of equals",
		[STRAGGLER_COST] = "the others waited longest for it in more parts of the run than "
				   "by chance",
		[STRAGGLER_LUMPS] = "more of the longest waits are for it than by chance",
		[STRAGGLER_STALL] = "that wait is more than a tenth of the run; any rank can stop "
				    "once",
		[STRAGGLER_PHASE] = "it is late all along in that part of the run",
		[STRAGGLER_HIDDEN] = "it is late all along, apart from those that are later",
	};

	return reasons[ground];
}

void straggler_text_rank(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_rank *rank)
{
	if (rank->rank >= 0)
		text_line_append(line, size, "rank %" PRId32, rank->rank);
	else
		text_line_append(line, size, "pid %" PRIu32, rank->pid);
	if (straggler->has_jobs && *rank->job)
		text_line_append(line, size, " of job %s", rank->job);
	text_line_append(line, size, " on %s", rank->host);
}

/* ---- in words */

double straggler_text_percent(double share)
{
	return share < 1 ? 100 * share : 100;
}

/* Appends one text, or both with a comma between; "?": there is neither. */
static void append_places(char *text, size_t size, const char *first, const char *second)
{
	text_line_append(text, size, " (%s%s%s)", *first || *second ? first : "?",
			 *first && *second ? ", " : "", second);
}

/* "all 64, 1.25 times as long", or "2 of 64, most gemm, 1.25 times as long". */
static void append_alike(char *text, size_t size, const struct straggler_cause *cause)
{
	if (cause->kernels == cause->of_kernels)
		text_line_append(text, size, " (all %" PRIu32, cause->kernels);
	else
		text_line_append(text, size, " (%" PRIu32 " of %" PRIu32 ", most %s",
				 cause->kernels, cause->of_kernels, cause->what);
	text_line_append(text, size, ", %.2f times as long)", cause->longer);
}

const char *straggler_text_cause(const struct straggler_cause *cause, char *text, size_t size)
{
	bool is_kernel = *cause->what != '[';

	*text = '\0';
	switch (cause->sort) {
	case STRAGGLER_GPU_WORK:
		text_line_append(text, size, "%s GPU %s", cause->more ? "more" : "slower",
				 is_kernel ? "kernels" : "work");
		if (cause->kernels)
			append_alike(text, size, cause);
		else
			append_places(text, size, cause->what, cause->function);
		straggler_clocks_text(&cause->clocks, text, size);
		break;
	case STRAGGLER_CPU:
		text_line_append(text, size, *cause->what ? "page faults" : "host code");
		append_places(text, size, cause->function, "");
		break;
	case STRAGGLER_RUN_QUEUE:
		text_line_append(text, size, "no free CPU");
		append_places(text, size, cause->what, "");
		break;
	case STRAGGLER_WAITS:
	case STRAGGLER_THREAD_WAITS:
		text_line_append(text, size, "waits");
		append_places(text, size, cause->what, cause->function);
		break;
	default:
		text_line_append(text, size, "an idle GPU");
		if (strcmp(cause->what, REPORT_PATHS_NO_SAMPLE) == 0)
			text_line_append(text, size, " (no host thread was seen meanwhile)");
		else
			append_places(text, size, cause->what, cause->function);
	}
	return text;
}

/* The stretches of a pipeline's run stand in for collectives. */
static void append_stretches(char *line, size_t size,
			     const struct report_straggler_communicator *on,
			     const struct straggler_subject *found)
{
	const uint32_t count = collective_fold_buckets(on->fold);
	char time[NUMBER_SIZE];
	double share;
	const uint64_t waited_ns = cost_text_waited(on, found, &share);

	text_line_append(line, size,
			 "waited least in %.2f %% of %" PRIu32
			 " stretches of %s; each other rank waited %s for it, %.2f %% of the time",
			 report_summary_percent((double)found->stretches, count), count, on->name,
			 report_summary_time(waited_ns, time), 100 * share);
}

void straggler_text_moment(char *line, size_t size, const struct report_straggler_moment *moment)
{
	char from[LOCAL_TIME_SIZE], to[LOCAL_TIME_SIZE];

	if (!moment->start_ns)
		return;
	local_time_text(moment->start_ns, "%F", from);
	const bool same_day = strcmp(from, local_time_text(moment->end_ns, "%F", to)) == 0;
	local_time_text(moment->start_ns, "%F %T", from);
	if (strcmp(from, local_time_text(moment->end_ns, "%F %T", to)) == 0) {
		text_line_append(line, size, " (at %s)", from);
		return;
	}
	text_line_append(line, size, " (from %s to %s)", from,
			 local_time_text(moment->end_ns, same_day ? "%T" : "%F %T", to));
}

void straggler_text_waits(char *line, size_t size, const struct report_straggler_communicator *on,
			  const struct straggler_subject *found,
			  const struct report_straggler_moment *moment)
{
	const struct collective_fold *of = on->fold;
	double share;
	const uint64_t waited_ns = cost_text_waited(on, found, &share);
	char time[NUMBER_SIZE], count[NUMBER_SIZE];

	if (on->is_pipeline) {
		append_stretches(line, size, on, found);
		return;
	}
	switch (found->ground) {
	case STRAGGLER_STALL:
		text_line_append(line, size, "stopped once, at collective %" PRIu64,
				 found->lump_from + 1);
		if (found->lump_to > found->lump_from + 1)
			text_line_append(line, size, " to %" PRIu64, found->lump_to);
		text_line_append(line, size, " of %s", on->name);
		break;
	case STRAGGLER_PHASE:
		text_line_append(line, size,
				 "from collective %" PRIu64 " to %" PRIu64 " of %s of %s",
				 found->lump_from + 1, found->lump_to,
				 report_summary_count(of->used, count), on->name);
		break;
	case STRAGGLER_HIDDEN:
		text_line_append(line, size,
				 "late by %s in each collective of %s, though others are later",
				 report_summary_time(
					 found->late_ns > 0 ? (uint64_t)found->late_ns : 0, time),
				 on->name);
		return;
	default:
		text_line_append(line, size, "last in %.2f %% of %s collectives of %s",
				 report_summary_percent((double)found->last, (double)of->used),
				 report_summary_count(of->used, count), on->name);
	}
	if (moment && straggler_subject_has_part(found) && found->ground != STRAGGLER_LUMPS)
		straggler_text_moment(line, size, moment);
	text_line_append(line, size, "; each other rank waited %s for it, %.2f %% of the time",
			 report_summary_time(waited_ns, time), 100 * share);
	cost_text_all_waiting(line, size, on, found);
}

/* Bytes a nanosecond are GB/s. A size class has the calls from half of its bytes on. */
void straggler_text_link(char *line, size_t size, const struct straggler_link *link)
{
	char from[NUMBER_SIZE], to[NUMBER_SIZE];

	text_line_append(line, size,
			 "move data at %.2f GB/s, %" PRIu32
			 " similar communicators at %.2f (median): %s of %s to %s",
			 (double)link->bus_bytes / (double)link->moves_ns, link->nr_similar,
			 (double)link->bus_bytes / (double)link->usual_ns,
			 collective_function_name(link->function),
			 report_summary_bytes(1ull << (link->size_class - 1), from),
			 report_summary_bytes(1ull << link->size_class, to));
}

/* What is known of a rank between the exchanges where it is late. */
static void append_experts(char *line, size_t size, const struct report_straggler *straggler,
			   const struct report_straggler_rank *rank)
{
	for (uint32_t i = 0; i < straggler->nr_experts; i++) {
		const struct report_straggler_experts *experts = &straggler->experts[i];

		if (experts->communicator != rank->communicator ||
		    experts->member != rank->member || experts->gpu_times <= 0)
			continue;
		text_line_append(line, size, "; ");
		experts_text_reason(line, size, experts);
	}
}

static void append_imbalances(char *line, size_t size, const struct report_straggler *straggler)
{
	for (uint32_t i = 0; i < straggler->nr_experts; i++) {
		if (straggler->experts[i].member != REPORT_STRAGGLER_NONE)
			continue;
		text_line_append(line, size, "; ");
		experts_text_append(line, size, straggler, &straggler->experts[i]);
		break;
	}
}

/* A name of a kernel may be as long as the whole line should be. The end names the function. Clocks are not cut. */
static void append_first_cause(char *line, size_t size, const struct straggler_cause *causes,
			       uint32_t nr_causes)
{
	char text[STRAGGLER_TEXT_SIZE];

	if (!nr_causes)
		return;
	struct straggler_cause bare = causes[0];
	bare.clocks = (struct straggler_clocks){0};
	straggler_text_cause(&bare, text, sizeof(text));
	text_width_cut(text, CAUSE_COLUMNS);
	straggler_clocks_text(&causes[0].clocks, text, sizeof(text));
	text_line_append(line, size, "; %s: %.0f %% of it", text,
			 straggler_text_percent(causes[0].share));
}

bool straggler_text_keeper(char *line, size_t size, const struct report_straggler *straggler,
			   const struct report_straggler_rank *rank)
{
	for (uint32_t i = 0; i < straggler->nr_ranks && rank->kept_by; i++) {
		if (straggler->ranks[i].id != rank->kept_by)
			continue;
		text_line_append(line, size, "kept waiting by ");
		straggler_text_rank(line, size, straggler, &straggler->ranks[i]);
		if (rank->kept_on != REPORT_STRAGGLER_NONE)
			text_line_append(line, size, " in collectives of %s",
					 straggler->communicators[rank->kept_on].name);
		return true;
	}
	return false;
}

/* A stage that has one rank is late as that rank. */
static void append_stage(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_rank *rank)
{
	const struct straggler_pipeline *pipeline = straggler->pipeline;

	if (pipeline && straggler->communicators[rank->communicator].is_pipeline &&
	    pipeline->of_stage[pipeline->stages.ranks[rank->member].stage].nr_ranks == 1)
		text_line_append(line, size, "stage %" PRIu32 ", ",
				 pipeline->stages.ranks[rank->member].stage);
}

static void append_late(char *line, size_t size, const struct report_straggler *straggler,
			const struct report_straggler_rank *rank, bool is_first)
{
	const struct cost_subject subject = {.rank = rank};

	append_stage(line, size, straggler, rank);
	straggler_text_rank(line, size, straggler, rank);
	text_line_append(line, size, " (");
	if (straggler_text_keeper(line, size, straggler, rank)) {
		text_line_append(line, size, ")");
		return;
	}
	if (rank->link) {
		text_line_append(line, size, "by the slow link of %s; ",
				 communicator_names_of(straggler->names, rank->link->fold->key));
	}
	if (is_first) {
		cost_text_append(line, size, straggler, &subject);
		append_experts(line, size, straggler, rank);
		append_first_cause(line, size, rank->causes, rank->nr_causes);
	} else {
		cost_text_share(line, size, straggler, &subject);
	}
	text_line_append(line, size, ")");
}

/* Appends "8 ranks: 8-15" of a group's ranks of the job. */
void straggler_text_ranks(char *line, size_t size, const struct report_straggler *straggler,
			  const struct report_straggler_group *group)
{
	const struct report_straggler_communicator *of =
		&straggler->communicators[group->communicator];
	const uint32_t count = group->group->nr_members;

	text_line_append(line, size, "%" PRIu32 " ranks", count);
	for (uint32_t i = 0; i < count; i++)
		if (straggler->ranks[of->members[group->group->members[i]].of_rank].rank < 0)
			return; /* they are not known */
	text_line_append(line, size, ": ");
	for (uint32_t i = 0, next; i < count; i = next) {
		int32_t first =
			straggler->ranks[of->members[group->group->members[i]].of_rank].rank;
		int32_t last = first;

		for (next = i + 1; next < count; next++, last++)
			if (straggler->ranks[of->members[group->group->members[next]].of_rank]
				    .rank != (int64_t)last + 1)
				break;
		text_line_append(line, size, "%s%" PRId32, i ? ", " : "", first);
		if (last > first)
			text_line_append(line, size, "-%" PRId32, last);
	}
}

static void append_group(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_group *group, bool is_first)
{
	const struct cost_subject subject = {.group = group};

	text_line_append(line, size, "%s (", group->name);
	straggler_text_ranks(line, size, straggler, group);
	text_line_append(line, size, "; ");
	if (is_first) {
		cost_text_append(line, size, straggler, &subject);
		append_first_cause(line, size, group->causes, group->nr_causes);
	} else {
		cost_text_share(line, size, straggler, &subject);
	}
	text_line_append(line, size, ")");
}

/* Tells how many ranks are late in collectives because of their pipeline. */
static void append_victims(char *line, size_t size, const struct report_straggler *straggler)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < straggler->nr_ranks; i++)
		count += !straggler->ranks[i].named && straggler->ranks[i].kept_by;
	if (count)
		text_line_append(line, size, "; kept waiting in %s: %" PRIu32 " rank%s",
				 straggler->communicators[straggler->nr_communicators].name, count,
				 count == 1 ? "" : "s");
}

/* Names the first absence, and counts the others. */
static void append_missing(char *line, size_t size, const struct report_straggler *straggler)
{
	text_line_append(line, size, "late: %s", straggler->missing[0].name);
	absence_text_append(line, size, straggler, &straggler->missing[0]);
	if (straggler->nr_missing > 1)
		text_line_append(line, size, "; and %" PRIu32 " more that never came",
				 straggler->nr_missing - 1);
}

static void append_unnamed(char *line, size_t size, const struct report_straggler *straggler)
{
	const struct report_straggler_most most = report_straggler_most_find(straggler);
	char name[STRAGGLER_TEXT_SIZE] = "";

	if (most.rank)
		straggler_text_rank(name, sizeof(name), straggler, most.rank);
	unnamed_text_append(line, size, straggler, &most, name);
}

/* The job of the i-th of those that are named, groups first. */
static const char *job_of(const struct report_straggler *straggler, uint32_t i)
{
	if (i >= straggler->nr_groups)
		return straggler->ranks[i - straggler->nr_groups].job;
	const struct report_straggler_group *group = &straggler->groups[i];
	const struct report_straggler_member *members =
		straggler->communicators[group->communicator].members;

	return straggler->ranks[members[group->group->members[0]].of_rank].job;
}

/* Of the first one of each job the line tells most. */
static bool is_first_of_job(const struct report_straggler *straggler, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (!straggler->has_jobs || strcmp(job_of(straggler, j), job_of(straggler, i)) == 0)
			return false;
	return !straggler->nr_missing;
}

/* Groups that are told with an earlier one. */
static uint32_t count_joined(const struct report_straggler *straggler)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < straggler->nr_groups; i++)
		count += straggler->groups[i].joined != 0;
	return count;
}

/* Returns whether there is a collective with all ranks of its communicator. */
static bool has_complete(const struct report_straggler *straggler)
{
	for (uint32_t i = 0; i < straggler->nr_communicators; i++)
		if (straggler->communicators[i].fold->complete)
			return true;
	return false;
}

const char *straggler_text_line(const struct report_straggler *straggler, char *line, size_t size)
{
	const uint32_t listed = straggler->nr_groups + straggler->nr_named;
	const uint32_t named = listed - count_joined(straggler);

	*line = '\0';
	if (!straggler->nr_communicators && !straggler->nr_alone && !straggler->unknown &&
	    !straggler->nr_wrong) {
		text_line_append(line, size, "late: not known: no call of NCCL is here: %s",
				 straggler->is_part
					 ? REPORT_REFUSAL_PART
					 : "`flamegrid run --collectives on` records them, from "
					   "NCCL 2.23 on (a job of one rank makes none)");
		return line;
	}
	if (!report_straggler_sums_compared(straggler) && !straggler->nr_missing &&
	    straggler->nr_wrong) {
		text_line_append(line, size, "late: not known: damaged: %s", straggler->wrong[0]);
		return line;
	}
	if (!report_straggler_sums_compared(straggler) && !straggler->nr_missing) {
		text_line_append(
			line, size,
			has_complete(straggler)
				? "late: not known: too few collectives: the first one of "
				  "each function, and those without a time, are not compared"
				: "late: not known: no collective of which all ranks are "
				  "here: record all ranks of the job into one profile");
		return line;
	}
	if (straggler->nr_missing)
		append_missing(line, size, straggler);
	else if (!named)
		append_unnamed(line, size, straggler);
	for (uint32_t i = 0, told = 0; i < listed && told < NAMED_MAX; i++) {
		const bool is_first = is_first_of_job(straggler, i);

		if (i < straggler->nr_groups && straggler->groups[i].joined)
			continue;
		told++;
		text_line_append(line, size, i == 0 && is_first ? "late: " : "; ");
		if (i < straggler->nr_groups)
			append_group(line, size, straggler, &straggler->groups[i], is_first);
		else
			append_late(line, size, straggler,
				    &straggler->ranks[i - straggler->nr_groups], is_first);
	}
	if (named > NAMED_MAX)
		text_line_append(line, size, "; and %" PRIu32 " more", named - NAMED_MAX);
	append_victims(line, size, straggler);
	if (!named)
		append_imbalances(line, size, straggler);
	return line;
}
