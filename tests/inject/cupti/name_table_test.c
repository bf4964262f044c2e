#include "inject/cupti/name_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "tests/inject/test_ring.h"

struct fixture {
	struct test_ring ring;
	struct definition_writer writer;
	struct name_table *table;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	test_ring_init(&fixture->ring);
	fixture->writer = DEFINITION_WRITER_INIT(fixture->ring.guest);
	fixture->table = name_table_create(&fixture->writer, NAME_TABLE_BYTES);
	assert_non_null(fixture->table);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	name_table_destroy(fixture->table);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static void equal_names_at_different_addresses_are_one(void **state)
{
	struct fixture *fixture = *state;
	char first[] = "kernel", second[] = "kernel";

	assert_int_equal(name_table_intern(fixture->table, first), 1);
	assert_int_equal(name_table_intern(fixture->table, second), 1);
	assert_int_equal(name_table_intern(fixture->table, "other"), 2);
	assert_int_equal(name_table_intern(fixture->table, first), 1);
}

static void reused_address_is_told_apart_by_its_content(void **state)
{
	struct fixture *fixture = *state;
	char name[16] = "first";

	assert_int_equal(name_table_intern(fixture->table, name), 1);
	strcpy(name, "firstborn");
	assert_int_equal(name_table_intern(fixture->table, name), 2);
	strcpy(name, "first");
	assert_int_equal(name_table_intern(fixture->table, name), 1);
}

static void long_name_is_cut_and_says_so(void **state)
{
	struct fixture *fixture = *state;
	char *name = malloc(RECORD_NAME_MAX + 100);
	static struct {
		struct definition_name head;
		char text[RECORD_NAME_MAX + 1];
	} got;
	uint32_t type;

	memset(name, 'x', RECORD_NAME_MAX + 99);
	name[RECORD_NAME_MAX + 99] = '\0';
	assert_int_equal(name_table_intern(fixture->table, name), 1);
	assert_int_equal(name_table_intern(fixture->table, name), 1);
	assert_int_equal(test_ring_definition(&fixture->ring, &type, &got, sizeof(got)),
			 (int)(sizeof(got.head) + RECORD_NAME_MAX));
	assert_int_equal(got.head.truncated, 1);
	assert_int_equal(test_ring_definition(&fixture->ring, &type, &got, sizeof(got)), -1);
	free(name);
}

static void name_without_room_is_lost_and_tried_again(void **state)
{
	struct fixture *fixture = *state;
	char *name = malloc(60000), type_and_body[4096];
	static char body[DEFINITION_SIZE_MAX];
	uint32_t type, id = 1;

	memset(name, 'y', 59999);
	name[59999] = '\0';
	for (uint32_t i = 0; id != RECORD_NAME_NONE; i++) {
		snprintf(type_and_body, sizeof(type_and_body), "%08u", i);
		memcpy(name, type_and_body, 8);
		id = name_table_intern(fixture->table, name);
		assert_true(i < 100);
	}
	while (test_ring_definition(&fixture->ring, &type, body, sizeof(body)) >= 0)
		assert_int_equal(type, DEFINITION_NAME);
	test_ring_release(&fixture->ring);
	assert_int_not_equal(name_table_intern(fixture->table, name), RECORD_NAME_NONE);
	free(name);
}

static void no_name_has_no_id(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(name_table_intern(fixture->table, NULL), RECORD_NAME_NONE);
	assert_int_not_equal(name_table_intern(fixture->table, ""), RECORD_NAME_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_names_at_different_addresses_are_one, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(reused_address_is_told_apart_by_its_content, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(long_name_is_cut_and_says_so, set_up, tear_down),
		cmocka_unit_test_setup_teardown(name_without_room_is_lost_and_tried_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_name_has_no_id, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
