/* A round that is too large has the heaviest totals, all sums, and a note of what has no stacks. */
#include "node-agent/link/page_sender.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/aggregator/merge/merge_fixture.h"
#include "tests/aggregator/store/report_text.h"

#include "aggregator/core/fold_limit.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/merge/profile_merge.h"
#include "aggregator/pages/page_reader.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/pages/page_store.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_note.h"
#include "aggregator/store/store_totals.h"
#include "proto/host_sample.h"
#include "proto/record.h"

#define NR_KEPT 1024u /* that each round may have */

static int send_to_set(void *set, struct message *message)
{
	const char *reason = "";
	int r = page_set_take(set, &message->pages, &reason);

	if (r)
		fail_msg("%s", reason);
	return r;
}

static int add_page(void *store, const struct profile_page *page)
{
	return page_store_add(store, page);
}

static struct database *make_store(const struct page_set *set, enum page_store_part part)
{
	struct page_store *store;

	assert_int_equal(page_store_create(part, &store), 0);
	assert_int_equal(page_set_read(set, 0, add_page, store), 0);
	struct database *database = page_store_finish(store);
	assert_non_null(database);
	return database;
}

static struct fold_table *read_totals(struct database *database, enum store_totals_kind kind)
{
	struct fold_table *table = fold_table_create();

	assert_non_null(table);
	assert_int_equal(store_totals_read(database, kind, table), 0);
	return table;
}

/* Counted, since not all of them have a time. */
static bool is_other(enum store_totals_kind kind, const struct fold_row *row)
{
	return kind == STORE_TOTALS_GPU ? row->key.kind > RECORD_GPU_GRAPH
					: row->key.kind >= HOST_SAMPLE_KERNEL;
}

/* An amount, and what of it was left out. */
struct amount {
	uint64_t total, left;
};

/* What a table has: time, and the records of other planes or the samples of kernels. */
struct amounts {
	struct amount ns, others;
	uint32_t nr_all, nr_kept;
};

static struct fold_key merged(enum store_totals_kind kind, const struct fold_row *row)
{
	struct fold_key merged = fold_limit_merged(&row->key);

	merged.copy_kind = row->key.copy_kind;
	if (kind == STORE_TOTALS_SAMPLES && is_other(kind, row))
		merged.tid = row->key.tid;
	return merged;
}

static bool is_merged(enum store_totals_kind kind, const struct fold_row *row)
{
	const struct fold_key key = merged(kind, row);

	return memcmp(&row->key, &key, sizeof(key)) == 0;
}

/* Each row of the first one is a row of the second, or the sum of rows that it does not have, and none of those is
 * heavier. */
static struct amounts expect_heaviest(enum store_totals_kind kind, struct fold_table *kept,
				      struct fold_table *all)
{
	struct amounts amounts = {.nr_kept = 0};
	uint32_t nr_found = 0, nr_rows, nr_light;
	struct fold_table *light = fold_table_create();
	const struct fold_row *kept_rows = fold_table_rows(kept, &nr_rows),
			      *rows = fold_table_rows(all, &amounts.nr_all);
	uint64_t lightest_ns = UINT64_MAX, lightest_other_ns = UINT64_MAX;

