#include "watch_look.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch_cost.h"
#include "watch_identity.h"
#include "watch_recent.h"
#include "watch_unstarted.h"

#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "base/error_text.h"
#include "report/model/report_summary.h"
#include "report/names/communicator_names.h"
#include "report/names/text_line.h"
#include "report/straggler/report_straggler.h"
#include "report/straggler/straggler_stages.h"
#include "report/writers/straggler/cost_text.h"
#include "report/writers/straggler/straggler_text.h"

/* The last part of the window, in which a stall may still go on. */
#define STALL_OPEN_SHARE 0.25
#define NO_STAGE         UINT32_MAX
#define NUMBER_SIZE      32u

/* What is looked at. */
struct matter {
	const struct profile_recent *recent;
	const char *path;              /* of the store */
	const struct profile *profile; /* NULL: recent's, and no causes are looked for */
	struct straggler_stages stages;
};

struct looking {
	const struct watch_recent *recent;
	const struct straggler_stages *stages;
	const struct roster *roster;
	const struct report_straggler *straggler;
	struct watch_look *look;
	bool is_second; /* the window of few collectives */
};

/* Ranks of a communicator that are late together, or one. */
struct late {
	struct watch_cost_subject of;
	const struct straggler_subject *found;
	int32_t stage;                                 /* of a pipeline; -1: late in collectives */
	const struct report_straggler_experts *expert; /* NULL: not known */
	const struct straggler_cause *causes;
	uint32_t nr_causes;
};

/* ---- findings */

