#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "aggregator/store/database.h"
#include "fleet/export_journal.h"
#include "tests/support/cmocka_test.h"

#define HEAD "\"source\":\"ab\",\"time\":7,"

struct fixture {
	char folder[32], store[64], path[80];
	struct export_journal *journal;
	char *error;
};

static void reopen(struct fixture *fixture)
{
	export_journal_close(fixture->journal);
	assert_int_equal(export_journal_open(fixture->store, &fixture->journal, &fixture->error),
			 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->folder, "/tmp/flamegrid-test.XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->store, sizeof(fixture->store), "%s/profile.db", fixture->folder);
	snprintf(fixture->path, sizeof(fixture->path), "%s" EXPORT_JOURNAL_SUFFIX, fixture->store);
	reopen(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	export_journal_close(fixture->journal);
	unlink(fixture->path);
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture->error);
	free(fixture);
	return 0;
}

static int write_stack(void *context, FILE *out, uint32_t node)
{
	(void)context;
	fprintf(out, "\"frames\":[\"f%u\"]", node);
	return 0;
}

/* A round of rows with the works "w0", "w1" … and these counts; 0: no such row. Returns how many differ. */
static uint64_t fill(struct fixture *fixture, const uint64_t *counts, size_t nr_counts)
{
	int64_t place, work;
	uint64_t rows;

	assert_int_equal(export_journal_begin(fixture->journal, &fixture->error), 0);
	assert_int_equal(
		export_journal_label(fixture->journal, "\"p\":1", 5, &place, &fixture->error), 0);
	for (size_t i = 0; i < nr_counts; i++) {
		char text[16];
		int size = snprintf(text, sizeof(text), "\"w\":%zu", i);
		struct export_row row = {.kind = EXPORT_WORK, .place = place, .count = counts[i]};

		assert_int_equal(export_journal_label(fixture->journal, text, (size_t)size, &work,
						      &fixture->error),
				 0);
		row.work = work;
		row.stack = UINT64_MAX - i;
		row.ns = 2 * counts[i];
		if (counts[i])
			assert_int_equal(export_journal_add(fixture->journal, &row, (uint32_t)i,
							    &fixture->error),
					 0);
	}
	assert_int_equal(export_journal_end(fixture->journal, &rows, &fixture->error), 0);
	return rows;
}

static bool make(struct fixture *fixture, uint32_t rows_max)
{
	bool made;

	assert_int_equal(export_journal_make(fixture->journal, HEAD, rows_max, write_stack, NULL,
					     &made, &fixture->error),
			 0);
	return made;
}

static void expect_text(const void *bytes, size_t size, const char *expected)
{
	char text[4096];
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes,
			   .avail_in = (uInt)size,
			   .next_out = (Bytef *)text,
			   .avail_out = sizeof(text) - 1};

	assert_int_equal(inflateInit2(&stream, 31), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	text[stream.total_out] = '\0';
	inflateEnd(&stream);
	assert_string_equal(text, expected);
}

static void expect_batch(struct fixture *fixture, uint64_t number, const char *body,
			 const char *stacks)
{
	struct export_batch batch;

	assert_int_equal(export_journal_pending(fixture->journal, &batch, &fixture->error), 0);
	assert_int_equal(batch.number, number);
	if (body)
		expect_text(batch.body, batch.body_size, body);
	if (stacks)
		expect_text(batch.stacks, batch.stacks_size, stacks);
	else
		assert_null(batch.stacks);
	export_batch_fini(&batch);
}

static void deliver(struct fixture *fixture)
{
	assert_int_equal(export_journal_try(fixture->journal, &fixture->error), 0);
	assert_int_equal(export_journal_delivered(fixture->journal, &fixture->error), 0);
}

#define ROW(number, work, stack, count, ns)                                                        \
	"{" HEAD "\"batch\":" number ",\"p\":1,\"w\":" work ",\"stack\":" stack                    \
	",\"bytes\":0,\"count\":" count ",\"ns\":" ns "}\n"

static void rows_are_the_difference_to_what_was_delivered(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(fill(fixture, (const uint64_t[]){5, 1}, 2), 2);
	assert_true(make(fixture, 10));
	expect_batch(fixture, 1,
		     ROW("1", "0", "18446744073709551615", "5", "10")
			     ROW("1", "1", "18446744073709551614", "1", "2"),
		     "{\"stack\":18446744073709551614,\"frames\":[\"f1\"]}\n"
		     "{\"stack\":18446744073709551615,\"frames\":[\"f0\"]}\n");
	deliver(fixture);
	assert_false(make(fixture, 10));
	assert_int_equal(fill(fixture, (const uint64_t[]){5, 1}, 2), 0);
	assert_int_equal(fill(fixture, (const uint64_t[]){7, 0}, 2), 2);
	assert_true(make(fixture, 10));
	expect_batch(fixture, 2,
		     ROW("2", "0", "18446744073709551615", "2", "4")
			     ROW("2", "1", "18446744073709551614", "-1", "-2"),
		     NULL);
	deliver(fixture);
	reopen(fixture);
	assert_int_equal(fill(fixture, (const uint64_t[]){7}, 1), 0);
}

static void batch_stays_until_it_is_delivered(void **state)
{
	struct fixture *fixture = *state;
	struct export_batch batch;

	fill(fixture, (const uint64_t[]){1, 2, 3}, 3);
	assert_true(make(fixture, 2));
	assert_int_equal(export_journal_try(fixture->journal, &fixture->error), 0);
	reopen(fixture);
	assert_int_equal(export_journal_pending(fixture->journal, &batch, &fixture->error), 0);
	assert_true(batch.was_tried);
	assert_int_equal(batch.rows, 2);
	export_batch_fini(&batch);
	deliver(fixture);
	expect_batch(fixture, 0, NULL, NULL);
	assert_int_equal(fill(fixture, (const uint64_t[]){1, 2, 3}, 3), 1);
	assert_true(make(fixture, 2));
	expect_batch(fixture, 2, ROW("2", "2", "18446744073709551613", "3", "6"),
		     "{\"stack\":18446744073709551613,\"frames\":[\"f2\"]}\n");
}

static void sums_stick_at_the_largest_number(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(fill(fixture, (const uint64_t[]){UINT64_MAX}, 1), 1);
	assert_true(make(fixture, 1));
	expect_batch(
		fixture, 1,
		ROW("1", "0", "18446744073709551615", "9223372036854775807", "9223372036854775807"),
		"{\"stack\":18446744073709551615,\"frames\":[\"f0\"]}\n");
}

static void second_process_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct export_journal *other;
	char *error = NULL;

	assert_int_equal(export_journal_write(fixture->journal, "a", "b", &fixture->error), 0);
	assert_int_equal(export_journal_open(fixture->store, &other, &error), -EBUSY);
	assert_non_null(strstr(error, "another process"));
	free(error);
	export_journal_close(other);
}

