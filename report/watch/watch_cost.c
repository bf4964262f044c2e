#include "watch_cost.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "watch_onset.h"
#include "watch_pace.h"
#include "watch_replay.h"
#include "watch_steps.h"

#include "report/statistics/robust.h"

#define STEP_MAX_NS 1e15 /* more is no step */
#define AGE_MAX_NS  1e18

struct measuring {
	const struct watch_recent *recent;
	const struct collective_fold *fold;
	const uint32_t *members;
	uint32_t nr_members;
};

/* ---- the communicator's collectives */

static bool is_on(const struct measuring *measuring, uint32_t meeting)
{
	return measuring->recent->keys[measuring->recent->meetings[meeting].communicator] ==
	       measuring->fold->key;
}

/* Returns the index of the communicator's first collective; nr_meetings: there is none. They follow one another. */
static uint32_t first_on(const struct measuring *measuring, uint32_t *count)
{
	uint32_t first = 0, end;

	while (first < measuring->recent->nr_meetings && !is_on(measuring, first))
		first++;
	for (end = first; end < measuring->recent->nr_meetings && is_on(measuring, end); end++)
		;
	*count = end - first;
	return first;
}

static bool *find_late(const struct measuring *measuring, uint32_t nr_ranks)
{
	bool *is_late = calloc(nr_ranks + 1ul, sizeof(*is_late));

	for (uint32_t i = 0; i < measuring->nr_members && is_late; i++)
		is_late[measuring->fold->members[measuring->members[i]].process] = true;
	return is_late;
}

/* ---- since when */

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

/* *onset: the first collective of the steps in which the subject is late; *over: that after the last of them. */
static int find_onset(const struct measuring *measuring, const bool *is_late, uint32_t period,
		      uint32_t *onset, uint32_t *over)
{
	uint32_t count, first = first_on(measuring, &count);
	double *row = calloc(2ul * count + 1, sizeof(*row));
	double *values = calloc(measuring->fold->nr_members + 1ul, sizeof(*values));

	*onset = first;
	*over = first + count;
	for (uint32_t i = 0; i < count && row && values; i++)
		row[i] = lateness(measuring->recent, &measuring->recent->meetings[first + i],
				  is_late, values);
	if (row && values) {
		uint32_t before;
		const uint32_t steps = add_steps(row, count, period, &before);
		const uint32_t step = watch_onset_find(row, steps);

		*onset = step ? first + before + step * period : first;
		*over = first + before + watch_onset_over(row, steps, step, row + count) * period;
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
static int replay(const struct measuring *measuring, uint32_t onset, const bool *is_late,
		  uint32_t nr_ranks, uint32_t period, struct watch_step *step)
{
	const struct watch_recent *recent = measuring->recent;
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

static bool has_process(const struct watch_recent *recent, const struct watch_meeting *meeting,
			uint32_t process)
{
	for (uint32_t i = 0; i < meeting->nr_visits; i++)
		if (recent->visits[meeting->first_visit + i].rank == process)
			return true;
	return false;
}

/* Sets the step that was seen since the onset, where it cannot be computed without the cause: the longest of those of
 * the communicators that have the first of the late ranks. */
static int see_step(const struct measuring *measuring, struct watch_finding *finding)
{
	const struct watch_recent *recent = measuring->recent;
	const uint32_t process = measuring->fold->members[measuring->members[0]].process;

	for (uint32_t first = 0, end; first < recent->nr_meetings; first = end) {
		struct watch_pace pace;

		end = watch_pace_end(recent, first);
		if (!has_process(recent, &recent->meetings[first], process))
			continue;
		const uint64_t newest_ns = recent->called_ns[end - 1];
		if (watch_pace_since(recent, first, end,
				     newest_ns > finding->age_ns ? newest_ns - finding->age_ns : 0,
				     &pace))
			return -ENOMEM;
		if (pace.step_ns <= finding->step.now_ns)
			continue;
		finding->step = (struct watch_step){pace.collectives, pace.step_ns, 0, false};
		finding->key = pace.key;
	}
	return 0;
}

static int measure(const struct measuring *measuring, bool is_stall, struct watch_finding *finding)
{
	const struct watch_recent *recent = measuring->recent;
	bool *is_late = find_late(measuring, recent->nr_ranks);
	uint32_t count, onset = 0, over = 0, period = 0;
	const uint32_t first = first_on(measuring, &count), end = first + count;
	int error = is_late ? watch_steps_find(recent, first, end, &period) : -ENOMEM;

	if (!error)
		error = find_onset(measuring, is_late, period ? period : 1, &onset, &over);
	if (!error && count) {
		finding->age_ns = recent->called_ns[end - 1] - recent->called_ns[onset];
		finding->over_ns = over < end && over > first ? recent->called_ns[end - 1] -
									recent->called_ns[over - 1]
							      : 0;
	}
	/* A stall is no part of a usual step. */
	if (!error && count && !recent->others && !is_stall)
		error = replay(measuring, onset, is_late, recent->nr_ranks, period, &finding->step);
	free(is_late);
	return error;
}

/* The stretches of a pipeline's time are equally long, and exchanges of all ranks are about that. */
static int measure_stretches(const struct watch_cost_subject *subject,
			     struct watch_finding *finding)
{
	const struct collective_fold *fold = subject->on->fold;
	const uint32_t count = collective_fold_buckets(fold);
	double *row = calloc(2ul * count + 1, sizeof(*row));

	if (!row)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < subject->nr_members; j++)
			row[i] +=
				(double)fold->members[subject->members[j]].buckets[i].late_twice_ns;
	const uint32_t onset = watch_onset_find(row, count);
	const uint32_t over = watch_onset_over(row, count, onset, row + count);
	const double each_ns = count ? (double)subject->on->span_ns / count : 0;
	finding->age_ns = (uint64_t)fmin(each_ns * (count - onset), AGE_MAX_NS);
	finding->over_ns = (uint64_t)fmin(each_ns * (count - over), AGE_MAX_NS);
	free(row);
	return 0;
}

int watch_cost_measure(const struct watch_recent *recent, const struct watch_cost_subject *subject,
		       struct watch_finding *finding)
{
	const struct measuring measuring = {recent, subject->on->fold, subject->members,
					    subject->nr_members};

	uint32_t count;

	first_on(&measuring, &count);
	const bool is_stall = finding->ground == STRAGGLER_STALL;
	int error = subject->on->is_pipeline || !count ? measure_stretches(subject, finding)
						       : measure(&measuring, is_stall, finding);
	if (!error && !finding->step.now_ns && !is_stall)
		error = see_step(&measuring, finding);
	return error;
}
