#include "tests/support/cmocka_test.h"

#include <errno.h>

#include "proto/stack_source.h"

static void each_name_is_understood(void **state)
{
	enum stack_source source;

	(void)state;
	assert_int_equal(stack_source_parse("uprobe", &source), 0);
	assert_int_equal(source, STACK_SOURCE_UPROBE);
	assert_int_equal(stack_source_parse("auto", &source), 0);
	assert_int_equal(source, STACK_SOURCE_AUTO);
	assert_int_equal(stack_source_parse("guest", &source), 0);
	assert_int_equal(source, STACK_SOURCE_GUEST);
}

static void other_names_are_refused_and_mean_the_guest(void **state)
{
	static const char *const names[] = {"", "uprobes", "Guest", "guest "};
	enum stack_source source;

	(void)state;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		source = STACK_SOURCE_UPROBE;
		assert_int_equal(stack_source_parse(names[i], &source), -EINVAL);
		assert_int_equal(source, STACK_SOURCE_GUEST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_is_understood),
		cmocka_unit_test(other_names_are_refused_and_mean_the_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
