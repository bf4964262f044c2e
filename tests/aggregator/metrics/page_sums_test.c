/* What a node tells in pages is what its store has. */
#include "aggregator/metrics/page_sums.h"

#include <stdlib.h>
#include <string.h>

#include "../store/store_fixture.h"

#include "aggregator/metrics/metrics_sums.h"
#include "aggregator/pages/page_reader.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/profile/collection.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_waits.h"
#include "tests/support/cmocka_test.h"

#define SECOND_NS 1000000000ull

struct round {
	struct page_set *set;
	struct message_pages pages;
	uint32_t nr_pages[PROFILE_TABLES_MAX];
};

static int add_page(void *context, const struct profile_page *page)
{
	struct round *round = context;
	const struct message_page_part part = {.table = page->table,
					       .number = page->number,
					       .page_bytes = page->size,
					       .size = page->size};
	const char *reason = "";

	round->pages.parts = &part;
	round->pages.nr_parts = 1;
	round->pages.bytes = page->bytes;
	round->pages.nr_bytes = page->size;
	round->nr_pages[page->table] = page->number + 1;
	return page_set_take(round->set, &round->pages, &reason);
}

/* Sends the store as a round of a node's pages. */
static void send_round(struct page_set *set, uint8_t node, uint64_t number)
{
	struct round round = {.set = set, .pages = {.seq = number, .round = number}};
	struct message_page_table tables[PROFILE_TABLES_MAX];
	struct database *database;
	const char *reason = "";

	round.pages.writer[0] = node;
	assert_int_equal(database_open(store_fixture.path, true, &database, NULL), 0);
	assert_int_equal(page_reader_read(database, add_page, &round), 0);
	database_close(database);
	for (uint32_t i = 0; i < PROFILE_TABLES_MAX; i++)
		tables[i] = (struct message_page_table){i, round.nr_pages[i]};
	round.pages.nr_parts = round.pages.nr_bytes = 0;
	round.pages.nr_tables = PROFILE_TABLES_MAX;
	round.pages.tables = tables;
	assert_int_equal(page_set_take(set, &round.pages, &reason), 0);
}

/* Applies frames, and ends as an agent does; then the store is whole. */
static void write_store(uint64_t frames)
{
	store_fixture_open_all();
	store_fixture_apply_up_to(frames);
	store_fixture_commit();
	store_fixture_close_all();
}

/* The sums of the store, as of an aggregator that has it. */
static void take_stored(struct metrics_sums *sums)
{
	struct store_waits waits = {0};

	store_fixture_open_all();
	assert_int_equal(metrics_sums_take(sums, store_fixture.collection, &waits, NULL), 0);
	store_fixture_close_all();
}

static void assert_equal_sums(const struct metrics_sums *sums, const struct metrics_sums *expected,
			      uint64_t times)
{
	assert_true(expected->devices.nr_devices > 0 && expected->launches > 0);
	assert_int_equal(sums->launches, times * expected->launches);
	for (uint32_t i = 0; i < LEDGER_REASONS; i++)
		assert_int_equal(sums->lost[i], times * expected->lost[i]);
	assert_int_equal(sums->devices.nr_devices, expected->devices.nr_devices);
	for (uint32_t i = 0; i < expected->devices.nr_devices; i++) {
		const struct device_total *want = &expected->devices.devices[i], *got = NULL;

		for (uint32_t at = 0; at < sums->devices.nr_devices; at++)
			if (memcmp(&sums->devices.devices[at].identity, &want->identity,
				   sizeof(want->identity)) == 0)
				got = &sums->devices.devices[at];
		assert_non_null(got);
		assert_int_equal(got->sums.activities, times * want->sums.activities);
		assert_int_equal(got->sums.work_ns, times * want->sums.work_ns);
		assert_int_equal(got->sums.busy_ns, times * want->sums.busy_ns);
		assert_int_equal(got->sums.observed_ns, times * want->sums.observed_ns);
		assert_int_equal(got->sums.late_ns, times * want->sums.late_ns);
		assert_int_equal(got->sums.kernels_ns, times * want->sums.kernels_ns);
		assert_int_equal(got->sums.communication_ns, times * want->sums.communication_ns);
		assert_int_equal(got->sums.computation_ns, times * want->sums.computation_ns);
	}
}

static void pages_have_the_sums_of_the_store(void **state)
{
	struct metrics_sums stored, told = {0};
	struct page_set *set = page_set_create();
	struct page_sums *pages = page_sums_create(set);
	bool is_behind;

	(void)state;
	write_store(store_fixture.scenario.nr_frames);
	take_stored(&stored);
	assert_int_equal(page_sums_add(pages, SECOND_NS, false, &told, &is_behind), 0);
	assert_int_equal(told.devices.nr_devices, 0);
	send_round(set, 1, 1);
	assert_int_equal(page_sums_add(pages, 60 * SECOND_NS, false, &told, &is_behind), 0);
	assert_false(is_behind);
	assert_equal_sums(&told, &stored, 1);
	send_round(set, 2, 1);
	metrics_sums_fini(&told);
	told = (struct metrics_sums){0};
	assert_int_equal(page_sums_add(pages, 120 * SECOND_NS, true, &told, &is_behind), 0);
	assert_equal_sums(&told, &stored, 2);
	metrics_sums_fini(&told);
	metrics_sums_fini(&stored);
	page_sums_destroy(pages);
	page_set_destroy(set);
}

static void newer_rounds_wait_while_it_rests(void **state)
{
	struct metrics_sums half, whole, told = {0};
	struct page_set *set = page_set_create();
	struct page_sums *pages = page_sums_create(set);
	bool is_behind;

	(void)state;
	write_store(store_fixture.scenario.nr_frames / 2);
	take_stored(&half);
	send_round(set, 1, 1);
	assert_int_equal(page_sums_add(pages, SECOND_NS, false, &told, &is_behind), 0);
	assert_equal_sums(&told, &half, 1);
	metrics_sums_fini(&told);
	write_store(store_fixture.scenario.nr_frames);
	take_stored(&whole);
	assert_true(whole.launches > half.launches);
	send_round(set, 1, 2);
	told = (struct metrics_sums){0};
	assert_int_equal(page_sums_add(pages, SECOND_NS, false, &told, &is_behind), 0);
	assert_true(is_behind);
	assert_equal_sums(&told, &half, 1);
	metrics_sums_fini(&told);
	told = (struct metrics_sums){0};
	assert_int_equal(page_sums_add(pages, SECOND_NS, true, &told, &is_behind), 0);
	assert_false(is_behind);
	assert_equal_sums(&told, &whole, 1);
	metrics_sums_fini(&told);
	metrics_sums_fini(&half);
	metrics_sums_fini(&whole);
	page_sums_destroy(pages);
	page_set_destroy(set);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_have_the_sums_of_the_store),
		TEST(newer_rounds_wait_while_it_rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