static int by_number(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int add_ranks(const struct looking *looking, const struct late *late,
		     struct watch_finding *finding)
{
	finding->ranks = calloc(late->of.nr_members + 1ul, sizeof(*finding->ranks));
	if (!finding->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < late->of.nr_members; i++) {
		const struct report_straggler_member *member =
			&late->of.on->members[late->of.members[i]];
		const int32_t rank = looking->straggler->ranks[member->of_rank].rank;

		if (rank >= 0)
			finding->ranks[finding->nr_ranks++] = rank;
	}
	qsort(finding->ranks, finding->nr_ranks, sizeof(*finding->ranks), by_number);
	return 0;
}

/* Appends how late the subject is in the window. The window's collectives have numbers of their own, which tell a
 * reader nothing. Its waits are a part of its time: of an onset in it, a step without the subject saves more. */
static void describe(char *text, size_t size, const struct late *late, uint64_t waited_ns,
		     double share)
{
	const struct report_straggler_communicator *on = late->of.on;
	const struct straggler_subject *found = late->found;
	char time[NUMBER_SIZE], count[NUMBER_SIZE], all[NUMBER_SIZE], span[NUMBER_SIZE];

	if (on->is_pipeline || found->ground == STRAGGLER_HIDDEN) {
		straggler_text_waits(text, size, on, found, NULL);
		return;
	}
	report_summary_count(on->fold->used, all);
	if (found->ground == STRAGGLER_STALL)
		text_line_append(text, size, "once");
	else if (found->ground == STRAGGLER_PHASE)
		text_line_append(text, size, "late in %s of the newest %s collectives of %s",
				 report_summary_count(found->lump_to - found->lump_from, count),
				 all, on->name);
	else
		text_line_append(
			text, size, "last in %.2f %% of %s collectives of %s",
			report_summary_percent((double)found->last, (double)on->fold->used), all,
			on->name);
	text_line_append(text, size, "; each other rank waited %s for it, %.2f %% of the newest %s",
			 report_summary_time(waited_ns, time), 100 * share,
			 report_summary_time(on->span_ns, span));
	cost_text_all_waiting(text, size, on, found);
}

/* Returns whether the window before this one has found it. */
static bool is_found(const struct watch_look *look, uint64_t identity)
{
	for (uint32_t i = 0; i < look->nr_findings; i++)
		if (look->findings[i].identity == identity)
			return true;
	return false;
}

/* Sums of the whole run say nothing of the last seconds. */
const struct straggler_cause *watch_look_cause(const struct straggler_cause *causes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (causes[i].extent != STRAGGLER_RUN && !causes[i].effect &&
		    causes[i].share >= WATCH_LOOK_CAUSE_MIN)
			return &causes[i];
	return NULL;
}

static int add_cause(const struct late *late, struct watch_finding *finding)
{
	const struct straggler_cause *cause = watch_look_cause(late->causes, late->nr_causes);
	char text[STRAGGLER_TEXT_SIZE];

	if (!cause)
		return 0;
	finding->cause_share = cause->share;
	finding->cause = strdup(straggler_text_cause(cause, text, sizeof(text)));
	return finding->cause ? 0 : -ENOMEM;
}

static int add_finding(struct looking *looking, const struct late *late, const char *name)
{
	const struct straggler_subject *found = late->found;
	const uint64_t used = late->of.on->fold->used;
	const bool stall = found->ground == STRAGGLER_STALL;
	const bool is_over = (double)found->lump_to <= (1 - STALL_OPEN_SHARE) * (double)used;
	double share;
	const uint64_t waited_ns = cost_text_waited(late->of.on, found, &share);
	const uint64_t identity = watch_identity_ranks(looking->straggler, late->of.on,
						       late->of.members, late->of.nr_members);
	char text[STRAGGLER_TEXT_SIZE] = "";

	/* A stage that has one rank is late as that rank. */
	if (late->stage >= 0 && late->of.nr_members == 1)
		text_line_append(text, sizeof(text), "stage %" PRId32 ", ", late->stage);
	if (is_found(looking->look, identity) || (stall && looking->is_second) ||
	    (found->ground == STRAGGLER_PHASE && is_over))
		return 0;
	describe(text, sizeof(text), late, waited_ns, share);
	struct watch_finding finding = {
		.identity = identity,
		.name = strdup(name),
		.text = strdup(text),
		.communicator = strdup(late->of.on->name),
		.key = late->of.on->fold->key,
		.is_group = late->of.nr_members > 1,
		.ground = found->ground,
		.used = used,
		.last = found->last,
		.waited_ns = waited_ns,
		.share = share,
		.is_over = stall && is_over,
		.by_host = late->of.on->fold->by_gpu < late->of.on->fold->used,
		.expert_gpu_times = late->expert ? late->expert->gpu_times : 0,
		.expert_bytes_times = late->expert ? late->expert->bytes_times : 0,
		.has_stage = late->stage >= 0,
		.stage = late->stage,
	};
	int error = finding.name && finding.text && finding.communicator
			    ? add_ranks(looking, late, &finding)
			    : -ENOMEM;

	if (!error)
		error = add_cause(late, &finding);
	if (!error)
		error = watch_cost_measure(looking->recent, &late->of, &finding);
	if (!error)
		error = array_append(&looking->look->findings, &looking->look->nr_findings,
				     &finding, sizeof(finding));
	if (error)
		watch_finding_fini(&finding);
	return error;
}

static uint32_t stage_of(const struct straggler_stages *stages, uint32_t process)
{
	for (uint32_t i = 0; i < stages->nr_ranks; i++)
		if (stages->ranks[i].process == process)
			return stages->ranks[i].stage;
	return NO_STAGE;
}

/* Returns whether all ranks of a communicator are of pipelines, and of several stages, and it is not known what they
 * wait for there. */
static bool has_stages(const struct looking *looking,
		       const struct report_straggler_communicator *on)
{
	const uint32_t first = stage_of(looking->stages, on->fold->members[0].process);
	bool several = false;

	if (looking->straggler->pipeline && looking->straggler->pipeline->fold.used)
		return false;
	for (uint32_t i = 0; i < on->fold->nr_members; i++) {
		const uint32_t stage = stage_of(looking->stages, on->fold->members[i].process);

		if (stage == NO_STAGE)
			return false;
		several |= stage != first;
	}
	return several;
}

static int add_group(struct looking *looking, const struct report_straggler_group *group)
{
	const struct report_straggler_communicator *on =
		&looking->straggler->communicators[group->communicator];
	const struct late late = {
		.of = {on, group->group->members, group->group->nr_members},
		.found = &group->group->found,
		.stage = group->group->kind == STRAGGLER_GROUP_STAGE ? (int32_t)group->group->number
								     : -1,
		.causes = group->causes,
		.nr_causes = group->nr_causes,
	};
	char name[STRAGGLER_TEXT_SIZE] = "";

	text_line_append(name, sizeof(name), "%s (", group->name);
	straggler_text_ranks(name, sizeof(name), looking->straggler, group);
	text_line_append(name, sizeof(name), ")");
	return add_finding(looking, &late, name);
}

/* Returns what is known of a rank's expert; NULL: nothing. */
static const struct report_straggler_experts *expert_of(const struct report_straggler *straggler,
							const struct report_straggler_rank *rank)
{
	for (uint32_t i = 0; i < straggler->nr_experts; i++)
		if (straggler->experts[i].communicator == rank->communicator &&
		    straggler->experts[i].member == rank->member)
			return &straggler->experts[i];
	return NULL;
}

/* Returns the stage of a pipeline that has this rank alone; -1: it has others. */
static int32_t stage_alone(const struct report_straggler *straggler,
			   const struct report_straggler_communicator *on, uint32_t member)
{
	const struct straggler_pipeline *pipeline = straggler->pipeline;

	if (!on->is_pipeline)
		return -1;
	const uint32_t stage = pipeline->stages.ranks[member].stage;
	return pipeline->of_stage[stage].nr_ranks == 1 ? (int32_t)stage : -1;
}

static int add_rank(struct looking *looking, const struct report_straggler_rank *rank)
{
	const struct report_straggler_communicator *on =
		&looking->straggler->communicators[rank->communicator];
	const struct late late = {
		.of = {on, &rank->member, 1},
		.found = &on->members[rank->member].found,
		.stage = stage_alone(looking->straggler, on, rank->member),
		.expert = expert_of(looking->straggler, rank),
		.causes = rank->causes,
		.nr_causes = rank->nr_causes,
	};
	char name[STRAGGLER_TEXT_SIZE] = "";

	straggler_text_rank(name, sizeof(name), looking->straggler, rank);
	return add_finding(looking, &late, name);
}

static int add_link(struct looking *looking, const struct straggler_link *link)
{
	const struct collective_fold *fold = link->fold;
	const char *communicator = communicator_names_of(looking->straggler->names, fold->key);
	char name[STRAGGLER_TEXT_SIZE] = "", text[STRAGGLER_TEXT_SIZE] = "";

	text_line_append(name, sizeof(name), "link of %s", communicator);
	straggler_text_link(text, sizeof(text), link);
	const uint64_t identity = watch_identity_link(fold->key);
	if (is_found(looking->look, identity))
		return 0;
	struct watch_finding finding = {
		.identity = identity,
		.name = strdup(name),
		.text = strdup(text),
		.communicator = strdup(communicator),
		.ranks = calloc(fold->nr_members + 1ul, sizeof(*finding.ranks)),
		.is_group = true,
		.is_link = true,
		.used = link->calls / fold->nr_members,
		.waited_ns = (link->moves_ns - link->usual_ns) / fold->nr_members,
	};
	int error =
		finding.name && finding.text && finding.communicator && finding.ranks ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < fold->nr_members && !error; i++) {
		const struct roster_process *process =
			roster_process(looking->roster, fold->members[i].process);

		if (process && process->rank >= 0)
			finding.ranks[finding.nr_ranks++] = process->rank;
	}
	if (!error)
		error = array_append(&looking->look->findings, &looking->look->nr_findings,
				     &finding, sizeof(finding));
	if (error)
		watch_finding_fini(&finding);
	return error;
}

