#include "timeline_make_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "event_losses.h"

#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"
#include "cli/run/output_files.h"

/* An earlier profile in the output directory is moved away before anything is read. */
static bool reads_its_output(const char *store_path, const char *output_path)
{
	char store[PATH_MAX];
	struct stat input, output;

	return stat(output_dir_store(output_path, store), &output) == 0 &&
	       stat(store_path, &input) == 0 && input.st_dev == output.st_dev &&
	       input.st_ino == output.st_ino;
}

int timeline_make_profile(const struct profile_slice *slice, const char *output_path)
{
	struct profile_slice_counts counts = {0};
	struct output_dir output;
	char store[PATH_MAX], path[PATH_MAX], *error = NULL;

	if (reads_its_output(slice->store_path, output_path)) {
		log_error("%s: the profile itself, which a part of it must not replace",
			  output_path);
		return EXIT_FAILED;
	}
	int result = output_dir_open(&output, output_path);
	if (result < 0)
		return EXIT_FAILED;
	result = output_dir_file(&output, OUTPUT_STORE, store);
	if (result == 0)
		result = profile_slice_write(slice, store, &counts, &error);
	snprintf(path, sizeof(path), "%s", output.path);
	result = output_files_finish(&output, result, error);
	if (result == -ENODATA)
		return event_losses_say(&counts.read, 0, 0) ? EXIT_LOSS : EXIT_NOTHING;
	if (result < 0)
		return EXIT_FAILED;
	log_notice("%" PRIu64 " piece%s of GPU work in %s", counts.nr_work,
		   counts.nr_work == 1 ? "" : "s", path);
	return event_losses_say(&counts.read, counts.nr_launchless, counts.nr_silent) ? EXIT_LOSS
										      : EXIT_OK;
}
