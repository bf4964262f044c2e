#include "step_words.h"

#include <inttypes.h>
#include <string.h>

#include "aggregator/profile/roster.h"
#include "report/model/report_summary.h"
#include "report/names/source_name.h"
#include "report/names/text_line.h"

#define TIME_SIZE 32u

static void append_rank(const struct steps_view *view, uint32_t sum, char *line, size_t size)
{
	const struct roster_process *process =
		roster_process(view->profile->collection->roster, view->sums->sums[sum].process_id);

	if (process->rank >= 0)
		text_line_append(line, size, "rank %" PRId32, process->rank);
	else
		text_line_append(line, size, "process %" PRIu32, process->identity.pid);
}

/* "save_state()", "train.py:save:12" */
static void append_function(const struct steps_view *view, const char *before, uint32_t text,
			    char *line, size_t size)
{
	const char *name = report_names_get(view->names, text);

	text_line_append(line, size, "%s%s%s", before, name,
			 strchr(name, '(') || source_name_has_line(name) ? "" : "()");
}

static void append_place(const struct steps_view *view, const struct step_place *place, char *line,
			 size_t size)
{
	char time[TIME_SIZE];

	if (place->within) {
		append_function(view, ", in ", place->within, line, size);
		text_line_append(line, size, " (%s by samples)",
				 report_summary_time(place->within_ns, time));
	} else if (place->before && place->before == place->after) {
		append_function(view, ", between two launches in ", place->before, line, size);
	} else if (place->before && place->after) {
		append_function(view, ", between launches in ", place->before, line, size);
		append_function(view, " and ", place->after, line, size);
	} else if (place->after) {
		append_function(view, ", before a launch in ", place->after, line, size);
	}
}

/* The options that show it. */
static void append_time(const struct steps_view *view, const struct step_row *row, char *line,
			size_t size)
{
	text_line_append(line, size, "; --from %" PRIu64 "ns --to %" PRIu64 "ns shows it",
			 row->begin_ns - view->first_ns, row->end_ns - view->first_ns);
}

const char *step_words_outlier(const struct steps_view *view, uint32_t outlier, char *line,
			       size_t size)
{
	const struct step_outlier *found = &view->findings->outliers[outlier];
	const struct step_sum *sum = &view->sums->sums[found->sum];
	char more[TIME_SIZE], median[TIME_SIZE];

	*line = '\0';
	text_line_append(line, size, "step %" PRIu32 " took %s longer than the median of %s: ",
			 view->rows->rows[found->row].number,
			 report_summary_time(found->more_ns, more),
			 report_summary_time(sum->median_ns, median));
	append_rank(view, found->sum, line, size);
	text_line_append(line, size, " had %s more %s",
			 report_summary_time(found->part_more_ns, more),
			 step_rows_words(found->part));
	if (found->earlier_more_ns && found->earlier_more_ns >= found->part_more_ns / 2)
		text_line_append(line, size, ", of which %s was launched before the step began",
				 report_summary_time(found->earlier_more_ns, more));
	append_place(view, &view->places->places[outlier], line, size);
	if (found->nr_ranks > 1)
		text_line_append(line, size, "; the step was slow on %" PRIu32 " ranks",
				 found->nr_ranks);
	if (view->has_ranges)
		append_time(view, &view->rows->rows[found->row], line, size);
	return line;
}

const char *step_words_trend(const struct steps_view *view, uint32_t trend, char *line, size_t size)
{
	const struct step_trend *found = &view->findings->trends[trend];
	const double change =
		100 * ((double)found->end_ns - (double)found->begin_ns) / (double)found->begin_ns;
	char begin[TIME_SIZE], end[TIME_SIZE];

	*line = '\0';
	text_line_append(line, size, "the steps of ");
	append_rank(view, found->sum, line, size);
	text_line_append(
		line, size, " get %s: from %s to %s over the run (%+.1f %%), mostly %s",
		change > 0 ? "slower" : "faster", report_summary_time(found->begin_ns, begin),
		report_summary_time(found->end_ns, end), change, step_rows_words(found->part));
	return line;
}
