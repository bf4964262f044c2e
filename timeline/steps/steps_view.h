/* All that is known of a job's steps, for writers. Plain data. */
#ifndef STEPS_VIEW_H
#define STEPS_VIEW_H

#include "step_findings.h"
#include "step_places.h"
#include "step_rows.h"
#include "step_sums.h"

#include "report/model/report_names.h"
#include "report/profile/profile.h"

struct steps_view {
	const struct profile *profile; /* borrowed, as all here */
	struct report_names *names;
	const struct step_rows *rows;
	const struct step_sums *sums;
	const struct step_findings *findings;
	const struct step_places *places;
	bool has_ranges;   /* the steps are ranges: nothing but their times finds them */
	uint64_t first_ns; /* of the timeline: times count from here */
	const char *lacks; /* what the profile lacks, as a sentence; NULL: nothing */
};

#endif
