/* Every row of the table with every format and every option, of a store with three ranks, collectives and samples. */
#include "report/view/report_subject.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/host_sample.h"
#include "tests/report/straggler/straggler_fixture.h"

#define ALL_SUBJECTS ((1u << REPORT_SUBJECTS) - 1)

static void fill_store(void)
{
	job_keep_samples();
	for (int32_t rank = 0; rank < 3; rank++) {
		uint32_t process = job_process(rank);
		const struct collective call = job_all_reduce(1, 1, 1, 1000, 500);
		const struct job_kernel kernel = {.name = "gemm",
						  .stack = "train.py:main;train.py:step",
						  .correlation_id = 2,
						  .tid = 9,
						  .start_ns = 2000,
						  .ns = 100};

		job_communicator(process, 1, 77, (uint32_t)rank, 3);
		job_call(process, &call);
		job_kernel(process, &kernel);
		job_sample(process, HOST_SAMPLE_CPU, "train.py:main", "", 9, 5000, 1000);
	}
	job_commit();
}

static void open_view(struct report_view *view)
{
	static const struct report_options options;
	char *error;

	fill_store();
	assert_int_equal(report_view_open(view, job_path(), &options, &error), 0);
	assert_null(error);
}

static struct change_report changes;
static struct change_table *table;

static void read_all(struct report_view *view)
{
	static const struct source_frameworks none;
	char *error;

	assert_int_equal(report_subject_read(view, ALL_SUBJECTS, &error), 0);
	assert_null(error);
	assert_int_equal(report_diff_create(view->tree, 0, REPORT_DIFF_MEDIAN, &view->diff), 0);
	assert_int_equal(change_table_create(view->diff, CHANGE_BY_KERNEL, &none, 1, &table), 0);
	changes = (struct change_report){.table = table,
					 .before = {.label = view->diff->label_before},
					 .after = {.label = view->diff->label_after},
					 .scale = {RUN_WHOLE, 1, 1, 1},
					 .by = "kernel"};
	view->changes = &changes;
}

static void close_view(struct report_view *view)
{
	change_table_destroy(table);
	table = NULL;
	report_view_close(view);
}

/* The length of what is written; -errno. */
static long write_length(const struct report_view *view, const struct report_request *request)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int result = report_subject_write(view, out, request);

	fclose(out);
	free(text);
	return result ? result : (long)size;
}

static void assert_refused(const struct report_request *request, const char *expected)
{
	char *error;

	assert_int_equal(report_subject_check(request, &error), -EINVAL);
	assert_string_equal(error, expected);
	free(error);
}

static void assert_taken(const struct report_request *request)
{
	char *error;

	assert_int_equal(report_subject_check(request, &error), 0);
	assert_null(error);
}

static void every_subject_is_written_in_a_format_or_refused_with_those_that_it_has(void **state)
{
	struct report_view view;
	uint32_t written = 0, refused = 0;

	(void)state;
	open_view(&view);
	read_all(&view);
	for (uint32_t id = 0; id < REPORT_SUBJECTS; id++) {
		char names[128] = "", expected[256];

		for (int i = 0; i < REPORT_FORMATS; i++)
			if (report_subjects[id].write[i])
				snprintf(names + strlen(names), sizeof(names) - strlen(names),
					 "%s%s", *names ? ", " : "", report_format_names[i]);
		for (int i = 0; i < REPORT_FORMATS; i++) {
			const struct report_request request = {.asked = 1u << id,
							       .format = (enum report_format)i};

			if (report_subjects[id].write[i]) {
				assert_taken(&request);
				assert_true(write_length(&view, &request) > 0);
				written++;
				continue;
			}
			snprintf(expected, sizeof(expected),
				 "%s cannot be written as %s (--format %s)",
				 report_subjects[id].option, report_format_names[i], names);
			assert_refused(&request, expected);
			assert_int_equal(write_length(&view, &request), -EINVAL);
			refused++;
		}
	}
	assert_int_equal(written + refused, REPORT_SUBJECTS * REPORT_FORMATS);
	assert_int_equal(written, 35);
	close_view(&view);
}

