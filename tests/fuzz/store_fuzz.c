/* Damaged and forged stores. Byte 0 says which valid store is changed and what reads it, the others how
 * (store_edit.h). What refuses it says why; what takes it writes every report, or rebuilds them in other ways, or
 * is the aggregator, which goes on with it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aggregator/profile/collection.h"
#include "aggregator/store/store.h"
#include "fuzz_file.h"
#include "report/model/report_summary.h"
#include "report/profile/profile.h"
#include "report/profile/profile_collectives.h"
#include "report/top/top_writer.h"
#include "report/view/report_subject.h"
#include "report/watch/watch_causes.h"
#include "report/watch/watch_look.h"
#include "store_edit.h"
#include "store_template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_view(const struct report_view *view, const struct report_request *request)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	report_subject_write(view, out, request);
	fclose(out);
	free(text);
}

static void write_formats(const struct report_view *view)
{
	struct report_request request = {.top = 20, .form.columns = 80};

	if (report_by_parse("host,rank,gpu,context,stream,thread,step-kind", &request.folded.by) !=
	    0)
		abort();
	for (int id = 0; id < REPORT_SUBJECTS; id++)
		for (int format = 0; format < REPORT_FORMATS; format++) {
			request.asked = 1u << id;
			request.format = (enum report_format)format;
			write_view(view, &request);
		}
	request.format = REPORT_SAMPLES;
	request.asked = 1u << REPORT_SUBJECT_SAMPLES | 1u << REPORT_SUBJECT_CLOCKS;
	write_view(view, &request);
}

static void check_error(int result, char **error)
{
	if ((result != 0) != (*error != NULL))
		abort();
	free(*error);
	*error = NULL;
}

static void write_trees(struct report_view *view)
{
	static const struct report_options others[] = {
		{.planes = REPORT_PLANES_ALL, .lines = REPORT_LINES_OFF, .steps = true},
		{.memory = REPORT_MEMORY_PEAK},
		{.memory = REPORT_MEMORY_LIVE},
		{.memory = REPORT_MEMORY_ALLOCS, .demangle = DEMANGLE_SIMPLE},
		{.memory = REPORT_MEMORY_FREES, .demangle = DEMANGLE_NONE},
	};
	const struct report_request html = {.format = REPORT_HTML};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (report_view_rebuild(view, &others[i]) != 0)
			return;
		write_view(view, &(struct report_request){.folded = {.weight = FOLDED_BYTES}});
		if (i == 0)
			write_view(view, &html);
	}
}

static void look(const char *path)
{
	struct watch_look look;
	char *error = NULL;

	check_error(watch_look_read(path, &look, &error), &error);
	watch_look_fini(&look);
	struct watch_event late = {.kind = WATCH_EVENT_LATE, .finding.name = (char *)"rank 0 on "};
	watch_causes_add(path, &late, 1);
	free(late.finding.cause);
}

static void show_top(const char *path)
{
	const struct top_wants all = {.wants = NULL};
	const struct top_facts facts = {.profile = "", .state = "ended"};
	struct profile_sums from;
	struct top_sums *sums = NULL;
	char *text = NULL, *error = NULL;
	size_t size;
	int result = profile_sums_load(path, &from, &error);

	check_error(result, &error);
	if (result == 0 && top_sums_create(&from, &all, &sums) == 0) {
		FILE *out = open_memstream(&text, &size);

		if (!out)
			abort();
		top_sums_follow(sums, sums);
		top_writer_json(out, sums, &facts);
		fclose(out);
		free(text);
	}
	top_sums_destroy(sums);
	profile_sums_fini(&from);
}

static void report(const char *path, enum store_reader reader)
{
	static const struct report_options options;
	struct report_view view;
	char *error = NULL, line[REPORT_SUMMARY_SIZE];
	int result = report_view_open(&view, path, &options, &error);

	check_error(result, &error);
	if (result == 0) {
		report_summary_line(view.tree, line, sizeof(line));
		check_error(report_view_find(&view, &error), &error);
		write_view(&view, &(struct report_request){.format = REPORT_TABLE});
		check_error(report_subject_read(&view, 1u << REPORT_SUBJECT_CLOCKS, &error),
			    &error);
		check_error(report_subject_read(&view, 1u << REPORT_SUBJECT_COLLECTIVES, &error),
			    &error);
		check_error(report_subject_read(&view, 1u << REPORT_SUBJECT_STRAGGLER, &error),
			    &error);
		if (reader == STORE_READER_FORMATS)
			write_formats(&view);
		else
			write_trees(&view);
	}
	report_view_close(&view);
	look(path);
	show_top(path);
}

static void restart(const char *path)
{
	struct collection *collection;
	struct store *store;
	char *error = NULL;
	int result = store_open(path, NULL, &store, &error);

	check_error(result, &error);
	if (result)
		return;
	collection = collection_create();
	if (!collection)
		abort();
	if (store_load(store, collection) != 0) {
		if (!*store_error(store))
			abort();
	} else {
		store_commit(store, collection);
	}
	collection_destroy(collection);
	store_close(store);
}

static void remove_companions(const char *path)
{
	static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
	char name[160];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

static void refuse_directory(void)
{
	struct collective_folds *folds;
	struct profile *profile;
	char *error = NULL;

	check_error(profile_load(fuzz_file_directory(), &profile, &error), &error);
	profile_destroy(profile);
	check_error(profile_collectives_load(fuzz_file_directory(), &folds, &error), &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct store_template templates[STORE_TEMPLATES];
	uint32_t which = size ? data[0] % STORE_TEMPLATES : 0;
	enum store_reader reader =
		size ? data[0] / STORE_TEMPLATES % STORE_READERS : STORE_READER_FORMATS;

	if (!templates[which].bytes) {
		templates[which] = store_template_make(which);
		refuse_directory();
	}
	const char *path = fuzz_file_write(templates[which].bytes, templates[which].size);
	if (size)
		store_edit_apply(path, data + 1, size - 1);
	if (reader == STORE_READER_RESTART)
		restart(path);
	else
		report(path, reader);
	remove_companions(path);
	return 0;
}
