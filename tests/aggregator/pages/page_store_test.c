/* A store is the same after it has travelled as pages. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../merge/merge_fixture.h"

#include "aggregator/merge/profile_merge.h"
#include "aggregator/pages/page_reader.h"
#include "aggregator/pages/page_store.h"
#include "aggregator/pages/page_tables.h"
#include "aggregator/store/store.h"

/* Copies of pages. */
struct copies {
	struct profile_page *pages; /* owns, as their bytes */
	uint32_t count;
};

static int copy_page(void *context, const struct profile_page *page)
{
	struct copies *copies = context;
	uint8_t *bytes = malloc(page->size);

	assert_non_null(bytes);
	memcpy(bytes, page->bytes, page->size);
	copies->pages = realloc(copies->pages, (copies->count + 1) * sizeof(*copies->pages));
	assert_non_null(copies->pages);
	copies->pages[copies->count] = *page;
	copies->pages[copies->count++].bytes = bytes;
	return 0;
}

static struct copies read_pages(const char *path)
{
	struct copies copies = {.count = 0};
	struct database *database;

	assert_int_equal(database_open(path, true, &database, NULL), 0);
	assert_int_equal(page_reader_read(database, copy_page, &copies), 0);
	database_close(database);
	return copies;
}

static void free_pages(struct copies *copies)
{
	for (uint32_t i = 0; i < copies->count; i++)
		free((void *)copies->pages[i].bytes);
	free(copies->pages);
}

static struct database *make_store(const struct copies *copies, enum page_store_part part)
{
	struct page_store *store;

	assert_int_equal(page_store_create(part, &store), 0);
	for (uint32_t i = 0; i < copies->count; i++)
		assert_int_equal(page_store_add(store, &copies->pages[i]), 0);
	struct database *database = page_store_finish(store);
	assert_non_null(database);
	return database;
}

/* Both ways, all columns of all tables, with their types. */
static void expect_equal_tables(struct database *database, const char *path)
{
	struct page_tables tables;
	char sql[1024];

	snprintf(sql, sizeof(sql), "ATTACH '%s' AS other", path);
	assert_int_equal(database_execute(database, sql), 0);
	assert_int_equal(page_tables_read(database, &tables), 0);
	assert_true(tables.count > 30);
	for (uint32_t i = 0; i < tables.count; i++) {
		const char *name = tables.tables[i].name;
		int64_t ours, theirs;

		for (int way = 0; way < 2; way++) {
			snprintf(sql, sizeof(sql),
				 "SELECT count(*) FROM (SELECT * FROM %s.%s EXCEPT SELECT * FROM "
				 "%s.%s)",
				 way ? "other" : "main", name, way ? "main" : "other", name);
			assert_int_equal(database_query_number(database, sql, &ours), 0);
			if (ours)
				fail_msg("%s differs in %lld rows", name, (long long)ours);
		}
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM main.%s", name);
		assert_int_equal(database_query_number(database, sql, &ours), 0);
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM other.%s", name);
		assert_int_equal(database_query_number(database, sql, &theirs), 0);
		assert_int_equal(ours, theirs);
	}
	assert_int_equal(database_execute(database, "DETACH other"), 0);
}

/* As stream_timeline_close() does. Returns the number of open intervals that there were. */
static int64_t close_timelines(const char *path)
{
	struct database *database;
	int64_t nr_open;

	assert_int_equal(database_open(path, false, &database, NULL), 0);
	assert_int_equal(
		database_query_number(database, "SELECT sum(nr_open) FROM timelines", &nr_open), 0);
	assert_int_equal(database_execute(database, "UPDATE timelines SET closed_ns = busy_ns,"
						    " horizon_ns = last_ns, nr_open = 0;"
						    "DELETE FROM timeline_blocks"),
			 0);
	database_close(database);
	return nr_open;
}

static void pages_make_an_equal_store_but_for_open_intervals(void **state)
{
	char *path = merge_fixture_path("store");

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		merge_fixture_write(path, MERGE_FIXTURE_ALL, seed);
		struct copies copies = read_pages(path);
		struct database *database = make_store(&copies, PAGE_STORE_ALL);

		assert_true(close_timelines(path) > 0);
		expect_equal_tables(database, path);
		database_close(database);
		free_pages(&copies);
		unlink(path);
	}
	free(path);
}

/* Returns the number of the table whose blocks commits cut: these tell how often there was one. */
static uint32_t table_of_samples(struct database *database)
{
	struct page_tables tables;
	uint32_t number = 0;

	assert_int_equal(page_tables_read(database, &tables), 0);
	while (strcmp(tables.tables[number].name, "sample_blocks") != 0)
		assert_true(++number < tables.count);
	return number;
}

struct position {
	struct copies pages;
	uint32_t samples_table;
	int64_t nr_samples;
};

