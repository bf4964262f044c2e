#include "inject/cupti/kernel_configs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "tests/inject/test_ring.h"

struct fixture {
	struct test_ring ring;
	struct definition_writer writer;
	struct kernel_configs *configs;
};

static struct fixture fixture;

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&fixture.ring);
	fixture.writer = DEFINITION_WRITER_INIT(fixture.ring.guest);
	fixture.configs = kernel_configs_create();
	return fixture.configs ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	kernel_configs_destroy(fixture.configs);
	test_ring_fini(&fixture.ring);
	return 0;
}

static bool add(uint32_t name_id, uint32_t grid_x, uint64_t ns)
{
	const struct kernel_config config = {
		.name_id = name_id, .grid_x = grid_x, .block_x = 32, .registers = 20};

	return kernel_configs_add(fixture.configs, &config, ns);
}

/* false: no more. */
static bool next(struct definition_kernel_config *sums)
{
	uint8_t body[256];
	uint32_t type;
	int size = test_ring_definition(&fixture.ring, &type, body, sizeof(body));

	if (size < 0)
		return false;
	assert_int_equal(type, DEFINITION_KERNEL_CONFIG);
	assert_int_equal(size, sizeof(*sums));
	memcpy(sums, body, sizeof(*sums));
	return true;
}

static void equal_configurations_are_one_row(void **state)
{
	struct definition_kernel_config sums;

	(void)state;
	assert_true(add(1, 8, 300));
	assert_true(add(1, 9, 50));
	assert_true(add(1, 8, 100));
	assert_true(add(2, 8, 70));
	assert_true(add(1, 8, 200));
	assert_int_equal(kernel_configs_define(fixture.configs, &fixture.writer), 0);
	assert_true(next(&sums));
	assert_int_equal(sums.config.name_id, 1);
	assert_int_equal(sums.config.grid_x, 8);
	assert_int_equal(sums.config.registers, 20);
	assert_int_equal(sums.count, 3);
	assert_int_equal(sums.total_ns, 600);
	assert_int_equal(sums.min_ns, 100);
	assert_int_equal(sums.max_ns, 300);
	assert_true(next(&sums));
	assert_int_equal(sums.config.grid_x, 9);
	assert_true(next(&sums));
	assert_int_equal(sums.config.name_id, 2);
	assert_false(next(&sums));
}

static void only_rows_that_changed_are_defined_again(void **state)
{
	struct definition_kernel_config sums;

	(void)state;
	add(1, 8, 300);
	add(1, 9, 300);
	kernel_configs_define(fixture.configs, &fixture.writer);
	while (next(&sums))
		;
	kernel_configs_define(fixture.configs, &fixture.writer);
	assert_false(next(&sums));
	add(1, 9, 0);
	kernel_configs_define(fixture.configs, &fixture.writer);
	assert_true(next(&sums));
	assert_int_equal(sums.count, 2);
	assert_int_equal(sums.min_ns, 0);
	assert_false(next(&sums));
}

static void a_full_table_takes_no_other_configuration(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < KERNEL_CONFIGS_MAX; i++)
		assert_true(add(1 + i % 7, i, 10));
	assert_false(add(1, KERNEL_CONFIGS_MAX, 10));
	assert_true(add(1, 0, 10));
	assert_false(add(8, 0, 10));
}

static void what_finds_no_room_is_tried_again(void **state)
{
	uint8_t filler[4096] = {0};
	uint8_t body[4200];
	uint32_t type;

	(void)state;
	add(1, 8, 300);
	add(1, 8, 300);
	while (definition_writer_put(&fixture.writer, DEFINITION_NOTICE, filler, sizeof(filler),
				     NULL, 0))
		;
	while (definition_writer_put(&fixture.writer, DEFINITION_NOTICE, filler, 8, NULL, 0))
		;
	assert_int_equal(kernel_configs_define(fixture.configs, &fixture.writer), 2);
	while (test_ring_definition(&fixture.ring, &type, body, sizeof(body)) >= 0)
		;
	test_ring_release(&fixture.ring);
	assert_int_equal(kernel_configs_define(fixture.configs, &fixture.writer), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(equal_configurations_are_one_row),
		TEST(only_rows_that_changed_are_defined_again),
		TEST(a_full_table_takes_no_other_configuration),
		TEST(what_finds_no_room_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