static bool is_full(const struct looking *looking)
{
	return looking->look->nr_findings == WATCH_LOOK_FINDINGS;
}

static int add_all(struct looking *looking)
{
	const struct report_straggler *straggler = looking->straggler;
	int error = 0;

	uint64_t compared = 0;

	for (uint32_t i = 0; i < straggler->nr_communicators; i++)
		compared += straggler->communicators[i].fold->used;
	if (compared > looking->look->compared)
		looking->look->compared = compared;
	for (uint32_t i = 0; i < straggler->nr_groups && !is_full(looking) && !error; i++)
		if (!has_stages(looking,
				&straggler->communicators[straggler->groups[i].communicator]))
			error = add_group(looking, &straggler->groups[i]);
	for (uint32_t i = 0; i < straggler->nr_named && !is_full(looking) && !error; i++)
		if (!straggler->ranks[i].kept_by &&
		    !has_stages(looking,
				&straggler->communicators[straggler->ranks[i].communicator]))
			error = add_rank(looking, &straggler->ranks[i]);
	for (uint32_t i = 0; i < straggler->nr_links && !is_full(looking) && !error; i++)
		if (!looking->is_second)
			error = add_link(looking, &straggler->links[i]);
	return error;
}

/* Differs if work came on a stage. */
static uint64_t newest_of(const struct straggler_pipeline *pipeline)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; pipeline && i < pipeline->fold.nr_members; i++)
		newest += pipeline->fold.members[i].gpu_end_ns;
	return newest;
}

