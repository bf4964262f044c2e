#include "aggregator/profile/idle_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct idle_log *log_;

static int set_up(void **state)
{
	(void)state;
	log_ = idle_log_create();
	return log_ ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	idle_log_destroy(log_);
	return 0;
}

static void work(uint32_t device, uint64_t start_ns, uint64_t last_ns)
{
	const struct idle_work new = {
		.start_ns = start_ns, .end_ns = start_ns + 1, .process_id = 1, .tid = 7};

	assert_int_equal(idle_log_work(log_, device, &new, last_ns), 0);
}

static const struct idle_device *device(uint32_t id)
{
	uint32_t count;
	const struct idle_device *devices = idle_log_devices(log_, &count);

	assert_true(id <= count);
	return &devices[id - 1];
}

static void a_devices_log_begins_with_its_first_work(void **state)
{
	(void)state;
	assert_false(idle_log_has_begun(log_, 2));
	work(2, 1000, 900);
	assert_true(idle_log_has_begun(log_, 2));
	assert_false(idle_log_has_begun(log_, 1));
	assert_int_equal(device(2)->from_ns, 900);
	assert_true(device(2)->to_ns == UINT64_MAX);
	assert_int_equal(device(2)->block.count, 1);
}

static void a_block_is_of_a_fixed_number_of_records_whenever_it_is_saved(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < IDLE_LOG_BLOCK + 10; i++) {
		work(1, (i + 1) * 100000ull, 0);
		if (i == 1000) {
			assert_int_equal(device(1)->block.count, 1001);
			idle_log_saved(log_);
		}
	}
	assert_int_equal(device(1)->nr_full, 1);
	assert_int_equal(device(1)->full[0].index, 0);
	assert_int_equal(device(1)->full[0].records, IDLE_LOG_BLOCK);
	assert_int_equal(device(1)->full[0].count, IDLE_LOG_BLOCK);
	assert_int_equal(device(1)->block.index, 1);
	assert_int_equal(device(1)->block.count, 10);
	assert_int_equal(device(1)->nr_pieces, IDLE_LOG_BLOCK);
	idle_log_saved(log_);
	assert_int_equal(device(1)->nr_full, 0);
	assert_false(device(1)->changed);
}

static void a_full_log_ends_where_the_first_left_out_begins(void **state)
{
	(void)state;
	assert_int_equal(idle_log_load_device(log_, 1, 50, UINT64_MAX, 1024, IDLE_LOG_WORK_MAX), 0);
	work(1, 7000, 0);
	work(1, 6000, 0);
	work(1, 8000, 0);
	assert_int_equal(device(1)->from_ns, 50);
	assert_int_equal(device(1)->to_ns, 6000);
	assert_int_equal(device(1)->block.records, 0);
	assert_true(device(1)->changed);
}

static void what_was_not_saved_is_not_loaded(void **state)
{
	struct idle_work pieces[2] = {{.start_ns = 1, .end_ns = 2}};
	struct idle_block block = {.index = 3, .records = 5, .count = 2, .work = pieces};

	(void)state;
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	assert_int_equal(idle_log_load_device(log_, 1, 0, UINT64_MAX, 3, 100), 0);
	assert_int_equal(idle_log_load_device(log_, 1, 0, UINT64_MAX, 3, 100), -EINVAL);
	block.index = 2;
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	block = (struct idle_block){3, IDLE_LOG_BLOCK, 2, pieces};
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	block = (struct idle_block){3, 1, 2, pieces};
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	block = (struct idle_block){3, 5, 2, pieces};
	assert_int_equal(idle_log_load_block(log_, 1, &block), 0);
	assert_int_equal(idle_log_load_block(log_, 1, &block), -EINVAL);
	assert_int_equal(device(1)->block.count, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_devices_log_begins_with_its_first_work),
		TEST(a_block_is_of_a_fixed_number_of_records_whenever_it_is_saved),
		TEST(a_full_log_ends_where_the_first_left_out_begins),
		TEST(what_was_not_saved_is_not_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