static void every_subject_has_its_usual_format(void **state)
{
	(void)state;
	for (uint32_t id = 0; id < REPORT_SUBJECTS; id++)
		assert_non_null(report_subjects[id].write[report_subjects[id].usual]);
}

static void every_option_is_taken_or_refused(void **state)
{
	(void)state;
	for (uint32_t id = 0; id < REPORT_SUBJECTS; id++)
		for (uint32_t other = id + 1; other < REPORT_SUBJECT_ALL; other++) {
			const struct report_request request = {
				.asked = 1u << id | 1u << other,
				.format = report_subjects[id].usual,
			};
			char start[160], *error;

			if (id == REPORT_SUBJECT_WORK && other < REPORT_SUBJECTS)
				continue; /* the report is about the other one */
			const bool has_no_leaves =
				report_subjects[id].leafless & 1u << request.format &&
				other >= REPORT_SUBJECT_BY;
			if (report_subjects[id].takes & 1u << other && !has_no_leaves) {
				assert_taken(&request);
				continue;
			}
			assert_int_equal(report_subject_check(&request, &error), -EINVAL);
			snprintf(start, sizeof(start), "%s%s%s does not take %s",
				 report_subjects[id].option, has_no_leaves ? " --format " : "",
				 has_no_leaves ? report_format_names[request.format] : "",
				 report_subjects[other].option);
			assert_int_equal(strncmp(error, start, strlen(start)), 0);
			free(error);
		}
}

static void a_refusal_names_what_is_possible(void **state)
{
	(void)state;
	assert_refused(&(struct report_request){.asked = 1u << REPORT_SUBJECT_RANKS,
						.format = REPORT_HTML},
		       "--ranks cannot be written as html (--format table, json, csv)");
	assert_refused(&(struct report_request){.asked = 1u << REPORT_SUBJECT_SAMPLES |
							 1u << REPORT_SUBJECT_BY,
						.format = REPORT_SAMPLES},
		       "--format samples does not take --by (it takes --clocks, --planes)");
	assert_refused(&(struct report_request){.asked = 1u << REPORT_SUBJECT_STRAGGLER |
							 1u << REPORT_SUBJECT_RANKS,
						.format = REPORT_TABLE},
		       "--straggler does not take --ranks");
}

static void options_that_change_nothing_are_refused(void **state)
{
	(void)state;
	assert_refused(&(struct report_request){.details = 1u << REPORT_DETAIL_TOP},
		       "--format folded does not take --top (--format table)");
	assert_refused(&(struct report_request){.details = 1u << REPORT_DETAIL_WEIGHT |
							   1u << REPORT_DETAIL_UNIT,
						.format = REPORT_TABLE},
		       "--format table does not take --weight (--format folded, html, speedscope)");
	assert_refused(&(struct report_request){.asked = 1u << REPORT_SUBJECT_RANKS,
						.details = 1u << REPORT_DETAIL_NCCL,
						.format = REPORT_CSV},
		       "--ranks --format csv does not take --nccl");
	assert_refused(&(struct report_request){.asked = 1u << REPORT_SUBJECT_STRAGGLER,
						.details = 1u << REPORT_DETAIL_VERBOSE,
						.format = REPORT_JSON},
		       "--straggler --format json does not take --verbose (--format table)");
	assert_refused(&(struct report_request){.asked = 1u << REPORT_SUBJECT_COLLECTIVES |
							 1u << REPORT_SUBJECT_BY,
						.format = REPORT_TABLE},
		       "--collectives --format table does not take --by (--format json)");
	assert_refused(&(struct report_request){.asked = 1u << REPORT_SUBJECT_CALLS |
							 1u << REPORT_SUBJECT_BY,
						.format = REPORT_CSV},
		       "--rows calls does not take --by");
	assert_refused(&(struct report_request){.details = 1u << REPORT_DETAIL_FRAMEWORKS},
		       "--frameworks changes nothing without --frames user");
}