/* Without the writer's random name. */
static struct position read_position(const char *path)
{
	struct position position;
	struct database *database;

	assert_int_equal(store_recover(path), 0);
	assert_int_equal(database_open(path, false, &database, NULL), 0);
	assert_int_equal(database_execute(database, "UPDATE writers SET writer = zeroblob(16)"), 0);
	position.samples_table = table_of_samples(database);
	assert_int_equal(database_query_number(database,
					       "SELECT coalesce(sum(count), 0) FROM sample_blocks",
					       &position.nr_samples),
			 0);
	database_close(database);
	position.pages = read_pages(path);
	return position;
}

static void expect_equal_positions(const struct position *position, const struct position *expected)
{
	const struct copies *pages = &position->pages, *others = &expected->pages;

	assert_int_equal(position->nr_samples, expected->nr_samples);
	assert_int_equal(pages->count, others->count);
	for (uint32_t i = 0; i < pages->count; i++) {
		const struct profile_page *page = &pages->pages[i], *other = &others->pages[i];

		assert_int_equal(page->table, other->table);
		assert_int_equal(page->number, other->number);
		if (page->table == position->samples_table)
			continue;
		assert_int_equal(page->size, other->size);
		assert_memory_equal(page->bytes, other->bytes, page->size);
	}
}

/* All at once; or some, then the rest by another process, which loads the tables, or replays the messages that a killed
 * one has stored: the seed decides. */
static void pages_of_one_position_are_equal_however_it_was_reached(void **state)
{
	const uint32_t step = getenv("FLAMEGRID_NIGHTLY") ? 4 : 64;
	char *live = merge_fixture_path("live"), *continued = merge_fixture_path("continued");

	(void)state;
	for (uint32_t agent = 0; agent < MERGE_FIXTURE_AGENTS; agent++) {
		merge_fixture_write(live, 1u << agent, 1);
		struct position expected = read_position(live);

		for (uint32_t share = 0; share <= 256; share += step)
			for (uint64_t seed = 1; seed <= 2; seed++) {
				merge_fixture_write_both(continued, NULL, share, 1u << agent, seed);
				struct position position = read_position(continued);

				expect_equal_positions(&position, &expected);
				free_pages(&position.pages);
				unlink(continued);
			}
		free_pages(&expected.pages);
		unlink(live);
	}
	free(live);
	free(continued);
}

static void pages_come_by_table_and_number(void **state)
{
	char *path = merge_fixture_path("store");

	(void)state;
	merge_fixture_write(path, MERGE_FIXTURE_ALL, 1);
	struct copies copies = read_pages(path);
	for (uint32_t i = 0; i < copies.count; i++) {
		const struct profile_page *page = &copies.pages[i], *before = page - 1;

		if (i == 0 || before->table != page->table) {
			assert_int_equal(page->number, 0);
			assert_true(i == 0 || before->table < page->table);
		} else
			assert_int_equal(page->number, before->number + 1);
	}
	free_pages(&copies);
	unlink(path);
	free(path);
}

static int open_copies(void *context, enum merge_part part, struct database **database,
		       char **error)
{
	(void)error;
	*database =
		make_store(context, part == MERGE_PART_NAMES ? PAGE_STORE_NAMES : PAGE_STORE_ROWS);
	return 0;
}

static void stores_of_pages_merge_as_the_stores_do(void **state)
{
	char *one = merge_fixture_path("one"), *two = merge_fixture_path("two");
	char *of_stores = merge_fixture_path("of_stores"),
	     *of_pages = merge_fixture_path("of_pages"), *error;

	(void)state;
	merge_fixture_write(one, 0x15, 1);
	merge_fixture_write(two, 0x2a, 2);
	merge_fixture_merge((const char *const[]){one, two}, 2, of_stores);
	struct copies copies = read_pages(two);
	const struct merge_source sources[] = {
		{.path = one}, {.path = "pages of two", .open = open_copies, .context = &copies}};
	assert_int_equal(profile_merge(sources, 2, false, of_pages, &error), 0);
	char *expected = merge_fixture_dump(of_stores), *dump = merge_fixture_dump(of_pages);
	assert_string_equal(dump, expected);
	free(dump);
	free(expected);
	free_pages(&copies);
	for (int i = 0; i < 4; i++) {
		char *path = (char *[]){one, two, of_stores, of_pages}[i];

		unlink(path);
		free(path);
	}
}

/* Nodes are writers of their own, and a central store is one. All else must be equal, so all rows get one writer. */
static const char one_writer[] =
	"UPDATE epochs SET writer = 1; UPDATE processes SET writer = 1;"
	"UPDATE timelines SET process = 1 WHERE level = 1; /* those of devices */"
	"UPDATE idle_blocks SET writer = 1;"
	"UPDATE idle_devices SET writer = 1; DELETE FROM writers;";

