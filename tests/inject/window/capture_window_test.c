#include "inject/window/capture_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "tests/inject/test_ring.h"

static struct test_ring ring;
static struct definition_writer definitions;

static void init(void)
{
	struct capture_window_parts parts = {.ring = ring.guest, .definitions = &definitions};

	assert_int_equal(window_options_parse("range=nvtx:setup", &parts.options), 0);
	capture_window_init(&parts);
}

static void a_window_is_due_while_a_range_of_before_is_open(void **state)
{
	(void)state;
	capture_window_range(true);
	init();
	assert_true(capture_window_is_due());
	capture_window_range(true);
	capture_window_range(false);
	assert_true(capture_window_is_due());
	capture_window_range(false);
	assert_false(capture_window_is_due());
}

static void a_range_that_was_closed_before_makes_no_window_due(void **state)
{
	(void)state;
	capture_window_range(true);
	capture_window_range(false);
	init();
	assert_false(capture_window_is_due());
}

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&ring);
	definitions = DEFINITION_WRITER_INIT(ring.guest);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_ring_fini(&ring);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_is_due_while_a_range_of_before_is_open),
		cmocka_unit_test(a_range_that_was_closed_before_makes_no_window_due),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
