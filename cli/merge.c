#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/merge/profile_merge.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_note.h"
#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/progress.h"
#include "cli/base/verbs.h"
#include "cli/run/output_files.h"
#include "options/option_line.h"
#include "report/profile/whole_profile.h"

struct merge {
	const char *output_path;
	struct whole_profile *wholes; /* owns */
	int nr_paths;
};

/* OPTION_LINE_GO; otherwise the exit status. */
static int parse(struct merge *merge, int argc, char **argv)
{
	const struct option_target targets[] = {
		{"output", .text = &merge->output_path, .least = 1}};
	const struct option_table *table = &option_table_merge;
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	if (!merge->output_path)
		return option_line_lacks(table, "--output is missing");
	merge->nr_paths = argc - optind;
	return OPTION_LINE_GO;
}

static int take_paths(struct merge *merge, char **argv, char **error)
{
	char store[PATH_MAX];
	int result = 0;

	merge->wholes = calloc((size_t)merge->nr_paths, sizeof(*merge->wholes));
	for (int i = 0; i < merge->nr_paths && merge->wholes && result == 0; i++)
		result = whole_profile_open(&merge->wholes[i],
					    output_dir_store(argv[optind + i], store), true, error);
	return merge->wholes ? result : -ENOMEM;
}

static void say_what_is_written(const struct merge *merge, char **argv)
{
	for (int i = 0; i < merge->nr_paths; i++)
		if (merge->wholes[i].is_written)
			log_warning(
				"%s is still being written: the merged profile has what is there "
				"now, and is INCOMPLETE; merge it again at its end",
				argv[optind + i]);
}

/* Returns whether the file with this path is of a profile in this directory: the store, or another one beside it. */
static bool is_of_profile(const char *path, const struct stat *directory)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[PATH_MAX];
	struct stat status;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	return strncmp(name, OUTPUT_STORE, strlen(OUTPUT_STORE)) == 0 &&
	       stat(folder, &status) == 0 && status.st_dev == directory->st_dev &&
	       status.st_ino == directory->st_ino;
}

/* An earlier profile in the output directory is moved away before anything is read. */
static bool reads_its_output(const struct merge *merge, char **argv)
{
	char store[PATH_MAX];
	struct stat directory, output = {0}, input;

	if (stat(merge->output_path, &directory))
		return false;
	bool has_store = stat(output_dir_store(merge->output_path, store), &output) == 0;
	for (int i = 0; i < merge->nr_paths; i++) {
		if (is_of_profile(output_dir_store(argv[optind + i], store), &directory))
			return true;
		/* by a link, say */
		if (has_store && stat(merge->wholes[i].path, &input) == 0 &&
		    input.st_dev == output.st_dev && input.st_ino == output.st_ino)
			return true;
	}
	return false;
}

/* Returns whether the merged profile lacks a part. Its summary names that. */
static bool lacks_a_part(const char *store)
{
	struct store_note *notes = NULL;
	struct database *database;
	uint32_t count = 0, nr_parts = 0;
	int error = database_open(store, true, &database, NULL);

	if (!error)
		error = store_note_read(database, &notes, &count);
	database_close(database);
	for (uint32_t i = 0; i < count; i++)
		nr_parts += notes[i].kind != STORE_NOTE_TIMELINE;
	free(notes);
	return error || nr_parts;
}

/* *lacks_part: the merged profile lacks a part. 0 or -errno, after a line. */
static int merge_into_output(const struct merge *merge, bool *lacks_part)
{
	struct merge_source *sources = calloc((size_t)merge->nr_paths, sizeof(*sources));
	struct output_dir output;
	struct progress progress;
	char store[PATH_MAX], *error = NULL;
	int result = sources ? output_dir_open(&output, merge->output_path) : -ENOMEM;

	if (result < 0) {
		free(sources);
		return result;
	}
	progress_start(&progress, "merging");
	result = output_dir_file(&output, OUTPUT_STORE, store);
	for (int i = 0; i < merge->nr_paths; i++)
		sources[i].path = sources[i].timeline_of = merge->wholes[i].path;
	if (result == 0)
		result = profile_merge(sources, (uint32_t)merge->nr_paths, false, store, &error);
	free(sources);
	progress_stop(&progress);
	*lacks_part = result == 0 && lacks_a_part(store);
	return output_files_finish(&output, result, error);
}

int verb_merge(const char *program, int argc, char **argv)
{
	struct merge merge = {0};
	int status = parse(&merge, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	char *error = NULL;
	bool lacks_part = false;
	int result = take_paths(&merge, argv, &error);
	if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	else if (reads_its_output(&merge, argv))
		status = option_line_refuse(&option_table_merge,
					    "%s is a profile to be merged, and the output",
					    merge.output_path);
	else
		result = merge_into_output(&merge, &lacks_part);
	if (status == OPTION_LINE_GO && result >= 0)
		say_what_is_written(&merge, argv);
	for (int i = 0; i < merge.nr_paths && merge.wholes; i++)
		whole_profile_close(&merge.wholes[i]);
	free(merge.wholes);
	free(error);
	if (status != OPTION_LINE_GO)
		return status;
	if (result < 0)
		return EXIT_FAILED;
	return lacks_part ? EXIT_LOSS : EXIT_OK;
}
