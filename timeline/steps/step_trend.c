#include "step_trend.h"

#include <stdlib.h>

#include "report/statistics/drift.h"

#define BIN_STEPS 8u /* at least */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_begin(const void *a, const void *b, void *rows)
{
	const struct step_row *list = rows;
	const struct step_row *left = &list[*(const uint32_t *)a],
			      *right = &list[*(const uint32_t *)b];

	return left->begin_ns != right->begin_ns
		       ? COMPARE(left->begin_ns, right->begin_ns)
		       : COMPARE(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int by_size(const void *a, const void *b)
{
	return COMPARE(*(const double *)a, *(const double *)b);
}

/* Brings the values into order. */
static double median_of(double *values, uint32_t nr)
{
	qsort(values, nr, sizeof(*values), by_size);
	return (values[(nr - 1) / 2] + values[nr / 2]) / 2;
}

/* The median of [first, end), by a sample of at most 1,000 steps at equal distances. */
static double median_of_bin(const struct step_rows *rows, const uint32_t *indexes, uint32_t first,
			    uint32_t end)
{
	double values[1000];
	const uint32_t stride = (end - first + 999) / 1000;
	uint32_t nr = 0;

	for (uint32_t i = first; i < end; i += stride) {
		const struct step_row *row = &rows->rows[indexes[i]];

		values[nr++] = (double)(row->end_ns - row->begin_ns);
	}
	return median_of(values, nr);
}

/* The part that has grown most between the first and the last quarter, or shrunk. */
static enum step_part find_part(const struct step_rows *rows, const uint32_t *indexes, uint32_t nr,
				bool grows)
{
	enum step_part found = STEP_COMPUTE;
	double most = 0;

	for (uint32_t part = 0; part < STEP_PARTS; part++) {
		double change = 0;

		for (uint32_t i = 0; i < nr / 4; i++)
			change += (double)rows->rows[indexes[nr - 1 - i]].parts_ns[part] -
				  (double)rows->rows[indexes[i]].parts_ns[part];
		change = grows ? change : -change;
		if (change > most) {
			most = change;
			found = (enum step_part)part;
		}
	}
	return found;
}

bool step_trend_find(const struct step_rows *rows, uint32_t *indexes, uint32_t nr,
		     struct step_trend *trend)
{
	double medians[DRIFT_MOST];
	const uint32_t nr_bins = nr / BIN_STEPS < DRIFT_MOST ? nr / BIN_STEPS : DRIFT_MOST;
	struct drift drift;

	qsort_r(indexes, nr, sizeof(*indexes), by_begin, rows->rows);
	for (uint32_t i = 0; i < nr_bins; i++)
		medians[i] = median_of_bin(rows, indexes, (uint32_t)((uint64_t)nr * i / nr_bins),
					   (uint32_t)((uint64_t)nr * (i + 1) / nr_bins));
	if (!drift_find(medians, nr_bins, &drift))
		return false;
	trend->begin_ns = (uint64_t)drift.begin;
	trend->end_ns = (uint64_t)drift.end;
	trend->part = find_part(rows, indexes, nr, drift.end > drift.begin);
	return true;
}
