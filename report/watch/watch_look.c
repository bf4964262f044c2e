#include "watch_look.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch_onset.h"
#include "watch_recent.h"
#include "watch_replay.h"
#include "watch_unstarted.h"

#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "base/error_text.h"
#include "report/model/report_summary.h"
#include "report/names/communicator_names.h"
#include "report/names/robust.h"
#include "report/names/text_line.h"
#include "report/straggler/report_straggler.h"
#include "report/straggler/straggler_period.h"
#include "report/straggler/straggler_stages.h"
#include "report/writers/straggler_text.h"

/* The last part of the window, in which a stall may still go on. */
#define STALL_OPEN_SHARE 0.25
#define STEP_MAX_NS      1e15 /* more is no step */
#define NO_STAGE         UINT32_MAX

/* What is looked at. */
struct matter {
	const struct profile_recent *recent;
	const struct profile *profile; /* NULL: recent's */
	const char *store_path;        /* NULL: without causes */
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
	const struct report_straggler_communicator *on;
	const struct straggler_subject *found;
	const uint32_t *members; /* of the fold */
	uint32_t nr_members;
	const struct straggler_cause *causes;
	uint32_t nr_causes;
};

/* ---- the communicator's collectives */

static bool is_on(const struct looking *looking, const struct late *late, uint32_t meeting)
{
	return looking->recent->keys[looking->recent->meetings[meeting].communicator] ==
	       late->on->fold->key;
}

/* Returns the index of the communicator's first collective; nr_meetings: there is none. They follow one another. */
static uint32_t first_on(const struct looking *looking, const struct late *late, uint32_t *count)
{
	uint32_t first = 0, end;

	while (first < looking->recent->nr_meetings && !is_on(looking, late, first))
		first++;
	for (end = first; end < looking->recent->nr_meetings && is_on(looking, late, end); end++)
		;
	*count = end - first;
	return first;
}

static bool *find_late(const struct late *late, uint32_t nr_ranks)
{
	bool *is_late = calloc(nr_ranks + 1ul, sizeof(*is_late));

	for (uint32_t i = 0; i < late->nr_members && is_late; i++)
		is_late[late->on->fold->members[late->members[i]].process] = true;
	return is_late;
}

/* ---- since when */

static int find_period(const struct looking *looking, const struct late *late, uint32_t *period)
{
	uint32_t count, first = first_on(looking, late, &count);
	uint32_t *kinds = calloc(count + 1ul, sizeof(*kinds));

	if (!kinds)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		kinds[i] = looking->recent->meetings[first + i].kind;
	*period = straggler_period_find(kinds, count);
	free(kinds);
	return 0;
}

static double time_of(const struct watch_visit *visit)
{
	return (double)(visit->end_ns - visit->start_ns);
}

/* How much later the late ranks came to a collective than the median of the others. */
static double lateness(const struct watch_recent *recent, const struct watch_meeting *meeting,
		       const bool *is_late, double *values)
{
	uint32_t others = 0, late = 0;
	double sum = 0;

	for (uint32_t i = 0; i < meeting->nr_visits; i++) {
		const struct watch_visit *visit = &recent->visits[meeting->first_visit + i];

		if (is_late[visit->rank]) {
			sum += time_of(visit);
			late++;
		} else {
			values[others++] = time_of(visit);
		}
	}
	return others && late ? robust_median(values, others) - sum / late : 0;
}

/* Adds up the values of each step, the last of which ends with the last value. Returns the number of steps; *first: the
 * values before them. */
static uint32_t add_steps(double *values, uint32_t count, uint32_t period, uint32_t *first)
{
	const uint32_t steps = count / period;

	*first = count % period;
	for (uint32_t i = 0; i < steps; i++) {
		double sum = 0;

		for (uint32_t j = 0; j < period; j++)
			sum += values[*first + i * period + j];
		values[i] = sum;
	}
	return steps;
}

