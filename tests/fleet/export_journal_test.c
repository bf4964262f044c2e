#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "aggregator/store/database.h"
#include "fleet/clickhouse_rows.h"
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
	assert_int_equal(export_journal_open(fixture->store, EXPORT_JOURNAL_CLICKHOUSE,
					     &fixture->journal, &fixture->error),
			 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->folder, "/tmp/flamegrid-test.XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->store, sizeof(fixture->store), "%s/profile.db", fixture->folder);
	snprintf(fixture->path, sizeof(fixture->path), "%s" EXPORT_JOURNAL_CLICKHOUSE,
		 fixture->store);
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

/* Leaf i is of the stack "fi". */
static const char *const strings[] = {"", "f0", "f1", "f2", "f3"};
static const struct report_node nodes[] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}};
static const struct report_leaf leaves[] = {{.node = 1}, {.node = 2}, {.node = 3}, {.node = 4}};
static const struct report_tree tree = {
	.strings = strings, .nodes = nodes, .nr_nodes = 5, .leaves = leaves, .nr_leaves = 4};

/* A round of rows with the works "w0", "w1" … and these counts; 0: no such row. *rows: how many differ. */
static int try_fill(struct export_journal *journal, const uint64_t *counts, size_t nr_counts,
		    bool is_damaged, uint64_t *rows, bool *fell, char **error)
{
	int64_t place, work;
	int status = export_journal_begin(journal, error);

	if (!status)
		status = export_journal_label(journal, "\"p\":1", 5, &place, error);
	for (size_t i = 0; i < nr_counts && !status; i++) {
		char text[16];
		int size = snprintf(text, sizeof(text), "\"w\":%zu", i);

		status = export_journal_label(journal, text, (size_t)size, &work, error);
		const struct export_row row = {.kind = EXPORT_WORK,
					       .place = place,
					       .work = work,
					       .stack = UINT64_MAX - i,
					       .count = counts[i],
					       .ns = 2 * counts[i]};

		if (counts[i] && !status)
			status = export_journal_add(journal, &row, (uint32_t)i, error);
	}
	return status ? status : export_journal_end(journal, is_damaged, false, rows, fell, error);
}

static uint64_t fill(struct fixture *fixture, const uint64_t *counts, size_t nr_counts)
{
	uint64_t rows;
	bool fell;

	assert_int_equal(
		try_fill(fixture->journal, counts, nr_counts, false, &rows, &fell, &fixture->error),
		0);
	assert_false(fell);
	return rows;
}

static bool make(struct fixture *fixture, uint32_t rows_max)
{
	struct clickhouse_rows rows = {.tree = &tree, .source = "ab", .time_s = 7};
	struct export_maker maker;
	bool made;

	clickhouse_rows_maker(&rows, &maker);
	maker.rows_max = rows_max;
	assert_int_equal(export_journal_make(fixture->journal, &maker, &made, &fixture->error), 0);
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

/* {5, 1}, and then other sums. */
static void expect_fall(struct fixture *fixture, const uint64_t *counts, bool is_damaged,
			bool expected)
{
	uint64_t rows;
	bool fell;

	assert_int_equal(
		try_fill(fixture->journal, counts, 2, is_damaged, &rows, &fell, &fixture->error),
		0);
	assert_int_equal(fell, expected);
	assert_int_equal(rows, expected ? 0 : 2);
	assert_int_equal(make(fixture, 1), !expected);
}

static void fallen_account_is_not_taken_back(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, (const uint64_t[]){5, 1}, 2);
	assert_true(make(fixture, 10));
	deliver(fixture);
	expect_fall(fixture, (const uint64_t[]){5, 0}, false, true);
	expect_fall(fixture, (const uint64_t[]){2, 3}, false, true);
	expect_fall(fixture, (const uint64_t[]){2, 9}, true, true);
	assert_int_equal(fill(fixture, (const uint64_t[]){5, 1}, 2), 0);
	expect_fall(fixture, (const uint64_t[]){6, 2}, true, false);
	deliver(fixture);
	expect_fall(fixture, (const uint64_t[]){4, 3}, false, false);
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
	assert_int_equal(
		export_journal_open(fixture->store, EXPORT_JOURNAL_CLICKHOUSE, &other, &error),
		-EBUSY);
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
	assert_int_equal(
		export_journal_open(fixture->store, EXPORT_JOURNAL_CLICKHOUSE, &other, &error),
		-EPROTO);
	assert_non_null(error);
	free(error);
	export_journal_close(other);
}

