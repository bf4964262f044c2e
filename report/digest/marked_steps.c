#include "marked_steps.h"

#include "report/model/report_summary.h"

#define CUT_LEAST_NS                                                                               \
	60000000000u /* what may be missing at an end without a goodbye is below 1 % of it */

uint64_t marked_steps_window_ns(const struct report_tree *tree, const struct report_busy *busy)
{
	uint64_t sum_ns = 0, nr = 0;

	if (report_summary_has_windows(tree))
		return 0;
	for (uint32_t i = 0; i < busy->nr_rows; i++) {
		const struct report_busy_row *row = &busy->rows[i];

		if (!row->whole_device)
			continue;
		if (row->late || row->is_inexact)
			return 0;
		sum_ns += row->busy_ns + row->idle_ns;
		nr += row->nr_parts;
	}
	return nr && sum_ns > tree->pause_ns ? (sum_ns - tree->pause_ns) / nr : 0;
}

/* Whether a merged profile has a process that marks none: its time on the GPUs is no step's, and nobody knows how long
 * it was. */
static bool has_unmarked_part(const struct report_tree *tree, const struct report_busy *busy,
			      const struct report_statistics *statistics)
{
	bool is_merged = false;

	for (uint32_t i = 0; i < busy->nr_rows; i++)
		is_merged |= busy->rows[i].nr_parts > 1;
	return is_merged && tree->nr_processes > statistics->nr_marking;
}

struct marked_steps marked_steps_of(const struct report_tree *tree, const struct report_busy *busy,
				    const struct report_statistics *statistics)
{
	struct marked_steps steps = {0};

	if (!statistics || !statistics->marked_steps)
		return steps;
	steps.count = statistics->marked_steps;
	steps.least = statistics->least_marked;
	const uint64_t window_ns = busy && !has_unmarked_part(tree, busy, statistics)
					   ? marked_steps_window_ns(tree, busy)
					   : 0;
	if (!statistics->is_marking_cut || window_ns >= CUT_LEAST_NS)
		steps.mean_ns = (uint64_t)((double)window_ns * statistics->nr_marking /
					   (double)statistics->all_marked);
	return steps;
}
