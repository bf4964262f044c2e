#include "step_findings.h"

#include <errno.h>
#include <stdlib.h>

#include "step_trend.h"

#include "report/statistics/outlier.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct finder {
	struct step_findings *found;
	const struct step_rows *rows;
	uint64_t *values;  /* owns, as all below; of the steps of a sum that count */
	uint32_t *indexes; /* their rows */
	bool *out;
};

/* ---- outliers */

/* What a step took more than usual of what is the rank's own, and not a wait for others. */
static uint64_t own_more(const struct step_row *row, const struct step_sum *sum)
{
	static const enum step_part parts[] = {STEP_COMPUTE, STEP_GRAPHS, STEP_COPIES,
					       STEP_IDLE_LAUNCHES, STEP_IDLE_HOST};
	uint64_t more_ns = 0;

	for (uint32_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (row->parts_ns[parts[i]] > sum->part_medians_ns[parts[i]])
			more_ns += row->parts_ns[parts[i]] - sum->part_medians_ns[parts[i]];
	return more_ns;
}

static struct step_outlier make_outlier(const struct step_row *row, const struct step_sum *sum)
{
	struct step_outlier made = {.nr_ranks = 1,
				    .more_ns = row->end_ns - row->begin_ns - sum->median_ns};

	for (uint32_t part = 0; part < STEP_PARTS; part++) {
		const uint64_t ns = row->parts_ns[part], median_ns = sum->part_medians_ns[part];

		if (ns > median_ns && ns - median_ns > made.part_more_ns) {
			made.part = (enum step_part)part;
			made.part_more_ns = ns - median_ns;
		}
	}
	if (made.part < STEP_WORK_PARTS &&
	    row->earlier_ns[made.part] > sum->earlier_medians_ns[made.part])
		made.earlier_more_ns =
			row->earlier_ns[made.part] - sum->earlier_medians_ns[made.part];
	if (made.earlier_more_ns > made.part_more_ns)
		made.earlier_more_ns = made.part_more_ns;
	return made;
}

/* Adds the slow ones of the nr steps. 0 or -ENOMEM. */
static int add_outliers(struct finder *finder, const struct step_sum *sum, uint32_t index,
			uint32_t nr)
{
	struct step_findings *found = finder->found;
	uint64_t median_ns;
	int error = outlier_find(finder->values, nr, 0, finder->out, &median_ns);

	for (uint32_t i = 0; i < nr && !error; i++) {
		const uint32_t row = finder->indexes[i];

		if (!finder->out[i] || finder->values[i] <= median_ns)
			continue;
		struct step_outlier made = make_outlier(&finder->rows->rows[row], sum);

		made.row = row;
		made.sum = index;
		found->outliers[found->nr_outliers++] = made;
	}
	return error;
}

struct order {
	const struct step_rows *rows;
	const struct step_sums *sums;
};

static int by_number(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct step_outlier *left = a, *right = b;
	const struct step_row *x = &order->rows->rows[left->row],
			      *y = &order->rows->rows[right->row];

	if (x->number != y->number)
		return COMPARE(x->number, y->number);
	return x->begin_ns != y->begin_ns ? COMPARE(x->begin_ns, y->begin_ns)
					  : COMPARE(left->sum, right->sum);
}

static int by_more(const void *a, const void *b)
{
	const struct step_outlier *left = a, *right = b;

	return left->more_ns != right->more_ns ? COMPARE(right->more_ns, left->more_ns)
					       : COMPARE(left->row, right->row);
}

/* Returns the end of the outliers from first on that are of one step: they have its number, and overlap in time, which
 * those of other jobs do not. *chosen: the one whose own time took most more. */
static uint32_t find_step(const struct step_findings *found, const struct order *order,
			  uint32_t first, uint32_t *chosen)
{
	const struct step_row *rows = order->rows->rows;
	uint64_t end_ns = rows[found->outliers[first].row].end_ns, most_ns = 0;
	uint32_t i;

	*chosen = first;
	for (i = first; i < found->nr_outliers; i++) {
		const struct step_row *row = &rows[found->outliers[i].row];
		const uint64_t ns = own_more(row, &order->sums->sums[found->outliers[i].sum]);

		if (row->number != rows[found->outliers[first].row].number ||
		    row->begin_ns >= end_ns)
			break;
		end_ns = row->end_ns > end_ns ? row->end_ns : end_ns;
		if (ns > most_ns) {
			most_ns = ns;
			*chosen = i;
		}
	}
	return i;
}

/* Leaves one rank for each step. */
static void merge_ranks(struct step_findings *found, const struct order *order)
{
	uint32_t kept = 0, chosen;

	if (!found->nr_outliers)
		return;
	qsort_r(found->outliers, found->nr_outliers, sizeof(*found->outliers), by_number,
		(void *)order);
	for (uint32_t i = 0, end; i < found->nr_outliers; i = end) {
		end = find_step(found, order, i, &chosen);
		found->outliers[kept] = found->outliers[chosen];
		found->outliers[kept++].nr_ranks = end - i;
	}
	found->nr_outliers = kept;
	qsort(found->outliers, kept, sizeof(*found->outliers), by_more);
}

/* ---- all */

static int look(struct finder *finder, const struct step_sum *sum, uint32_t index)
{
	struct step_findings *found = finder->found;
	uint32_t nr = 0;

	for (uint32_t i = sum->first; i < sum->end; i++) {
		const struct step_row *row = &finder->rows->rows[i];

		if (!step_sums_counts(sum, row))
			continue;
		finder->indexes[nr] = i;
		finder->values[nr++] = row->end_ns - row->begin_ns;
	}
	int error = add_outliers(finder, sum, index, nr);
	if (error || nr < STEP_TREND_STEPS)
		return error;
	found->has_trends = true;
	found->trends[found->nr_trends].sum = index;
	found->nr_trends += step_trend_find(finder->rows, finder->indexes, nr,
					    &found->trends[found->nr_trends]);
	return 0;
}

int step_findings_init(struct step_findings *findings, const struct step_rows *rows,
		       const struct step_sums *sums)
{
	struct finder finder = {
		.found = findings,
		.rows = rows,
		.values = malloc((rows->nr_rows + 1ull) * sizeof(*finder.values)),
		.indexes = malloc((rows->nr_rows + 1ull) * sizeof(*finder.indexes)),
		.out = malloc((rows->nr_rows + 1ull) * sizeof(*finder.out)),
	};
	const struct order order = {rows, sums};
	int error = -ENOMEM;

	*findings = (struct step_findings){
		.outliers = malloc((rows->nr_rows + 1ull) * sizeof(*findings->outliers)),
		.trends = malloc((sums->nr_sums + 1ull) * sizeof(*findings->trends)),
	};
	if (finder.values && finder.indexes && finder.out && findings->outliers && findings->trends)
		error = 0;
	for (uint32_t i = 0; i < sums->nr_sums && !error; i++)
		error = look(&finder, &sums->sums[i], i);
	if (!error)
		merge_ranks(findings, &order);
	free(finder.values);
	free(finder.indexes);
	free(finder.out);
	return error;
}

void step_findings_fini(struct step_findings *findings)
{
	free(findings->outliers);
	free(findings->trends);
	*findings = (struct step_findings){0};
}
