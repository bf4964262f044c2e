#include "timeline_make_page.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/base/verbs.h"
#include "cli/timeline_losses.h"
#include "report/profile/merged_dir.h"
#include "report/view/report_subject.h"

/* 0 or -errno with *error. */
static int write_page(const char *store_path, const char *output_path, char **error)
{
	const struct report_request request = {.format = REPORT_HTML};
	struct report_options options = {0};
	struct report_view view;

	report_subject_bound(&request, &options);
	int result = report_view_open(&view, store_path, &options, error);
	if (result == 0)
		result = report_view_find(&view, error);
	if (result == 0)
		result = report_subject_read(&view, report_subject_needs(&request), error);
	if (result == 0)
		result = report_subject_save(&view, output_path, &request, error);
	report_view_close(&view);
	return result;
}

int timeline_make_page(const struct profile_slice *slice, const char *output_path)
{
	struct profile_slice_counts counts = {0};
	struct merged_dir dir;
	char store[PATH_MAX], *error = NULL;
	int result = merged_dir_create(&dir, &error);

	if (result == 0 &&
	    snprintf(store, sizeof(store), "%s/" MERGED_DIR_FILE, dir.path) >= (int)sizeof(store))
		result = -ENAMETOOLONG;
	if (result == 0)
		result = profile_slice_write(slice, store, &counts, &error);
	if (result == 0)
		result = write_page(store, output_path, &error);
	merged_dir_remove(&dir);
	if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	if (result < 0)
		return EXIT_FAILED;
	log_notice("the page of %" PRIu64 " piece%s of GPU work", counts.nr_work,
		   counts.nr_work == 1 ? "" : "s");
	return timeline_losses_say(&counts.read, counts.nr_launchless) ? EXIT_LOSS : EXIT_OK;
}
