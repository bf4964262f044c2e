#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/base/device_list.h"
#include "node-agent/base/device_topology.h"

#define UUID_A "00112233-4455-6677-8899-aabbccddeeff"
#define UUID_B "GPU-ffeeddcc-bbaa-9988-7766-554433221100"

static int parse(const char *text, struct device_list *list, uint32_t *line, const char **problem)
{
	memset(list, 0, sizeof(*list));
	return device_list_parse(text, strlen(text), list, line, problem);
}

static void devices_are_read_with_comments_and_empty_lines(void **state)
{
	struct device_list list;
	const char *problem;
	uint32_t line;

	(void)state;
	assert_int_equal(parse("# node\n\n0 0000:17:00.0 " UUID_A " NVIDIA H200\n"
			       "\t1  00000000:65:00  " UUID_B "\r\n",
			       &list, &line, &problem),
			 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.entries[1].index, 1);
	assert_int_equal(list.entries[1].pci_bus, 0x65);
	assert_int_equal(list.entries[1].uuid[0], 0xff);
	assert_int_equal(list.entries[0].uuid[15], 0xff);
	device_list_fini(&list);
}

static void a_bad_line_is_named_with_its_number(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
	} cases[] = {
		{"x 0000:17:00.0 " UUID_A "\n", 1},
		{"-1 0000:17:00.0 " UUID_A "\n", 1},
		{"0\n", 1},
		{"# one\n0 17 " UUID_A "\n", 2},
		{"0 0000:17:00.0:1 " UUID_A "\n", 1},
		{"0 0000:17:00.0 " UUID_A "0\n", 1},
		{"0 0000:17:00.0 12345\n", 1},
		{"0 0000:17:00.0\n", 1},
		{"0 0000:17:00.0 " UUID_A "\n\n0 0000:18:00.0 " UUID_B "\n", 3},
		{"0 0000:17:00.0 " UUID_A "\n1 0000:17:00.0 " UUID_B "\n", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct device_list list;
		const char *problem = NULL;
		uint32_t line = 0;

		assert_int_equal(parse(cases[i].text, &list, &line, &problem), -EINVAL);
		assert_int_equal(line, cases[i].line);
		assert_non_null(problem);
		device_list_fini(&list);
	}
}

static void a_file_error_names_file_and_line(void **state)
{
	char path[] = "/tmp/device_list_test.XXXXXX";
	struct device_list list;
	char *error = NULL, expected[128];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "# x\nbad\n", 8), 8);
	close(fd);
	assert_int_equal(device_list_read(path, &list, &error), -EINVAL);
	snprintf(expected, sizeof(expected), "devices: %s:2: the index is not a number", path);
	assert_string_equal(error, expected);
	assert_int_equal(list.count, 0);
	free(error);
	unlink(path);
	assert_int_equal(device_list_read(path, &list, &error), -ENOENT);
	assert_non_null(strstr(error, path));
	free(error);
}

static void a_device_is_found_by_address_before_uuid(void **state)
{
	struct device_list list;
	const char *problem;
	uint32_t line;
	const uint8_t none[WIRE_UUID_SIZE] = {0};

	(void)state;
	assert_int_equal(parse("0 0000:17:00.0 " UUID_A "\n1 0000:18:00.0 " UUID_B "\n", &list,
			       &line, &problem),
			 0);
	assert_ptr_equal(device_list_find(&list, 0, 0x17, 0, list.entries[1].uuid),
			 &list.entries[0]);
	assert_ptr_equal(device_list_find(&list, 9, 0x17, 0, list.entries[1].uuid),
			 &list.entries[1]);
	assert_null(device_list_find(&list, 9, 0x17, 0, none));
	device_list_fini(&list);
}

static void the_buses_of_this_machine_can_be_read(void **state)
{
	struct device_list list;

	(void)state;
	assert_int_equal(device_topology_read(&list), 0);
	for (uint32_t i = 0; i < list.count; i++)
		assert_int_equal(list.entries[i].index, i);
	device_list_fini(&list);
	assert_int_equal(list.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_read_with_comments_and_empty_lines),
		cmocka_unit_test(a_bad_line_is_named_with_its_number),
		cmocka_unit_test(a_file_error_names_file_and_line),
		cmocka_unit_test(a_device_is_found_by_address_before_uuid),
		cmocka_unit_test(the_buses_of_this_machine_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