/* Tries a journal whose bytes were changed. Returns 0 if it was refused, with words that say what to do, or the number
 * of its differences to the same sums, plus 1. */
static uint64_t try_changed(struct fixture *fixture, const uint64_t *counts, size_t nr_counts)
{
	struct export_batch batch = {0};
	char word[EXPORT_JOURNAL_WORD_MAX], *error = NULL;
	uint64_t rows = 0;
	bool fell;

	int status = export_journal_open(fixture->store, EXPORT_JOURNAL_CLICKHOUSE,
					 &fixture->journal, &error);
	if (!status)
		status = export_journal_read(fixture->journal, "source", word, &error);
	if (!status) {
		assert_string_equal(word, "abcdef");
		status = export_journal_pending(fixture->journal, &batch, &error);
	}
	if (!status) {
		assert_int_equal(batch.number, 0);
		status = try_fill(fixture->journal, counts, nr_counts, false, &rows, &fell, &error);
	}
	rows = status ? 0 : rows + 1;
	assert_true(status == 0 || error);
	export_batch_fini(&batch);
	export_journal_close(fixture->journal);
	fixture->journal = NULL;
	free(error);
	return rows;
}

static void changed_bit_sends_nothing(void **state)
{
	static const uint64_t counts[] = {3, 5, 1000000};
	struct fixture *fixture = *state;
	static unsigned char good[1u << 20], bad[1u << 20];
	uint32_t refused = 0, harmless = 0;

	assert_int_equal(
		export_journal_write(fixture->journal, "source", "abcdef", &fixture->error), 0);
	fill(fixture, counts, 3);
	while (make(fixture, 2))
		deliver(fixture);
	export_journal_close(fixture->journal);
	fixture->journal = NULL;
	FILE *file = fopen(fixture->path, "r");
	const size_t size = fread(good, 1, sizeof(good), file);
	fclose(file);
	for (size_t at = 0; at < size; at += 5) {
		if (!good[at])
			continue;
		memcpy(bad, good, size);
		bad[at] ^= (unsigned char)(1u << at % 8);
		file = fopen(fixture->path, "w");
		fwrite(bad, 1, size, file);
		fclose(file);
		const uint64_t result = try_changed(fixture, counts, 3);
		if (result > 1)
			fail_msg("byte %zu: %d rows differ", at, (int)result - 1);
		refused += result == 0;
		harmless += result == 1;
	}
	print_message("%u refused, %u harmless\n", refused, harmless);
	assert_true(refused > harmless / 4);
}

static void damaged_sum_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct export_journal *other;
	char *error = NULL;
	int c;

	assert_int_equal(
		export_journal_write(fixture->journal, "source", "abcdef", &fixture->error), 0);
	export_journal_close(fixture->journal);
	fixture->journal = NULL;
	FILE *file = fopen(fixture->path, "r+");
	for (int found = 0; found < 6 && (c = fgetc(file)) != EOF;)
		found = c == "abcdef"[found] ? found + 1 : 0;
	fseek(file, -1, SEEK_CUR);
	fputc('g', file);
	fclose(file);
	assert_int_equal(
		export_journal_open(fixture->store, EXPORT_JOURNAL_CLICKHOUSE, &other, &error),
		-EPROTO);
	assert_non_null(strstr(error, fixture->path));
	assert_non_null(strstr(error, "this journal is damaged (its checksums do not fit)"));
	assert_non_null(strstr(error, "docs/how-to/fleet.md"));
	free(error);
	export_journal_close(other);
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

