#include "late_judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/model/report_ranks.h"
#include "report/writers/ranks_writer.h"
#include "report/writers/straggler/straggler_text.h"
#include "tests/report/straggler/straggler_fixture.h"

/* The plant that makes a rank late; NULL: none does. */
static const struct late_plant *plant_of(const struct late_job *job, int32_t rank)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct late_plant *plant = &job->plants[i];

		if (plant->cause != LATE_NOTHING && (uint32_t)rank >= plant->first &&
		    (uint32_t)rank <= plant->last)
			return plant;
	}
	return NULL;
}

static bool is_cause(const struct late_plant *plant, const struct straggler_cause *causes,
		     uint32_t nr_causes)
{
	char text[STRAGGLER_TEXT_SIZE];

	/* Of a slower GPU one kernel may show it alone. */
	if (plant && plant->cause == LATE_GPU && nr_causes > 0 && causes[0].kernels > 1)
		return causes[0].kernels == causes[0].of_kernels;
	return plant && nr_causes > 0 &&
	       strcmp(straggler_text_cause(&causes[0], text, sizeof(text)),
		      late_job_words(plant->cause)) == 0;
}

/* Notes the ranks of groups and those that are named by themselves, and whether their causes are right. */
static void take_named(const struct late_job *job, const struct report_straggler *report,
		       bool *named, struct late_found *found)
{
	found->cause = true;
	for (uint32_t i = 0; i < report->nr_named; i++) {
		const struct report_straggler_rank *rank = &report->ranks[i];

		named[rank->rank] = true;
		found->cause &= is_cause(plant_of(job, rank->rank), rank->causes, rank->nr_causes);
	}
	for (uint32_t i = 0; i < report->nr_groups; i++) {
		const struct report_straggler_group *group = &report->groups[i];
		const struct report_straggler_communicator *of =
			&report->communicators[group->communicator];
		int32_t rank = -1;

		for (uint32_t j = 0; j < group->group->nr_members; j++) {
			rank = report->ranks[of->members[group->group->members[j]].of_rank].rank;
			named[rank] = true;
		}
		found->cause &= is_cause(plant_of(job, rank), group->causes, group->nr_causes);
	}
}

/* A slow link is named by its communicator. Its ranks may be named as late, because they are. */
static void judge_link(const struct late_job *job, const struct report_straggler *report,
		       struct late_found *found)
{
	const uint64_t key = LATE_JOB_PAIRS_KEY + job->plants[0].first / 2;

	found->subject = report->nr_links == 1 && report->links[0].fold->key == key;
	found->cause = found->subject;
	for (uint32_t i = 0; i < report->nr_links; i++)
		found->innocent |= report->links[i].fold->key != key;
}

/* Groups that the line tells by themselves. */
static uint32_t count_told(const struct report_straggler *report)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < report->nr_groups; i++)
		count += !report->groups[i].joined;
	return count;
}

static void judge_straggler(const struct late_job *job, struct late_found *found)
{
	struct report_straggler *report = job_straggler();
	bool *named = calloc(job->ranks, sizeof(*named));
	const struct late_plant *plant = &job->plants[0];

	straggler_text_line(report, found->line, sizeof(found->line));
	take_named(job, report, named, found);
	found->subject = true;
	for (uint32_t i = 0; i < job->ranks; i++) {
		found->innocent |= named[i] && !plant_of(job, (int32_t)i);
		found->subject &= named[i] == (plant_of(job, (int32_t)i) != NULL);
	}
	if (plant->cause != LATE_NOTHING && plant->last >= plant->first + 2)
		found->subject &= count_told(report) == 1 && report->nr_named == 0;
	if (plant->cause == LATE_LINK)
		judge_link(job, report, found);
	else
		found->innocent |= report->nr_links > 0;
	found->subject &= !found->innocent;
	found->cause &= found->subject;
	free(named);
	report_straggler_destroy(report);
}

static void judge_ranks(const struct late_job *job, struct late_found *found)
{
	struct profile *profile = job_profile();
	struct report_ranks *ranks;
	bool *marked = calloc(job->ranks, sizeof(*marked));

	assert_int_equal(report_ranks_create(profile, &ranks), 0);
	for (uint32_t i = 0; i < ranks->nr_rows; i++)
		marked[ranks->rows[i].rank] |= ranks->rows[i].outliers != 0;
	ranks_writer_line(ranks, found->ranks_line, sizeof(found->ranks_line));
	found->marked = true;
	for (uint32_t i = 0; i < job->ranks; i++) {
		const struct late_plant *plant = plant_of(job, (int32_t)i);

		found->marked &= marked[i] || !plant;
		found->marked_innocent |= marked[i] && !plant;
	}
	free(marked);
	report_ranks_destroy(ranks);
	profile_destroy(profile);
}

static const char *kept_folder;

void late_judge_keep(const char *folder)
{
	kept_folder = folder;
}

void late_judge_keep_job(uint64_t seed)
{
	static char path[512];

	if (!kept_folder)
		return;
	snprintf(path, sizeof(path), "%s/%" PRIu64 ".db", kept_folder, seed);
	job_keep(path);
}

void late_judge(const struct late_job *job, struct late_found *found)
{
	void *state = NULL;

	*found = (struct late_found){0};
	job_set_up(&state);
	late_job_play(job);
	judge_straggler(job, found);
	judge_ranks(job, found);
	if (!found->cause || found->innocent || found->marked_innocent)
		late_judge_keep_job(job->seed);
	job_tear_down(&state);
}
