#include "inject/window/capture_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "inject/capture/activity_buffers.h"
#include "inject/capture/guest_sizes.h"
#include "inject/cupti/buffer_pool.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/name_table.h"
#include "tests/inject/test_ring.h"

static struct test_ring ring;
static struct definition_writer definitions;
static time_t later_s; /* added to all clocks */
static unsigned int nr_finalized;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = __real_clock_gettime(clock, now);

	now->tv_sec += later_s;
	return result;
}

static int get_version(uint32_t *version)
{
	*version = CUPTI_ABI_VERSION_13_0;
	return 0;
}

static int subscribe(void **subscriber, cupti_callback_fn *callback, void *user)
{
	(void)callback, (void)user;
	*subscriber = &ring;
	return 0;
}

static int unsubscribe(void *subscriber)
{
	(void)subscriber;
	return 0;
}

static int enable_callback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	(void)enable, (void)subscriber, (void)domain, (void)cbid;
	return 0;
}

static int take_number(uint32_t number)
{
	(void)number;
	return 0;
}

static int take_buffers(cupti_buffer_request_fn *request, cupti_buffer_complete_fn *complete)
{
	(void)request, (void)complete;
	return 0;
}

static int finalize(void)
{
	nr_finalized++;
	return 0;
}

static const struct cupti_library library = {
	.version = CUPTI_ABI_VERSION_13_0,
	.get_version = get_version,
	.subscribe = subscribe,
	.unsubscribe = unsubscribe,
	.enable_callback = enable_callback,
	.activity_enable = take_number,
	.activity_disable = take_number,
	.activity_register_callbacks = take_buffers,
	.activity_flush_all = take_number,
	.finalize = finalize,
};

static const struct guest_sizes budget = {
	.nr_buffers = BUFFER_POOL_MAX,
	.buffer_bytes = BUFFER_POOL_BYTES,
	.name_bytes = NAME_TABLE_BYTES,
};

static void receive(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain, (void)cbid, (void)data;
}

static void set_window(uint16_t window)
{
	(void)window;
}

static void do_nothing(void)
{
}

static void init(const char *options)
{
	struct capture_window_parts parts = {
		.ring = ring.guest,
		.definitions = &definitions,
		.library = &library,
		.prepare = do_nothing,
		.wake = do_nothing,
		.receive = receive,
		.set_window = set_window,
	};

	assert_int_equal(window_options_parse(options, &parts.options), 0);
	capture_window_init(&parts);
}

static void a_window_is_due_while_a_range_of_before_is_open(void **state)
{
	(void)state;
	capture_window_range(true);
	init("range=nvtx:setup");
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
	init("range=nvtx:setup");
	assert_false(capture_window_is_due());
}

/* Captures a range, and then waits for the GPU when nothing is outstanding and all times to wait are over. */
static void capture_a_range_and_wait(void)
{
	capture_window_range(true);
	assert_true(capture_window_is_open());
	capture_window_range(false);
	assert_false(capture_window_is_open());
	later_s++;
	capture_window_context_waited(monotonic_ns());
	capture_window_try_to_leave();
}

static void cupti_is_left_after_an_nvtx_range(void **state)
{
	(void)state;
	init("range=nvtx:setup");
	capture_window_start();
	capture_a_range_and_wait();
	assert_int_equal(nr_finalized, 1);
	capture_window_range(true);
	assert_true(capture_window_is_open());
	capture_window_range(false);
	later_s += 10;
	capture_window_step();
}

static void cupti_stays_to_hear_of_the_next_range_of_the_profiler(void **state)
{
	(void)state;
	init("range=profiler");
	capture_window_start();
	nr_finalized = 0;
	for (unsigned int i = 0; i < 3; i++) {
		capture_a_range_and_wait();
		assert_int_equal(nr_finalized, 0);
	}
	later_s += 10;
	capture_window_step(); /* the window is given up, and CUPTI listens */
	capture_a_range_and_wait();
	assert_int_equal(nr_finalized, 0);
}

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&ring);
	definitions = DEFINITION_WRITER_INIT(ring.guest);
	assert_int_equal(
		activity_buffers_init(ring.guest, &definitions, &library, NULL, 1, &budget), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	activity_buffers_fini();
	test_ring_fini(&ring);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_is_due_while_a_range_of_before_is_open),
		cmocka_unit_test(a_range_that_was_closed_before_makes_no_window_due),
		cmocka_unit_test(cupti_is_left_after_an_nvtx_range),
		cmocka_unit_test(cupti_stays_to_hear_of_the_next_range_of_the_profiler),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