	for (uint32_t i = 0; i < nr_rows; i++) {
		if (is_merged(kind, &kept_rows[i]))
			continue;
		amounts.nr_kept++;
		uint64_t *lightest =
			is_other(kind, &kept_rows[i]) ? &lightest_other_ns : &lightest_ns;

		*lightest = kept_rows[i].ns < *lightest ? kept_rows[i].ns : *lightest;
	}
	for (uint32_t i = 0; i < amounts.nr_all; i++) {
		const bool is_counted = is_other(kind, &rows[i]);
		struct amount *amount = is_counted ? &amounts.others : &amounts.ns;
		const struct fold_row *row =
			fold_table_find(kept, &rows[i].key, fold_table_hash(&rows[i].key));

		amount->total += is_counted ? rows[i].count : rows[i].ns;
		if (row) {
			assert_int_equal(row->count, rows[i].count);
			assert_int_equal(row->ns, rows[i].ns);
			assert_int_equal(row->bytes, rows[i].bytes);
			nr_found++;
			continue;
		}
		amount->left += is_counted ? rows[i].count : rows[i].ns;
		assert_true(rows[i].ns <= (is_counted ? lightest_other_ns : lightest_ns));
		struct fold_row moved = rows[i];
		moved.key = merged(kind, &rows[i]);
		assert_int_equal(fold_table_join(light, &moved), 0);
	}
	assert_int_equal(nr_found, amounts.nr_kept);
	rows = fold_table_rows(light, &nr_light);
	assert_int_equal(nr_rows, nr_found + nr_light);
	for (uint32_t i = 0; i < nr_light; i++) {
		const struct fold_row *row =
			fold_table_find(kept, &rows[i].key, fold_table_hash(&rows[i].key));

		assert_non_null(row);
		assert_int_equal(row->count, rows[i].count);
		assert_int_equal(row->ns, rows[i].ns);
		assert_int_equal(row->bytes, rows[i].bytes);
		struct duration_bin list[DURATION_BUCKETS], expected[DURATION_BUCKETS];
		const uint32_t nr = fold_row_list(&rows[i], expected);
		assert_int_equal(fold_row_list(row, list), nr);
		assert_memory_equal(list, expected, nr * sizeof(*list));
	}
	fold_table_destroy(light);
	return amounts;
}

/* Appends the share that a note is to tell, in hundredths of a percent, rounded up. */
static void add_share(char *text, size_t size, const struct amount *amount, const char *what)
{
	const uint64_t share = amount->left * 10000 / (amount->total + 1) + 1;
	const size_t at = strlen(text);

	if (amount->left)
		snprintf(text + at, size - at, "%s%llu.%02llu %% of its %s",
			 text[at - 1] == '(' ? "" : ", ", (unsigned long long)share / 100,
			 (unsigned long long)share % 100, what);
}

static int open_set(void *context, enum merge_part part, struct database **database, char **error)
{
	(void)error;
	*database =
		make_store(context, part == MERGE_PART_NAMES ? PAGE_STORE_NAMES : PAGE_STORE_ROWS);
	return 0;
}

/* Owns: free(). */
static char *report(struct page_set *set)
{
	const struct merge_source source = {.path = "pages",
					    .open = open_set,
					    .context = set,
					    .writer = page_set_writer(set, 0)};
	char *path = merge_fixture_path("report"), *error;

	if (profile_merge(&source, 1, false, path, &error))
		fail_msg("%s", error);
	char *text = report_json_of(path);
	unlink(path);
	free(path);
	return text;
}

static void expect_note(struct database *database, const uint8_t *writer,
			const struct amounts amounts[STORE_TOTALS_KINDS])
{
	struct store_note *notes = NULL;
	uint32_t nr_notes = 0;
	uint8_t named[STORE_WRITER_SIZE];
	char expected[STORE_NOTE_SIZE], node[64];

	assert_int_equal(store_note_read(database, &notes, &nr_notes), 0);
	assert_int_equal(nr_notes, 1);
	assert_int_equal(notes[0].kind, STORE_NOTE_UNSENT);
	assert_true(store_note_writer(&notes[0], named));
	assert_memory_equal(named, writer, sizeof(named));
	assert_int_equal(store_note_node(database, node, sizeof(node)), 0);
	snprintf(expected, sizeof(expected), "%s (", node);
	add_share(expected, sizeof(expected), &amounts[STORE_TOTALS_GPU].ns, "GPU time");
	add_share(expected, sizeof(expected), &amounts[STORE_TOTALS_GPU].others,
		  "records of waits, overhead, loads and memory");
	add_share(expected, sizeof(expected), &amounts[STORE_TOTALS_SAMPLES].ns, "host samples");
	add_share(expected, sizeof(expected), &amounts[STORE_TOTALS_SAMPLES].others,
		  "samples of kernels");
	strcat(expected, ")");
	assert_string_equal(notes[0].text, expected);
	free(notes);
}

