#include "report_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"
#include "report/profile/profile_collectives.h"
#include "report/writers/clocks_writer.h"
#include "report/writers/collectives_writer.h"
#include "report/writers/csv_writer.h"
#include "report/writers/html/html_writer.h"
#include "report/writers/json_writer.h"
#include "report/writers/ranks_writer.h"
#include "report/writers/sample_writer.h"
#include "report/writers/statistics_writer.h"
#include "report/writers/straggler_writer.h"
#include "report/writers/table_writer.h"
#include "report/writers/text_file.h"

static int explain(int result, const char *store_path, char **error)
{
	return result < 0 ? error_text_set(error, result, "%s: %s", store_path,
					   result == -EPROTO
						   ? "damaged: it names what it does not hold"
						   : strerror(-result))
			  : 0;
}

int report_view_open(struct report_view *view, const char *store_path,
		     const struct report_options *options, char **error)
{
	memset(view, 0, sizeof(*view));
	*error = NULL;
	view->store_path = store_path;
	view->options = options;

	int result = profile_load(store_path, &view->profile, error);
	if (result < 0)
		return result;
	result = report_tree_build(view->profile, options, &view->tree);
	if (result == 0)
		result = report_busy_create(view->profile, &view->busy);
	if (result == 0)
		result = report_ranks_create(view->profile, &view->ranks);
	if (result == 0)
		result = report_clocks_create(view->profile, &view->clocks);
	if (result == 0)
		result = report_statistics_create(view->profile,
						  options ? options->demangle : DEMANGLE_FULL,
						  &view->statistics);
	return explain(result, store_path, error);
}

int report_view_read_collectives(struct report_view *view, const char *store_path,
				 const struct report_options *options, char **error)
{
	struct collective_log *log;
	int result = profile_collectives_load(store_path, &log, error);

	if (result < 0)
		return result;
	result = report_collectives_create(view->profile, log, options, &view->collectives);
	return explain(result, store_path, error);
}

int report_view_read_straggler(struct report_view *view, const char *store_path, char **error)
{
	struct collective_log *log;
	int result = profile_collectives_load(store_path, &log, error);

	if (result < 0)
		return result;
	result = report_straggler_create(view->profile, store_path, log, &view->straggler);
	collective_log_destroy(log);
	return explain(result, store_path, error);
}

int report_view_refine_clocks(struct report_view *view, const char *store_path, char **error)
{
	struct collective_log *log;
	int result = profile_collectives_load(store_path, &log, error);

	if (result < 0)
		return result;
	result = report_clocks_refine(view->clocks, view->profile, log);
	collective_log_destroy(log);
	return explain(result, store_path, error);
}

int report_view_rebuild(struct report_view *view, const struct report_options *options)
{
	report_tree_destroy(view->tree);
	view->options = options;
	return report_tree_build(view->profile, options, &view->tree);
}

void report_view_close(struct report_view *view)
{
	report_straggler_destroy(view->straggler);
	report_collectives_destroy(view->collectives);
	report_statistics_destroy(view->statistics);
	report_clocks_destroy(view->clocks);
	report_ranks_destroy(view->ranks);
	report_busy_destroy(view->busy);
	report_tree_destroy(view->tree);
	profile_destroy(view->profile);
	memset(view, 0, sizeof(*view));
}

static uint32_t html_split(const struct report_by *by)
{
	static const uint32_t bits[REPORT_DIMENSIONS] = {
		[REPORT_BY_HOST] = HTML_SPLIT_HOST,     [REPORT_BY_RANK] = HTML_SPLIT_RANK,
		[REPORT_BY_GPU] = HTML_SPLIT_GPU,       [REPORT_BY_CONTEXT] = HTML_SPLIT_CONTEXT,
		[REPORT_BY_STREAM] = HTML_SPLIT_STREAM, [REPORT_BY_THREAD] = HTML_SPLIT_THREAD,
	};
	uint32_t split = 0;

	for (uint32_t i = 0; i < by->nr_dimensions; i++)
		split |= bits[by->dimensions[i]];
	return split;
}

