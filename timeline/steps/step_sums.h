/* What the steps of each process took, together. The first step of a process counts only if it has no other, because it
 * warms up. Pure; used by one thread. */
#ifndef STEP_SUMS_H
#define STEP_SUMS_H

#include "step_rows.h"

#include "report/profile/profile.h"

struct step_sum {
	uint32_t process_id;
	uint32_t first, end; /* its rows: [first, end) of step_rows */
	uint32_t nr_steps;   /* that count, as in all below */
	uint64_t sum_ns, median_ns, p99_ns, least_ns, most_ns;
	uint64_t parts_ns[STEP_PARTS], part_medians_ns[STEP_PARTS];
	uint64_t earlier_medians_ns[STEP_WORK_PARTS]; /* of a step's earlier_ns */
	bool has_first; /* the first step is in [first, end), but does not count */
};

struct step_sums {
	struct step_sum *sums; /* owns; by rank, those without rank last, then by process */
	uint32_t nr_sums;
};

/* 0 or -ENOMEM. Call step_sums_fini() in any case. */
int step_sums_init(struct step_sums *sums, const struct step_rows *rows,
		   const struct profile *profile);
void step_sums_fini(struct step_sums *sums);

/* Returns whether a row of the sum counts. */
static inline bool step_sums_counts(const struct step_sum *sum, const struct step_row *row)
{
	return !(sum->has_first && row->is_first);
}

#endif
