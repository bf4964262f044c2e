#include "step_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/roster.h"
#include "report/statistics/outlier.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_rank(const void *a, const void *b, void *roster)
{
	const struct step_sum *left = a, *right = b;
	/* -1 becomes the largest */
	const uint32_t left_rank = (uint32_t)roster_process(roster, left->process_id)->rank;
	const uint32_t right_rank = (uint32_t)roster_process(roster, right->process_id)->rank;
	const int order = COMPARE(left_rank, right_rank);

	return order ? order : COMPARE(left->process_id, right->process_id);
}

/* values has room for all rows of the sum. */
static void fill(struct step_sum *sum, const struct step_row *rows, uint64_t *values)
{
	uint32_t nr = 0;

	for (uint32_t i = sum->first; i < sum->end; i++) {
		if (!step_sums_counts(sum, &rows[i]))
			continue;
		values[nr] = rows[i].end_ns - rows[i].begin_ns;
		sum->sum_ns += values[nr++];
		for (uint32_t part = 0; part < STEP_PARTS; part++)
			sum->parts_ns[part] += rows[i].parts_ns[part];
	}
	sum->nr_steps = nr;
	sum->median_ns = outlier_median(values, nr); /* brings them into order */
	sum->least_ns = values[0];
	sum->most_ns = values[nr - 1];
	sum->p99_ns = values[(nr * 99ull + 99) / 100 - 1];
	for (uint32_t part = 0; part < STEP_PARTS; part++) {
		nr = 0;
		for (uint32_t i = sum->first; i < sum->end; i++)
			if (step_sums_counts(sum, &rows[i]))
				values[nr++] = rows[i].parts_ns[part];
		sum->part_medians_ns[part] = outlier_median(values, nr);
	}
	for (uint32_t part = 0; part < STEP_WORK_PARTS; part++) {
		nr = 0;
		for (uint32_t i = sum->first; i < sum->end; i++)
			if (step_sums_counts(sum, &rows[i]))
				values[nr++] = rows[i].earlier_ns[part];
		sum->earlier_medians_ns[part] = outlier_median(values, nr);
	}
}

int step_sums_init(struct step_sums *sums, const struct step_rows *rows,
		   const struct profile *profile)
{
	uint64_t *values = malloc((rows->nr_rows + 1ull) * sizeof(*values));
	uint32_t nr_processes = 0;

	for (uint32_t i = 0; i < rows->nr_rows; i++)
		nr_processes += !i || rows->rows[i].process_id != rows->rows[i - 1].process_id;
	*sums = (struct step_sums){.sums = calloc(nr_processes + 1ull, sizeof(*sums->sums))};
	if (!values || !sums->sums) {
		free(values);
		return -ENOMEM;
	}
	for (uint32_t i = 0, end; i < rows->nr_rows; i = end) {
		struct step_sum *sum = &sums->sums[sums->nr_sums++];

		*sum = (struct step_sum){.process_id = rows->rows[i].process_id, .first = i};
		for (end = i; end < rows->nr_rows && rows->rows[end].process_id == sum->process_id;
		     end++)
			sum->has_first |= rows->rows[end].is_first;
		sum->end = end;
		sum->has_first &= end - i > 1;
		fill(sum, rows->rows, values);
	}
	free(values);
	if (sums->nr_sums)
		qsort_r(sums->sums, sums->nr_sums, sizeof(*sums->sums), by_rank,
			profile->collection->roster);
	return 0;
}

void step_sums_fini(struct step_sums *sums)
{
	free(sums->sums);
	*sums = (struct step_sums){0};
}