/* Returns the first collective of the steps in which the subject is late. */
static int find_onset(const struct looking *looking, const struct late *late, const bool *is_late,
		      uint32_t period, uint32_t *onset)
{
	uint32_t count, first = first_on(looking, late, &count);
	double *row = calloc(count + 1ul, sizeof(*row));
	double *values = calloc(late->on->fold->nr_members + 1ul, sizeof(*values));

	*onset = first;
	for (uint32_t i = 0; i < count && row && values; i++)
		row[i] = lateness(looking->recent, &looking->recent->meetings[first + i], is_late,
				  values);
	if (row && values) {
		uint32_t before;
		const uint32_t steps = add_steps(row, count, period, &before);
		const uint32_t step = watch_onset_find(row, steps);

		*onset = step ? first + before + step * period : first;
	}
	int error = row && values ? 0 : -ENOMEM;
	free(row);
	free(values);
	return error;
}

/* ---- a step without the cause */

/* Returns the end of a rank's newest collective. */
static uint64_t *find_ends(const struct watch_recent *recent, uint32_t nr_ranks)
{
	uint64_t *ends = calloc(nr_ranks + 1ul, sizeof(*ends));

	for (uint32_t i = 0; i < recent->nr_visits && ends; i++)
		if (recent->visits[i].end_ns > ends[recent->visits[i].rank])
			ends[recent->visits[i].rank] = recent->visits[i].end_ns;
	return ends;
}

/* Leaves the collectives since the onset. The newest ones of all ranks end at about the same time. */
static uint32_t cut_before(const struct watch_recent *recent, const uint64_t *ends, uint32_t onset,
			   struct watch_meeting *meetings)
{
	const struct watch_visit *from = &recent->visits[recent->meetings[onset].first_visit];
	const uint64_t since_ns = ends[from->rank] - from->start_ns;
	uint32_t count = 0;

	for (uint32_t i = 0; i < recent->nr_meetings; i++) {
		const struct watch_visit *visit = &recent->visits[recent->meetings[i].first_visit];
		const bool same =
			recent->meetings[i].communicator == recent->meetings[onset].communicator;

		if (same ? i >= onset : ends[visit->rank] - visit->start_ns <= since_ns)
			meetings[count++] = recent->meetings[i];
	}
	return count;
}

/* Collectives of a step are of different kinds, also where function and size are the same: a rank is late to one of
 * them. */
static void tell_apart(struct watch_meeting *meetings, uint32_t nr_meetings, uint32_t communicator,
		       uint32_t period)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < nr_meetings; i++)
		if (meetings[i].communicator == communicator)
			meetings[i].kind = WATCH_RECENT_KINDS + place++ % period;
}

/* Puts the visits of the meetings that are left one after the other. */
static uint32_t copy_visits(const struct watch_recent *recent, struct watch_meeting *meetings,
			    uint32_t nr_meetings, struct watch_visit *visits)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < nr_meetings; i++) {
		memcpy(&visits[count], &recent->visits[meetings[i].first_visit],
		       meetings[i].nr_visits * sizeof(*visits));
		meetings[i].first_visit = count;
		count += meetings[i].nr_visits;
	}
	return count;
}

