#include "inject/cupti/cupti_host_part.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef bool host_part_is_found(void);

static host_part_is_found *open_cupti(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *address = handle ? dlsym(handle, "host_part_is_found") : NULL;
	host_part_is_found *function = NULL;

	assert_non_null(address);
	memcpy(&function, &address, sizeof(address));
	return function;
}

static void the_library_beside_it_is_found_by_its_name(void **state)
{
	host_part_is_found *is_found = open_cupti(HOST_PART_CUPTI);

	(void)state;
	cupti_host_part_map(is_found);
	assert_true(is_found());
}

static void nothing_happens_where_there_is_none(void **state)
{
	static int here;

	(void)state;
	cupti_host_part_map(NULL);
	cupti_host_part_map(&here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_library_beside_it_is_found_by_its_name),
		cmocka_unit_test(nothing_happens_where_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