/* Merges, and returns the pages of the merged store. */
static struct copies merge_to_pages(const struct merge_source *sources, uint32_t nr_sources)
{
	char *path = merge_fixture_path("merged"), *error;
	struct database *database;

	if (profile_merge(sources, nr_sources, false, path, &error))
		fail_msg("%s", error);
	assert_int_equal(database_open(path, false, &database, NULL), 0);
	assert_int_equal(database_execute(database, one_writer), 0);
	database_close(database);
	struct copies copies = read_pages(path);
	unlink(path);
	free(path);
	return copies;
}

/* The pages of one merged profile: of a central store that gets all agents' frames up to a share of 256, or of one
 * store for each agent, whose pages are sent. Each is cut into two runs, too. */
static struct copies fold_frames(bool central, uint32_t share, uint64_t seed)
{
	const uint32_t nr_stores = central ? 1 : MERGE_FIXTURE_AGENTS;
	char *whole = merge_fixture_path("whole"), *copy = merge_fixture_path("copy");
	struct merge_source sources[MERGE_FIXTURE_AGENTS] = {{0}};
	struct copies nodes[MERGE_FIXTURE_AGENTS];

	for (uint32_t i = 0; i < nr_stores; i++) {
		merge_fixture_write_both(whole, copy, share, central ? MERGE_FIXTURE_ALL : 1u << i,
					 seed + i);
		assert_int_equal(store_recover(copy), 0);
		nodes[i] = read_pages(copy);
		sources[i] = (struct merge_source){
			.path = copy, .open = central ? NULL : open_copies, .context = &nodes[i]};
		unlink(whole);
		if (!central)
			unlink(copy);
	}
	struct copies merged = merge_to_pages(sources, nr_stores);
	for (uint32_t i = 0; i < nr_stores; i++)
		free_pages(&nodes[i]);
	unlink(copy);
	free(copy);
	free(whole);
	return merged;
}

static void nodes_pages_are_those_of_a_central_store_of_the_same_frames(void **state)
{
	const uint32_t step = getenv("FLAMEGRID_NIGHTLY") ? 4 : 64;

	(void)state;
	for (uint32_t share = step; share <= 256; share += step) {
		struct copies expected = fold_frames(true, share, share);

		assert_true(expected.count > 20);
		for (uint64_t seed = 1; seed <= 2; seed++) {
			struct copies merged = fold_frames(false, share, seed);

			assert_int_equal(merged.count, expected.count);
			for (uint32_t i = 0; i < merged.count; i++) {
				const struct profile_page *page = &merged.pages[i],
							  *other = &expected.pages[i];

				assert_int_equal(page->table, other->table);
				assert_int_equal(page->number, other->number);
				if (page->size != other->size ||
				    memcmp(page->bytes, other->bytes, page->size) != 0)
					fail_msg("share %u: page %u of table %u", share,
						 page->number, page->table);
			}
			free_pages(&merged);
		}
		free_pages(&expected);
	}
}

/* Each page with each byte changed, and each shorter page. What is taken may be wrong, but not dangerous. */
static void damaged_pages_are_refused_or_harmless(void **state)
{
	char *path = merge_fixture_path("store");
	uint32_t nr_refused = 0;

	(void)state;
	merge_fixture_write(path, 1, 1);
	struct copies copies = read_pages(path);
	for (uint32_t i = 0; i < copies.count; i++) {
		struct profile_page page = copies.pages[i];
		uint8_t *bytes = (uint8_t *)page.bytes;

		for (uint32_t at = 0; at < page.size && at < 512; at++) {
			struct page_store *store;

			assert_int_equal(page_store_create(PAGE_STORE_ALL, &store), 0);
			page.size = at;
			assert_int_equal(page_store_add(store, &page), -EPROTO);
			page.size = copies.pages[i].size;
			bytes[at] ^= 0x80;
			nr_refused += page_store_add(store, &page) != 0;
			bytes[at] ^= 0x80;
			page_store_destroy(store);
			at += at / 8;
		}
	}
	assert_true(nr_refused > copies.count);
	struct page_store *store;
	struct profile_page other = copies.pages[0];
	assert_int_equal(page_store_create(PAGE_STORE_ALL, &store), 0);
	other.table = PROFILE_TABLES_MAX - 1;
	assert_int_equal(page_store_add(store, &other), -EPROTO);
	page_store_destroy(store);
	free_pages(&copies);
	unlink(path);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_make_an_equal_store_but_for_open_intervals),
		cmocka_unit_test(pages_of_one_position_are_equal_however_it_was_reached),
		cmocka_unit_test(pages_come_by_table_and_number),
		cmocka_unit_test(stores_of_pages_merge_as_the_stores_do),
		cmocka_unit_test(nodes_pages_are_those_of_a_central_store_of_the_same_frames),
		cmocka_unit_test(damaged_pages_are_refused_or_harmless),
	};

	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}
