#include "output_files.h"

#include <errno.h>
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

int output_files_write(const struct output_dir *output, char *summary, size_t summary_size,
		       char **error)
{
	struct report_view view;
	char store_path[PATH_MAX];
	int result = output_dir_file(output, OUTPUT_STORE, store_path);

	*error = NULL;
	if (result < 0)
		return result;
	result = report_view_open(&view, store_path, DEMANGLE_FULL, error);
	if (result == 0) {
		report_summary_line(view.tree, summary, summary_size);
		result = write_file(output, OUTPUT_FOLDED, &view, REPORT_FOLDED, error);
	}
	if (result == 0)
		result = write_file(output, OUTPUT_HTML, &view, REPORT_HTML, error);
	report_view_close(&view);
	return result;
}