/* Sets the step's times. They stay 0 if they cannot be computed. 0 or -ENOMEM. */
static int replay(const struct looking *looking, uint32_t onset, const bool *is_late,
		  uint32_t nr_ranks, uint32_t period, struct watch_step *step)
{
	const struct watch_recent *recent = looking->recent;
	struct watch_meeting *meetings = calloc(recent->nr_meetings + 1ul, sizeof(*meetings));
	struct watch_visit *visits = calloc(recent->nr_visits + 1ul, sizeof(*visits));
	uint64_t *ends = find_ends(recent, nr_ranks);
	struct watch_replay_result result;
	int error = meetings && visits && ends ? 0 : -ENOMEM;

	if (!error) {
		struct watch_replay_input input = {
			.meetings = meetings,
			.visits = visits,
			.late = is_late,
			.nr_ranks = nr_ranks,
			.communicator = recent->meetings[onset].communicator,
			.period = period ? period : 1,
			.nr_meetings = cut_before(recent, ends, onset, meetings),
		};
		if (period)
			tell_apart(meetings, input.nr_meetings, input.communicator, period);
		input.nr_visits = copy_visits(recent, meetings, input.nr_meetings, visits);
		error = watch_replay(&input, &result);
		if (!error && result.now_ns < STEP_MAX_NS && result.without_ns < STEP_MAX_NS) {
			step->collectives = period;
			step->now_ns = (uint64_t)llround(result.now_ns);
			step->without_ns = (uint64_t)llround(result.without_ns);
		}
	}
	free(meetings);
	free(visits);
	free(ends);
	return error == -ENOMEM ? error : 0;
}

static int measure(const struct looking *looking, const struct late *late,
		   struct watch_finding *finding)
{
	const uint32_t nr_ranks = looking->recent->nr_ranks;
	bool *is_late = find_late(late, nr_ranks);
	uint32_t count, onset = 0, period = 0;
	const uint32_t first = first_on(looking, late, &count);
	int error = is_late ? find_period(looking, late, &period) : -ENOMEM;

	if (!error)
		error = find_onset(looking, late, is_late, period ? period : 1, &onset);
	if (!error && count)
		finding->age_ns = looking->recent->called_ns[first + count - 1] -
				  looking->recent->called_ns[onset];
	/* A stall is no part of a usual step. */
	if (!error && count && !looking->recent->others && finding->ground != STRAGGLER_STALL)
		error = replay(looking, onset, is_late, nr_ranks, period, &finding->step);
	free(is_late);
	return error;
}

/* ---- findings */