static void frameworks_are_taken_where_frames_are_folded(void **state)
{
	const struct report_request requests[] = {
		{.details = 1u << REPORT_DETAIL_FRAMEWORKS, .user_frames = true},
		{.details = 1u << REPORT_DETAIL_FRAMEWORKS, .format = REPORT_HTML},
	};
	char *error;

	(void)state;
	for (uint32_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		assert_int_equal(report_subject_check(&requests[i], &error), 0);
}

/* What the table says is used is taken. */
static void options_of_a_format_are_taken(void **state)
{
	char *error;

	(void)state;
	for (uint32_t id = 0; id < REPORT_SUBJECTS; id++)
		for (uint32_t format = 0; format < REPORT_FORMATS; format++) {
			const struct report_subject *subject = &report_subjects[id];
			const struct report_request request = {.asked = 1u << id,
							       .format = format,
							       .details = subject->details[format],
							       .user_frames = true};

			if (!subject->write[format])
				assert_int_equal(subject->details[format], 0);
			else
				assert_int_equal(report_subject_check(&request, &error), 0);
		}
}

static void clocks_are_a_subject_and_an_option_of_samples(void **state)
{
	struct report_request request = {.asked = 1u << REPORT_SUBJECT_SAMPLES,
					 .format = REPORT_SAMPLES};
	struct report_view view;

	(void)state;
	open_view(&view);
	read_all(&view);
	long without = write_length(&view, &request);
	request.asked |= 1u << REPORT_SUBJECT_CLOCKS;
	assert_true(without > 0);
	assert_true(write_length(&view, &request) > without);
	close_view(&view);
}

static void what_was_not_read_is_not_written(void **state)
{
	struct report_view view;

	(void)state;
	open_view(&view);
	for (uint32_t id = 0; id < REPORT_SUBJECTS; id++) {
		const struct report_subject *subject = &report_subjects[id];
		const struct report_request request = {.asked = 1u << id, .format = subject->usual};
		bool needs =
			id == REPORT_SUBJECT_DIFF || (subject->read && id != REPORT_SUBJECT_CLOCKS);

		if (needs)
			assert_int_equal(write_length(&view, &request), -EINVAL);
		else
			assert_true(write_length(&view, &request) > 0);
	}
	close_view(&view);
}

static void a_store_that_is_gone_is_named(void **state)
{
	struct report_view view;
	char *error;

	(void)state;
	open_view(&view);
	view.store_path = "/proc/self/no-such-store";
	for (uint32_t id = 0; id < REPORT_SUBJECTS; id++) {
		int result = report_subject_read(&view, 1u << id, &error);

		assert_int_equal(result < 0, report_subjects[id].read != NULL);
		assert_int_equal(error && strstr(error, view.store_path), result < 0);
		free(error);
	}
	close_view(&view);
}

static void a_file_that_does_not_take_the_report_is_named(void **state)
{
	static const struct report_request request = {.format = REPORT_JSON};
	struct report_view view;
	char *error;

	(void)state;
	open_view(&view);
	assert_int_equal(report_subject_save(&view, "/dev/full", &request, &error), -ENOSPC);
	assert_string_equal(error, "/dev/full: No space left on device");
	free(error);
	assert_int_equal(report_subject_save(&view, "/proc/self/no/file", &request, &error),
			 -ENOENT);
	assert_string_equal(error, "/proc/self/no/file: No such file or directory");
	free(error);
	assert_int_equal(report_subject_save(&view, "/dev/null", &request, &error), 0);
	assert_null(error);
	close_view(&view);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_subject_is_written_in_a_format_or_refused_with_those_that_it_has),
		cmocka_unit_test(every_subject_has_its_usual_format),
		cmocka_unit_test(every_option_is_taken_or_refused),
		cmocka_unit_test(a_refusal_names_what_is_possible),
		TEST(options_that_change_nothing_are_refused),
		TEST(frameworks_are_taken_where_frames_are_folded),
		TEST(options_of_a_format_are_taken),
		TEST(clocks_are_a_subject_and_an_option_of_samples),
		TEST(what_was_not_read_is_not_written),
		TEST(a_store_that_is_gone_is_named),
		TEST(a_file_that_does_not_take_the_report_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