static void damaged_file_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct export_journal *other;
	char *error = NULL;

	export_journal_close(fixture->journal);
	fixture->journal = NULL;
	FILE *file = fopen(fixture->path, "w");
	for (int i = 0; i < 2000; i++)
		fputs("no database", file);
	fclose(file);
	assert_int_equal(export_journal_open(fixture->store, &other, &error), -EPROTO);
	assert_non_null(error);
	free(error);
	export_journal_close(other);
}

/* Changes the file behind the journal's back. */
static void change(struct fixture *fixture, const char *sql)
{
	struct database *database;

	export_journal_close(fixture->journal);
	fixture->journal = NULL;
	assert_int_equal(database_open(fixture->path, false, &database, NULL), 0);
	assert_int_equal(database_execute(database, sql), 0);
	database_close(database);
	reopen(fixture);
}

static void expect_damage(const struct fixture *fixture, int status)
{
	char expected[128];

	snprintf(expected, sizeof(expected), "%s: it is damaged", fixture->path);
	assert_int_equal(status, -EPROTO);
	assert_string_equal(fixture->error, expected);
}

static void batch_of_no_known_kind_is_damage(void **state)
{
	struct fixture *fixture = *state;
	struct export_batch batch;

	fill(fixture, (const uint64_t[]){5}, 1);
	assert_true(make(fixture, 10));
	change(fixture, "UPDATE batch SET kind = 2");
	expect_damage(fixture, export_journal_pending(fixture->journal, &batch, &fixture->error));
	export_batch_fini(&batch);
}

static void sums_of_no_known_kind_are_damage(void **state)
{
	struct fixture *fixture = *state;
	bool made;

	change(fixture, "INSERT INTO sent VALUES (-1, 1, 1, 1, 1, 1, 1)");
	assert_int_equal(fill(fixture, (const uint64_t[]){5}, 1), 2);
	expect_damage(fixture, export_journal_make(fixture->journal, HEAD, 10, write_stack, NULL,
						   &made, &fixture->error));
	assert_false(made);
}

static void word_that_is_too_long_is_damage(void **state)
{
	struct fixture *fixture = *state;
	char word[EXPORT_JOURNAL_WORD_MAX] = "x";

	change(fixture, "INSERT INTO words VALUES ('a', hex(zeroblob(256)))");
	expect_damage(fixture, export_journal_read(fixture->journal, "a", word, &fixture->error));
	assert_string_equal(word, "");
}

static void words_are_kept(void **state)
{
	struct fixture *fixture = *state;
	char word[EXPORT_JOURNAL_WORD_MAX];

	assert_int_equal(export_journal_read(fixture->journal, "a", word, &fixture->error), 0);
	assert_string_equal(word, "");
	assert_int_equal(export_journal_write(fixture->journal, "a", "x", &fixture->error), 0);
	assert_int_equal(export_journal_write(fixture->journal, "a", "y'z", &fixture->error), 0);
	reopen(fixture);
	assert_int_equal(export_journal_read(fixture->journal, "a", word, &fixture->error), 0);
	assert_string_equal(word, "y'z");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_are_the_difference_to_what_was_delivered),
		TEST(batch_stays_until_it_is_delivered),
		TEST(sums_stick_at_the_largest_number),
		TEST(second_process_is_refused),
		TEST(damaged_file_is_an_error),
		TEST(batch_of_no_known_kind_is_damage),
		TEST(sums_of_no_known_kind_are_damage),
		TEST(word_that_is_too_long_is_damage),
		TEST(words_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
