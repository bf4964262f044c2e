#include "inject/launch/autograd_node.h"

#include "tests/support/cmocka_test.h"

#include <string.h>

static void assert_class(const char *text, const char *expected)
{
	char name[AUTOGRAD_NODE_NAME_MAX];
	size_t size = autograd_node_class(text, strlen(text), name);

	assert_int_equal(size, strlen(expected));
	assert_memory_equal(name, expected, size);
}

static void a_class_is_named_without_its_namespaces(void **state)
{
	(void)state;
	assert_class("N5torch8autograd9generated14AddmmBackward0E", "AddmmBackward0");
	assert_class("6PyNode", "PyNode");
	assert_class("*N12_GLOBAL__N_14NodeE", "Node");
	assert_class("N5torch8autograd7CppNodeI4MineEE", "CppNode");
	assert_class("", "");
	assert_class("N", "");
	assert_class("N9torch", "");
	assert_class("N5torch99999999999999999999x", "torch");
	assert_class("N0torch", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_class_is_named_without_its_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
