#include "aggregator/core/launch_history.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int set_up(void **state)
{
	struct launch_history *history = calloc(1, sizeof(*history));

	*state = history;
	return launch_history_init(history, 2, true);
}

static int tear_down(void **state)
{
	launch_history_fini(*state);
	free(*state);
	return 0;
}

static void add(struct launch_history *history, uint32_t correlation_id, uint16_t flags)
{
	const struct launch launch = {.correlation_id = correlation_id,
				      .window = 1,
				      .flags = (uint16_t)(LAUNCH_USED | flags),
				      .order = correlation_id};

	assert_int_equal(launch_history_add(history, &launch), 0);
}

static struct launch *find(struct launch_history *history, uint32_t correlation_id)
{
	return launch_history_find(history, 1, correlation_id);
}

static void a_retired_launch_stays_until_enough_others_are(void **state)
{
	struct launch_history *history = *state;

	for (uint32_t id = 1; id <= 3; id++)
		add(history, id, 0);
	assert_int_equal(history->nr_outstanding, 3);
	for (uint32_t id = 1; id <= 2; id++)
		assert_int_equal(launch_history_retire(history, find(history, id), id - 1), 0);
	assert_non_null(find(history, 1));
	assert_int_equal(history->nr_outstanding, 1);
	assert_int_equal(launch_history_retire(history, find(history, 3), 2), 0);
	assert_null(find(history, 1));
	assert_non_null(find(history, 2));
	assert_int_equal(history->nr_outstanding, 0);
}

static void slots_of_several_chunks_are_as_many_as_asked_for(void **state)
{
	(void)state;
	const uint32_t retired_max = 2 * LAUNCH_RETIRED_CHUNK + 3;
	struct launch_history history;

	assert_int_equal(launch_history_init(&history, retired_max, true), 0);
	for (uint32_t id = 1; id <= 3 * retired_max; id++) {
		add(&history, id, 0);
		assert_int_equal(launch_history_retire(&history, find(&history, id), id - 1), 0);
		assert_non_null(find(&history, id > retired_max ? id - retired_max + 1 : 1));
		if (id > retired_max)
			assert_null(find(&history, id - retired_max));
	}
	assert_int_equal(launch_history_end(&history), 0);
	assert_null(find(&history, 3 * retired_max));
	add(&history, 1, 0);
	assert_int_equal(launch_history_retire(&history, find(&history, 1), 0), 0);
	assert_non_null(find(&history, 1));
	launch_history_fini(&history);
}

static void a_key_that_came_again_is_not_forgotten_for_its_forerunner(void **state)
{
	struct launch_history *history = *state;

	add(history, 1, 0);
	assert_int_equal(launch_history_retire(history, find(history, 1), 0), 0);
	assert_int_equal(launch_history_forget(history, find(history, 1)), 0);
	add(history, 1, 0);
	for (uint32_t id = 2; id <= 4; id++) {
		add(history, id, 0);
		assert_int_equal(launch_history_retire(history, find(history, id), id - 1), 0);
	}
	assert_non_null(find(history, 1));
	assert_int_equal(history->nr_outstanding, 1);
}

static void the_end_counts_what_was_never_answered(void **state)
{
	struct launch_history *history = *state;

	add(history, 1, 0);
	add(history, 2, LAUNCH_MATCHED | LAUNCH_MANY);
	add(history, 3, LAUNCH_HOST);
	add(history, 4, 0);
	assert_int_equal(launch_history_retire(history, find(history, 4), 0), 0);
	assert_true(launch_history_end(history) == 1);
	assert_null(find(history, 4));
	assert_int_equal(history->nr_outstanding, 0);
}

static void what_changes_is_saved_by_block_and_comes_back(void **state)
{
	struct launch_history *history = *state;
	struct launch_history copy;
	struct launch block[LAUNCH_HISTORY_BLOCK];

	add(history, LAUNCH_HISTORY_BLOCK - 1, 0);
	add(history, LAUNCH_HISTORY_BLOCK, 0);
	assert_int_equal(launch_history_retire(history, find(history, LAUNCH_HISTORY_BLOCK), 0), 0);
	assert_int_equal(history->changed.count, 2);
	assert_int_equal(launch_history_init(&copy, 2, true), 0);
	for (uint32_t i = 0; i < history->changed.count; i++) {
		assert_int_equal(launch_history_block(history, history->changed.blocks[i], block),
				 1);
		assert_int_equal(launch_history_load(&copy, block), 0);
		assert_int_equal(launch_history_load(&copy, block), -EINVAL); /* is there */
	}
	assert_int_equal(copy.changed.count, 0);
	assert_int_equal(copy.nr_outstanding, 1);
	assert_int_equal(find(&copy, LAUNCH_HISTORY_BLOCK)->flags, LAUNCH_USED | LAUNCH_RETIRED);
	launch_history_saved(history);
	assert_int_equal(history->changed.count, 0);
	assert_int_equal(launch_history_touch(history, find(history, LAUNCH_HISTORY_BLOCK)), 0);
	assert_int_equal(history->changed.count, 1);
	launch_history_fini(&copy);
}

static void launches_that_nobody_saved_are_refused(void **state)
{
	struct launch_history *history = *state;
	struct launch launch = {.correlation_id = 1};

	assert_int_equal(launch_history_load(history, &launch), -EINVAL);
	launch.flags = LAUNCH_USED | LAUNCH_RETIRED;
	assert_int_equal(launch_history_load(history, &launch), 0);
	launch.correlation_id = 2;
	launch.order = 2; /* the slot of order 0 */
	assert_int_equal(launch_history_load(history, &launch), -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_retired_launch_stays_until_enough_others_are),
		TEST(slots_of_several_chunks_are_as_many_as_asked_for),
		TEST(a_key_that_came_again_is_not_forgotten_for_its_forerunner),
		TEST(the_end_counts_what_was_never_answered),
		TEST(what_changes_is_saved_by_block_and_comes_back),
		TEST(launches_that_nobody_saved_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