static int by_number(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int add_ranks(const struct looking *looking, const struct late *late,
		     struct watch_finding *finding)
{
	finding->ranks = calloc(late->nr_members + 1ul, sizeof(*finding->ranks));
	if (!finding->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < late->nr_members; i++) {
		const struct report_straggler_member *member = &late->on->members[late->members[i]];
		const int32_t rank = looking->straggler->ranks[member->of_rank].rank;

		if (rank >= 0)
			finding->ranks[finding->nr_ranks++] = rank;
	}
	qsort(finding->ranks, finding->nr_ranks, sizeof(*finding->ranks), by_number);
	return 0;
}

/* Appends how late the subject is. Numbers of collectives would be those of the window. */
static void describe(char *text, size_t size, const struct late *late, uint64_t waited_ns)
{
	char time[32];

	if (late->found->ground == STRAGGLER_STALL)
		text_line_append(text, size, "once; each other rank waited %s for it",
				 report_summary_time(waited_ns, time));
	else
		straggler_text_waits(text, size, late->on, late->found);
}

/* Returns whether the window before this one has found it. */
static bool is_found(const struct watch_look *look, const char *name)
{
	for (uint32_t i = 0; i < look->nr_findings; i++)
		if (strcmp(look->findings[i].name, name) == 0)
			return true;
	return false;
}

/* Sums of the whole run say nothing of the last seconds. */
static int add_cause(const struct late *late, struct watch_finding *finding)
{
	char text[STRAGGLER_TEXT_SIZE];
	uint32_t i = 0;

	while (i < late->nr_causes &&
	       (late->causes[i].extent == STRAGGLER_RUN || late->causes[i].effect))
		i++;
	if (i == late->nr_causes)
		return 0;
	finding->cause_share = late->causes[i].share;
	finding->cause = strdup(straggler_text_cause(&late->causes[i], text, sizeof(text)));
	return finding->cause ? 0 : -ENOMEM;
}

static int add_finding(struct looking *looking, const struct late *late, const char *name)
{
	const struct straggler_subject *found = late->found;
	const uint64_t used = late->on->fold->used;
	const bool stall = found->ground == STRAGGLER_STALL;
	const bool is_over = (double)found->lump_to <= (1 - STALL_OPEN_SHARE) * (double)used;
	const uint64_t waited_ns =
		(stall ? found->lump_ns : found->others_ns) / (late->on->fold->nr_members - 1);
	char text[STRAGGLER_TEXT_SIZE] = "";

	if (is_found(looking->look, name) || (stall && looking->is_second) ||
	    (found->ground == STRAGGLER_PHASE && is_over))
		return 0;
	describe(text, sizeof(text), late, waited_ns);
	struct watch_finding finding = {
		.name = strdup(name),
		.text = strdup(text),
		.communicator = strdup(late->on->name),
		.key = late->on->fold->key,
		.is_group = late->nr_members > 1,
		.ground = found->ground,
		.used = used,
		.last = found->last,
		.waited_ns = waited_ns,
		.share = found->share,
		.is_over = stall && is_over,
	};
	int error = finding.name && finding.text && finding.communicator
			    ? add_ranks(looking, late, &finding)
			    : -ENOMEM;

	if (!error)
		error = add_cause(late, &finding);
	if (!error)
		error = measure(looking, late, &finding);
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

/* Returns whether all ranks of a communicator are of pipelines, and of several stages. */
static bool has_stages(const struct looking *looking,
		       const struct report_straggler_communicator *on)
{
	const uint32_t first = stage_of(looking->stages, on->fold->members[0].process);
	bool several = false;

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
	const struct late late = {&looking->straggler->communicators[group->communicator],
				  &group->group->found,
				  group->group->members,
				  group->group->nr_members,
				  group->causes,
				  group->nr_causes};
	char name[STRAGGLER_TEXT_SIZE] = "";

	text_line_append(name, sizeof(name), "%s (", group->name);
	straggler_text_ranks(name, sizeof(name), looking->straggler, group);
	text_line_append(name, sizeof(name), ")");
	return add_finding(looking, &late, name);
}

static int add_rank(struct looking *looking, const struct report_straggler_rank *rank)
{
	const struct report_straggler_communicator *on =
		&looking->straggler->communicators[rank->communicator];
	const struct late late = {on,
				  &on->members[rank->member].found,
				  &rank->member,
				  1,
				  rank->causes,
				  rank->nr_causes};
	char name[STRAGGLER_TEXT_SIZE] = "";

	straggler_text_rank(name, sizeof(name), rank);
	return add_finding(looking, &late, name);
}

static int add_link(struct looking *looking, const struct straggler_link *link)
{
	const struct collective_fold *fold = link->fold;
	const char *communicator = communicator_names_of(looking->straggler->names, fold->key);
	char name[STRAGGLER_TEXT_SIZE] = "", text[STRAGGLER_TEXT_SIZE] = "";

	text_line_append(name, sizeof(name), "link of %s", communicator);
	straggler_text_link(text, sizeof(text), link);
	if (is_found(looking->look, name))
		return 0;
	struct watch_finding finding = {
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

/* *is_long: the window is longer than its time. */
static int look_through(const struct matter *matter, const struct watch_window *window,
			struct watch_look *look, bool is_second, bool *is_long)
{
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

		look->newest = chosen.newest;
		error = report_straggler_create(profile, matter->store_path, NULL, chosen.folds,
						WATCH_LOOK_LOOKS, &straggler);
		looking.straggler = straggler;
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

int watch_look_make(const struct profile_recent *recent, const struct profile *profile,
		    const char *store_path, struct watch_look *look)
{
	static const struct watch_window usual = {WATCH_LOOK_NS, WATCH_LOOK_LEAST};
	static const struct watch_window few = {0, WATCH_LOOK_FEW};
	struct matter matter = {.recent = recent, .profile = profile, .store_path = store_path};
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
		status = watch_look_make(&recent, NULL, NULL, look);
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