static int write_html(const struct report_view *view, FILE *out,
		      const struct report_view_options *options)
{
	static const enum html_weight weights[] = {
		[FOLDED_TIME] = HTML_WEIGHT_TIME,
		[FOLDED_COUNT] = HTML_WEIGHT_COUNT,
		[FOLDED_BYTES] = HTML_WEIGHT_BYTES,
	};
	const struct html_options html = {
		.weight = weights[options->folded.weight],
		.split = html_split(&options->folded.by),
		.subtitle = options->subtitle,
	};

	return html_writer_write(out, view->tree, &html);
}

static int write_csv(const struct report_view *view, FILE *out,
		     const struct report_view_options *options)
{
	switch (options->rows) {
	case REPORT_ROWS_ACTIVITIES:
		return csv_writer_write(out, view->tree, &options->folded.by);
	case REPORT_ROWS_CALLS:
		return statistics_writer_csv(out, view->statistics, STATISTICS_ROWS_CALLS);
	case REPORT_ROWS_FAILURES:
		return statistics_writer_csv(out, view->statistics, STATISTICS_ROWS_FAILURES);
	case REPORT_ROWS_CONFIGURATIONS:
		return statistics_writer_csv(out, view->statistics, STATISTICS_ROWS_CONFIGS);
	case REPORT_ROWS_RANKS:
		return ranks_writer_csv(out, view->ranks, view->tree);
	case REPORT_ROWS_COLLECTIVES:
		return view->collectives
			       ? collectives_writer_csv(out, view->collectives, view->tree)
			       : -EINVAL;
	}
	return -EINVAL;
}

static int write_api(const struct report_view *view, FILE *out)
{
	fprintf(out, "%s\n", view->tree->title);
	statistics_writer_calls(out, view->statistics, UINT32_MAX);
	return text_file_flush(out);
}

int report_view_write(const struct report_view *view, FILE *out,
		      const struct report_view_options *options)
{
	const struct table_options table = {.top = options->top, .statistics = view->statistics};

	switch (options->format) {
	case REPORT_FOLDED:
		return folded_writer_write(out, view->tree, &options->folded);
	case REPORT_HTML:
		return write_html(view, out, options);
	case REPORT_TABLE:
		if (view->collectives)
			return collectives_writer_table(out, view->collectives, view->tree,
							options->top);
		return table_writer_write(out, view->tree, view->busy, &table);
	case REPORT_JSON:
		return json_writer_write(out, view->tree, view->busy, view->statistics,
					 view->collectives, &options->folded.by);
	case REPORT_CSV:
		return write_csv(view, out, options);
	case REPORT_SAMPLES:
		return sample_writer_write(out, view->store_path, view->profile, view->options,
					   options->clocks ? view->clocks : NULL);
	case REPORT_API:
		return write_api(view, out);
	case REPORT_RANKS_TABLE:
		return ranks_writer_table(out, view->ranks, view->tree);
	case REPORT_RANKS_JSON:
		return ranks_writer_json(out, view->ranks, view->tree);
	case REPORT_STRAGGLER_TABLE:
		return straggler_writer_table(out, view->straggler, view->tree, options->top);
	case REPORT_STRAGGLER_JSON:
		return straggler_writer_json(out, view->straggler, view->tree);
	case REPORT_STRAGGLER_CSV:
		return straggler_writer_csv(out, view->straggler, view->tree);
	case REPORT_CLOCKS_TABLE:
		return clocks_writer_table(out, view->clocks, view->tree);
	case REPORT_CLOCKS_JSON:
		return clocks_writer_json(out, view->clocks, view->tree);
	case REPORT_CLOCKS_CSV:
		return clocks_writer_csv(out, view->clocks, view->tree);
	}
	return -EINVAL;
}
