#include "output_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report_summary.h"
#include "report_view.h"

static int write_file(const struct output_dir *output, const char *name,
		      const struct report_view *view, enum report_format format, char **error)
{
	const struct report_view_options options = {.format = format};
	char path[PATH_MAX];
	int result = output_dir_file(output, name, path);
	FILE *file = result == 0 ? fopen(path, "we") : NULL;

	if (result == 0 && !file)
		result = -errno;
	if (result == 0) {
		result = report_view_write(view, file, &options);
		if (fclose(file) != 0 && result == 0)
			result = -errno;
	}
	if (result < 0 && asprintf(error, "%s/%s: %s", output->path, name, strerror(-result)) < 0)
		*error = NULL;
	return result;
}

/* NULL: out of memory. */
static char *make_summary(const struct output_dir *output, const struct report_tree *tree,
			  bool has_calls)
{
	char line[REPORT_SUMMARY_SIZE], *text;

	if (asprintf(&text,
		     "flamegrid: %s; %s/{" OUTPUT_STORE "," OUTPUT_FOLDED "," OUTPUT_HTML "%s}\n",
		     report_summary_line(tree, line, sizeof(line)), output->path,
		     has_calls ? "," OUTPUT_API : "") < 0)
		return NULL;
	return text;
}

int output_files_write(const struct output_dir *output, const struct report_options *options,
		       char **summary, char **error)
{
	struct report_view view;
	char store_path[PATH_MAX];
	int result = output_dir_file(output, OUTPUT_STORE, store_path);

	*summary = *error = NULL;
	if (result < 0)
		return result;
	result = report_view_open(&view, store_path, options, error);
	if (result == 0)
		result = write_file(output, OUTPUT_FOLDED, &view, REPORT_FOLDED, error);
	if (result == 0)
		result = write_file(output, OUTPUT_HTML, &view, REPORT_HTML, error);
	if (result == 0 && view.statistics->nr_calls)
		result = write_file(output, OUTPUT_API, &view, REPORT_API, error);
	if (result == 0) {
		*summary = make_summary(output, view.tree, view.statistics->nr_calls > 0);
		result = *summary ? 0 : -ENOMEM;
	}
	report_view_close(&view);
	return result;
}