/* *is_long: the window is longer than its time. */
static int look_through(const struct matter *matter, const struct watch_window *window,
			struct watch_look *look, bool is_second, bool *is_long)
{
	const struct straggler_look looks = {
		.looks = WATCH_LOOK_LOOKS,
		.recent = is_second ? NULL : matter->recent,
		.store_path = matter->path,
		.window_ns = WATCH_LOOK_NS,
		.steps = WATCH_LOOK_LEAST,
	};
	const struct profile *profile = matter->profile ? matter->profile : matter->recent->profile;
	const struct roster *roster = matter->recent->profile->collection->roster;
	struct report_straggler *straggler = NULL;
	struct watch_recent chosen;
	int error = watch_recent_choose(matter->recent->calls, roster, window, &chosen);

	*is_long = chosen.is_long;
	if (!error) {
		struct looking looking = {.recent = &chosen,
					  .stages = &matter->stages,
					  .roster = roster,
					  .look = look,
					  .is_second = is_second};

		/* of both windows, as the second one has no stages */
		look->newest += chosen.newest;
		error = report_straggler_create(profile, matter->profile ? matter->path : NULL,
						NULL, chosen.folds, &looks, &straggler);
		looking.straggler = straggler;
		look->newest += !error ? newest_of(straggler->pipeline) : 0;
		look->has_stages |= !error && straggler->pipeline && straggler->pipeline->fold.used;
		if (!error)
			error = add_all(&looking);
		if (!error && !is_second)
			error = watch_pace_measure(&chosen, &look->paces, &look->nr_paces);
		chosen.folds = NULL; /* the straggler's */
	}
	report_straggler_destroy(straggler);
	watch_recent_fini(&chosen);
	return error;
}

int watch_look_make(const struct profile_recent *recent, const char *path,
		    const struct profile *profile, struct watch_look *look)
{
	static const struct watch_window usual = {WATCH_LOOK_NS, WATCH_LOOK_LEAST};
	static const struct watch_window few = {0, WATCH_LOOK_FEW};
	struct matter matter = {.recent = recent, .path = path, .profile = profile};
	bool is_long;

	*look = (struct watch_look){.findings = NULL};
	int error = watch_absence_find(recent, &look->absences, &look->nr_absences);
	if (!error)
		error = watch_unstarted_add(recent, &look->absences, &look->nr_absences);
	if (!error)
		error = straggler_stages_find(recent->profile, recent->calls, &matter.stages);
	if (!error)
		error = look_through(&matter, &usual, look, false, &is_long);
	if (!error && is_long)
		error = look_through(&matter, &few, look, true, &is_long);
	straggler_stages_fini(&matter.stages);
	return error;
}

int watch_look_read(const char *path, struct watch_look *look, char **error)
{
	struct profile_recent recent;

	*look = (struct watch_look){.findings = NULL};
	int status = profile_recent_load(path, WATCH_LOOK_NS, WATCH_LOOK_LEAST, &recent, error);

	if (!status) {
		status = watch_look_make(&recent, path, NULL, look);
		if (status)
			error_text_set(error, status, "%s: %s", path,
				       status == -EPROTO ? "damaged: it names what it does not hold"
							 : strerror(-status));
	}
	profile_recent_fini(&recent);
	return status;
}

void watch_look_fini(struct watch_look *look)
{
	for (uint32_t i = 0; i < look->nr_findings; i++)
		watch_finding_fini(&look->findings[i]);
	free(look->findings);
	free(look->paces);
	watch_absence_free(look->absences, look->nr_absences);
	*look = (struct watch_look){.findings = NULL};
}