/* ---- a destination that takes nothing negative */

struct growth {
	int64_t sums[2][4]; /* by place and work: what was delivered */
	uint32_t nr_batches, nr_rows;
	uint32_t place; /* of the batch */
};

static int growth_begin(void *context, uint64_t number, enum export_rows kind)
{
	struct growth *growth = context;

	(void)number;
	assert_int_equal(kind, EXPORT_WORK);
	growth->nr_rows = 0;
	return 0;
}

static int growth_row(void *context, const struct export_delta *delta)
{
	struct growth *growth = context;
	uint32_t place = (uint32_t)delta->place[4] - '0'; /* "p":0 */

	assert_true(growth->nr_rows++ == 0 || place == growth->place);
	growth->place = place;
	assert_true(delta->count >= 0 && delta->ns == 2 * delta->count && delta->bytes == 0);
	growth->sums[place][delta->leaf] += delta->count;
	return 0;
}

static int growth_end(void *context, struct export_batch *batch)
{
	struct growth *growth = context;

	growth->nr_batches++;
	batch->body = strdup("body");
	batch->body_size = 4;
	return batch->body ? 0 : -ENOMEM;
}

/* Delivers counts by place and work. Works are of one account. Returns whether work was withheld. */
static bool grow(struct fixture *fixture, struct growth *growth, const uint64_t counts[2][4])
{
	const struct export_maker maker = {.context = growth,
					   .rows_max = 3,
					   .only_grows = true,
					   .begin = growth_begin,
					   .row = growth_row,
					   .end = growth_end};
	bool made = true, fell = false;
	uint64_t rows;

	assert_int_equal(export_journal_begin(fixture->journal, &fixture->error), 0);
	for (uint32_t i = 0; i < 8; i++) {
		struct export_row row = {.kind = EXPORT_WORK,
					 .stack = i % 4 + 1,
					 .count = counts[i / 4][i % 4],
					 .ns = 2 * counts[i / 4][i % 4]};
		char text[40];
		int size = snprintf(text, sizeof(text), "\"p\":%u", i / 4);

		assert_int_equal(export_journal_label(fixture->journal, text, (size_t)size,
						      &row.place, &fixture->error),
				 0);
		size = snprintf(text, sizeof(text), "\"plane\":\"gpu\",\"w\":%u", i % 4);
		assert_int_equal(export_journal_label(fixture->journal, text, (size_t)size,
						      &row.work, &fixture->error),
				 0);
		if (row.count)
			assert_int_equal(
				export_journal_add(fixture->journal, &row, i % 4, &fixture->error),
				0);
	}
	assert_int_equal(
		export_journal_end(fixture->journal, false, true, &rows, &fell, &fixture->error),
		0);
	while (made) {
		assert_int_equal(
			export_journal_make(fixture->journal, &maker, &made, &fixture->error), 0);
		if (made)
			deliver(fixture);
	}
	return fell;
}

static int64_t grown(const struct growth *growth, uint32_t place)
{
	const int64_t *sums = growth->sums[place];

	return sums[0] + sums[1] + sums[2] + sums[3];
}

static void batch_of_what_only_grows_is_of_one_place(void **state)
{
	struct growth growth = {0};

	grow(*state, &growth, (const uint64_t[2][4]){{1, 2, 3, 4}, {5, 6, 0, 0}});
	assert_int_equal(growth.nr_batches, 3);
	assert_int_equal(grown(&growth, 0), 10);
	assert_int_equal(grown(&growth, 1), 11);
	grow(*state, &growth, (const uint64_t[2][4]){{1, 2, 3, 5}, {5, 6, 0, 0}});
	assert_int_equal(growth.nr_batches, 4);
	assert_int_equal(growth.sums[0][3], 5);
}

