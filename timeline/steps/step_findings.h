/* Steps that took longer than the others of their rank, and ranks whose steps change over the run. Pure; used by one
 * thread. */
#ifndef STEP_FINDINGS_H
#define STEP_FINDINGS_H

#include "step_sums.h"
#include "step_trend.h"

/* A step that stands out in some ranks (outlier.h), told by one of them: that whose own work, copies and idle time took
 * most more than usual. The others may have waited for it. */
struct step_outlier {
	uint32_t row, sum;   /* indexes */
	uint32_t nr_ranks;   /* in which the step stands out */
	uint64_t more_ns;    /* than the median of the rank's steps */
	enum step_part part; /* that took most more than its median */
	uint64_t part_more_ns;
	/* What of that was launched before the step began, in which the step says nothing of its own launches. At
	 * most part_more_ns. */
	uint64_t earlier_more_ns;
};

struct step_findings {
	struct step_outlier *outliers; /* owns; the slowest first */
	struct step_trend *trends;     /* owns; in the order of sums */
	uint32_t nr_outliers, nr_trends;
	bool has_trends; /* some rank has enough steps to tell */
};

/* 0 or -ENOMEM. Call step_findings_fini() in any case. */
int step_findings_init(struct step_findings *findings, const struct step_rows *rows,
		       const struct step_sums *sums);
void step_findings_fini(struct step_findings *findings);

#endif