/* GPU work comes before other planes: of these something is kept only if all work is. */
static void expect_work_first(const struct amounts amounts[STORE_TOTALS_KINDS])
{
	const struct amounts *gpu = &amounts[STORE_TOTALS_GPU];

	assert_true(gpu->ns.left > 0 && gpu->ns.left < gpu->ns.total);
	assert_int_equal(gpu->others.left, gpu->others.total);
}

static void expect_halves(const struct amounts amounts[STORE_TOTALS_KINDS])
{
	const struct amounts *gpu = &amounts[STORE_TOTALS_GPU],
			     *samples = &amounts[STORE_TOTALS_SAMPLES];
	const uint32_t half = NR_KEPT / 2;

	assert_int_equal(gpu->nr_kept + samples->nr_kept, NR_KEPT);
	assert_int_equal(samples->nr_kept, samples->nr_all < half ? samples->nr_all : half);
}

static void a_round_that_is_too_large_has_the_heaviest_totals(void **state)
{
	char *path = merge_fixture_path("profile");
	struct page_sender *sender = page_sender_create();
	struct page_set *set = page_set_create();
	struct amounts amounts[STORE_TOTALS_KINDS];
	struct database *whole;

	(void)state;
	merge_fixture_write(path, MERGE_FIXTURE_ALL, 1);
	assert_int_equal(page_sender_send(sender, path, 1, send_to_set, set), 0);
	struct database *database = make_store(set, PAGE_STORE_ALL);
	assert_int_equal(database_open(path, true, &whole, NULL), 0);
	for (enum store_totals_kind kind = 0; kind < STORE_TOTALS_KINDS; kind++) {
		struct fold_table *kept = read_totals(database, kind),
				  *all = read_totals(whole, kind);

		amounts[kind] = expect_heaviest(kind, kept, all);
		fold_table_destroy(kept);
		fold_table_destroy(all);
	}
	expect_halves(amounts);
	expect_work_first(amounts);
	expect_note(database, page_set_writer(set, 0), amounts);
	database_close(database);
	database_close(whole);
	char *text = report(set);
	assert_non_null(strstr(text,
			       "INCOMPLETE: 1 part of the profile was too large to be sent at "
			       "once, and the stacks of the rest are missing: node"));
	free(text);
	page_set_destroy(set);
	page_sender_destroy(sender);
	unlink(path);
	free(path);
}

static int write_page(void *out, const struct profile_page *page)
{
	fprintf(out, "%u.%u ", page->table, page->number);
	for (uint32_t i = 0; i < page->size; i++)
		fprintf(out, "%02x", page->bytes[i]);
	fputc('\n', out);
	return 0;
}

static char *pages_of_store(const char *path)
{
	struct database *database;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(database_open(path, true, &database, NULL), 0);
	assert_int_equal(page_reader_read(database, write_page, out), 0);
	database_close(database);
	fclose(out);
	return text;
}

static char *pages_of_set(const struct page_set *set)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(page_set_read(set, 0, write_page, out), 0);
	fclose(out);
	return text;
}

/* Each agent has some 370 totals, so three have more than a small round. */
static void a_round_without_a_bound_has_all(void **state)
{
	char *path = merge_fixture_path("profile");
	struct page_sender *sender = page_sender_create();
	struct page_set *set = page_set_create();

	(void)state;
	for (uint32_t round = 1; round <= MERGE_FIXTURE_AGENTS; round++) {
		const bool is_whole = round % 3 == 0;
		const uint64_t max_bytes = is_whole ? UINT64_MAX : 4000;

		merge_fixture_continue(path, (1u << round) - 1);
		assert_int_equal(page_sender_send(sender, path, max_bytes, send_to_set, set), 0);
		char *sent = pages_of_set(set), *expected = pages_of_store(path);
		assert_int_equal(strcmp(sent, expected) == 0, is_whole || round < 3);
		free(expected);
		free(sent);
	}
	unlink(path);
	page_set_destroy(set);
	page_sender_destroy(sender);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_that_is_too_large_has_the_heaviest_totals),
		cmocka_unit_test(a_round_without_a_bound_has_all),
	};

	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}