static void work_that_is_renamed_stays_under_its_old_name(void **state)
{
	struct growth growth = {0};

	grow(*state, &growth, (const uint64_t[2][4]){{10, 0, 0, 0}, {7, 0, 0, 0}});
	assert_false(grow(*state, &growth, (const uint64_t[2][4]){{0, 6, 7, 0}, {7, 0, 0, 0}}));
	assert_int_equal(growth.sums[0][0], 10);
	assert_int_equal(grown(&growth, 0), 13);
	assert_false(grow(*state, &growth, (const uint64_t[2][4]){{0, 6, 7, 4}, {7, 0, 0, 1}}));
	assert_int_equal(grown(&growth, 0), 17);
	assert_int_equal(grown(&growth, 1), 8);
	assert_false(grow(*state, &growth, (const uint64_t[2][4]){{10, 6, 7, 4}, {7, 0, 0, 1}}));
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(growth.sums[0][i], ((int64_t[]){10, 6, 7, 4})[i]);
}

static void older_profile_of_what_only_grows_is_withheld(void **state)
{
	struct growth growth = {0};

	grow(*state, &growth, (const uint64_t[2][4]){{5, 5, 0, 0}, {5, 0, 0, 0}});
	assert_true(grow(*state, &growth, (const uint64_t[2][4]){{5, 0, 2, 0}, {6, 0, 0, 0}}));
	assert_int_equal(grown(&growth, 0) + grown(&growth, 1), 15);
}

static void forgotten_batch_is_in_the_next_round(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, (const uint64_t[]){5, 1}, 2);
	assert_true(make(fixture, 10));
	assert_int_equal(export_journal_try(fixture->journal, &fixture->error), 0);
	assert_int_equal(export_journal_forget(fixture->journal, &fixture->error), 0);
	reopen(fixture);
	expect_batch(fixture, 0, NULL, NULL);
	assert_int_equal(fill(fixture, (const uint64_t[]){5, 2}, 2), 2);
	assert_true(make(fixture, 10));
	expect_batch(fixture, 2,
		     ROW("2", "0", "18446744073709551615", "5", "10")
			     ROW("2", "1", "18446744073709551614", "2", "4"),
		     "{\"stack\":18446744073709551614,\"frames\":[\"f1\"]}\n"
		     "{\"stack\":18446744073709551615,\"frames\":[\"f0\"]}\n");
}

static int refuse_size(void *context, struct export_batch *batch)
{
	return growth_end(context, batch) ? -ENOMEM : -E2BIG;
}

static void batch_that_is_too_large_is_not_made(void **state)
{
	struct fixture *fixture = *state;
	struct growth growth = {0};
	const struct export_maker maker = {.context = &growth,
					   .rows_max = 3,
					   .begin = growth_begin,
					   .row = growth_row,
					   .end = refuse_size};
	bool made;

	fill(fixture, (const uint64_t[]){5}, 1);
	assert_int_equal(export_journal_make(fixture->journal, &maker, &made, &fixture->error),
			 -E2BIG);
	assert_false(made);
	expect_batch(fixture, 0, NULL, NULL);
	assert_true(make(fixture, 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_are_the_difference_to_what_was_delivered),
		TEST(fallen_account_is_not_taken_back),
		TEST(batch_stays_until_it_is_delivered),
		TEST(sums_stick_at_the_largest_number),
		TEST(second_process_is_refused),
		TEST(damaged_file_is_an_error),
		TEST(changed_bit_sends_nothing),
		TEST(damaged_sum_is_named),
		TEST(words_are_kept),
		TEST(batch_of_what_only_grows_is_of_one_place),
		TEST(work_that_is_renamed_stays_under_its_old_name),
		TEST(older_profile_of_what_only_grows_is_withheld),
		TEST(forgotten_batch_is_in_the_next_round),
		TEST(batch_that_is_too_large_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
