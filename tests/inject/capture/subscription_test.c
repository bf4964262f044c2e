/* The subscription, the clocks and the library against a CUPTI that answers as a test wants. */
#include "inject/capture/subscription.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/cupti/clock_sample.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_cbid.h"
#include "proto/options/record_options.h"
#include "tests/inject/test_ring.h"

static struct {
	int subscribe, enable_driver, enable_kind, registers, timestamp;
	bool streams;
	bool destroyed, modules; /* on: the ends of contexts, and code */
	uint32_t nr_left;
	uint32_t nr_registered;
	uint32_t nr_enabled, nr_kinds, nr_unsubscribed, nr_thread_buffers, nr_zeroed;
} fake;

static int fake_subscribe(void **subscriber, cupti_callback_fn *callback, void *user)
{
	(void)user;
	assert_non_null(callback);
	*subscriber = &fake;
	return fake.subscribe;
}

static int fake_unsubscribe(void *subscriber)
{
	assert_ptr_equal(subscriber, &fake);
	fake.nr_unsubscribed++;
	return 0;
}

static int fake_enable(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	assert_ptr_equal(subscriber, &fake);
	fake.streams |=
		domain == CUPTI_ABI_DOMAIN_RESOURCE && cbid == CUPTI_ABI_RESOURCE_STREAM_CREATED;
	if (domain == CUPTI_ABI_DOMAIN_RESOURCE && cbid == CUPTI_ABI_RESOURCE_CONTEXT_DESTROYED)
		fake.destroyed = enable;
	if (domain == CUPTI_ABI_DOMAIN_RESOURCE && cbid == CUPTI_ABI_RESOURCE_MODULE_LOADED)
		fake.modules = enable;
	if (domain != CUPTI_ABI_DOMAIN_DRIVER)
		return 0;
	if (fake.enable_driver == 0 && enable)
		fake.nr_enabled++;
	return fake.enable_driver;
}

void __wrap_kernel_sampler_leave(bool ended);

void __wrap_kernel_sampler_leave(bool ended)
{
	assert_false(ended);
	fake.nr_left++;
}

static int fake_kind_on(uint32_t kind)
{
	(void)kind;
	if (fake.enable_kind == 0)
		fake.nr_kinds++;
	return fake.enable_kind;
}

static int fake_kind_off(uint32_t kind)
{
	(void)kind;
	fake.nr_kinds--;
	return 0;
}

static int fake_register(cupti_buffer_request_fn *request, cupti_buffer_complete_fn *complete)
{
	assert_non_null(request);
	assert_non_null(complete);
	fake.nr_registered++;
	return fake.registers;
}

static int fake_attribute(uint32_t attribute, size_t *size, void *value)
{
	assert_int_equal(*size, 1);
	assert_int_equal(*(uint8_t *)value, 1);
	fake.nr_thread_buffers += attribute == CUPTI_ABI_ATTRIBUTE_THREAD_BUFFERS;
	fake.nr_zeroed += attribute == CUPTI_ABI_ATTRIBUTE_ZEROED_BUFFERS;
	return 0;
}

static int fake_timestamp(uint64_t *timestamp)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*timestamp = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return fake.timestamp;
}

static struct cupti_library library = {
	.version = CUPTI_ABI_VERSION_13_0,
	.subscribe = fake_subscribe,
	.unsubscribe = fake_unsubscribe,
	.enable_callback = fake_enable,
	.activity_enable = fake_kind_on,
	.activity_disable = fake_kind_off,
	.activity_register_callbacks = fake_register,
	.activity_set_attribute = fake_attribute,
	.get_timestamp = fake_timestamp,
};

static void ignore(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain, (void)cbid, (void)data;
}

struct fixture {
	struct test_ring ring;
	struct definition_writer notices;
};

static void no_end(void)
{
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	static int started;

	if (!started++)
		assert_int_equal(lifecycle_start(no_end), 0);
	memset(&fake, 0, sizeof(fake));
	library.version = CUPTI_ABI_VERSION_13_0;
	test_ring_init(&fixture->ring);
	fixture->notices = DEFINITION_WRITER_INIT(fixture->ring.guest);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static uint32_t nr_notices(struct fixture *fixture)
{
	uint8_t body[2048];
	uint32_t type, nr = 0;

	while (test_ring_definition(&fixture->ring, &type, body, sizeof(body)) >= 0) {
		assert_int_equal(type, DEFINITION_NOTICE);
		nr++;
	}
	return nr;
}

/* Of the table: those that are always wanted, and those of a set of enum record_option. */
static uint32_t nr_calls(uint32_t record)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < LAUNCH_CBIDS; i++)
		nr += launch_cbids[i].option == 0 || (launch_cbids[i].option & record);
	return nr;
}

static void all_launches_and_kinds_are_enabled(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(subscription_open(&library, ignore), CUPTI_ABI_SUCCESS);
	assert_int_equal(subscription_start(GRAPH_MODE_NODES, false, 0, &fixture->notices),
			 CUPTI_ABI_SUCCESS);
	assert_int_equal(fake.nr_enabled, nr_calls(0));
	assert_int_equal(fake.nr_kinds, 6);
	assert_int_equal(fake.nr_zeroed, 1);
	assert_int_equal(fake.nr_thread_buffers, 0); /* the default since 13.0 */
	assert_int_equal(nr_notices(fixture), 0);
}

static void more_is_enabled_on_request_alone(void **state)
{
	static const struct {
		uint32_t record, nr_kinds;
	} cases[] = {
		{0, 6},
		{RECORD_OPTION_SYNC, 7},
		{RECORD_OPTION_OVERHEAD, 7},
		{RECORD_OPTION_SYNC | RECORD_OPTION_OVERHEAD, 8},
		{RECORD_OPTION_MODULES, 6},
		{RECORD_OPTION_MEMORY, 7},
		{RECORD_OPTION_UNIFIED, 6}, /* later, when the driver is there */
	};
	struct fixture *fixture = *state;

	assert_int_equal(nr_calls(RECORD_OPTION_SYNC) - nr_calls(0), 12);
	assert_int_equal(nr_calls(RECORD_OPTION_MODULES) - nr_calls(0), 9);
	assert_int_equal(nr_calls(RECORD_OPTION_MEMORY) - nr_calls(0), 32);
	assert_int_equal(launch_cbid_flags(243), RECORD_LAUNCH_HOST); /* cuMemAlloc_v2 */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.nr_enabled = fake.nr_kinds = 0;
		assert_int_equal(subscription_open(&library, ignore), CUPTI_ABI_SUCCESS);
		assert_int_equal(subscription_start(GRAPH_MODE_NODES, false, cases[i].record,
						    &fixture->notices),
				 CUPTI_ABI_SUCCESS);
		assert_int_equal(fake.nr_enabled, nr_calls(cases[i].record));
		assert_int_equal(fake.nr_kinds, cases[i].nr_kinds);
	}
}

static void buffers_are_made_one_a_thread_where_that_is_not_the_default(void **state)
{
	struct fixture *fixture = *state;
	const struct {
		uint32_t version, thread_buffers;
	} cases[] = {{20, 0}, {21, 1}, {28, 1}, {130000, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.nr_thread_buffers = 0;
		library.version = cases[i].version;
		assert_int_equal(subscription_open(&library, ignore), CUPTI_ABI_SUCCESS);
		subscription_start(GRAPH_MODE_NODES, false, 0, &fixture->notices);
		assert_int_equal(fake.nr_thread_buffers, cases[i].thread_buffers);
	}
}

static void refused_kinds_are_said_and_launches_go_on(void **state)
{
	struct fixture *fixture = *state;

	fake.enable_kind = 14;
	subscription_open(&library, ignore);
	assert_int_equal(subscription_start(GRAPH_MODE_NODES, false, 0, &fixture->notices),
			 CUPTI_ABI_SUCCESS);
	assert_int_equal(fake.nr_enabled, nr_calls(0));
	assert_int_equal(nr_notices(fixture), 3); /* the others are no loss */
}

static void taking_up_again_enables_the_same_kinds(void **state)
{
	struct fixture *fixture = *state;

	subscription_open(&library, ignore);
	subscription_start(GRAPH_MODE_LAUNCH, false, 0, &fixture->notices);
	uint32_t nr_kinds = fake.nr_kinds, nr_registered = fake.nr_registered;

	assert_int_equal(nr_kinds, 7);
	subscription_take_up(false);
	assert_int_equal(fake.nr_kinds, 2 * nr_kinds);
	assert_int_equal(fake.nr_registered, nr_registered);
	subscription_take_up(true);
	assert_int_equal(fake.nr_kinds, 3 * nr_kinds);
	assert_int_equal(fake.nr_registered, nr_registered + 1);
}

static void streams_are_followed_where_their_names_are_wanted(void **state)
{
	struct fixture *fixture = *state;

	subscription_open(&library, ignore);
	subscription_start(GRAPH_MODE_NODES, false, 0, &fixture->notices);
	assert_false(fake.streams);
	subscription_open(&library, ignore);
	subscription_start(GRAPH_MODE_NODES, false, RECORD_OPTION_NVTX, &fixture->notices);
	assert_true(fake.streams);
}

static void code_and_ends_of_contexts_are_followed_where_kernels_are_sampled(void **state)
{
	struct fixture *fixture = *state;

	subscription_open(&library, ignore);
	subscription_start(GRAPH_MODE_NODES, false, RECORD_OPTION_SYNC, &fixture->notices);
	subscription_hear_of_code(RECORD_OPTION_SYNC);
	assert_false(fake.destroyed || fake.modules);
	subscription_pause();
	subscription_start(GRAPH_MODE_NODES, false, RECORD_OPTION_STALLS, &fixture->notices);
	assert_true(fake.destroyed && fake.modules);
	fake.nr_left = 0;
	subscription_pause();
	assert_true(fake.destroyed &&
		    fake.modules); /* code of the next window is loaded before it */
	assert_int_equal(fake.nr_left, 1);
}

static void stopping_disables_every_kind(void **state)
{
	struct fixture *fixture = *state;

	subscription_open(&library, ignore);
	subscription_start(GRAPH_MODE_LAUNCH, false, RECORD_OPTION_NVTX | RECORD_OPTION_SYNC,
			   &fixture->notices);
	assert_int_equal(fake.nr_kinds, 8);
	subscription_stop();
	assert_int_equal(fake.nr_kinds, 0);
}

static void refused_buffers_are_said_and_launches_go_on(void **state)
{
	struct fixture *fixture = *state;

	fake.registers = 1;
	subscription_open(&library, ignore);
	assert_int_equal(subscription_start(GRAPH_MODE_NODES, false, 0, &fixture->notices),
			 CUPTI_ABI_SUCCESS);
	assert_int_equal(fake.nr_kinds, 0);
	assert_int_equal(nr_notices(fixture), 1);
}

static void refused_launches_switch_all_off(void **state)
{
	struct fixture *fixture = *state;

	fake.enable_driver = 15;
	subscription_open(&library, ignore);
	assert_int_equal(subscription_start(GRAPH_MODE_NODES, false, 0, &fixture->notices), 15);
	assert_int_equal(fake.nr_kinds, 0);
	assert_int_equal(fake.nr_unsubscribed, 1);
}

static void taken_subscriber_is_passed_on(void **state)
{
	(void)state;
	fake.subscribe = CUPTI_ABI_SUBSCRIBER_TAKEN;
	assert_int_equal(subscription_open(&library, ignore), CUPTI_ABI_SUBSCRIBER_TAKEN);
	fake.subscribe = 0;
	assert_int_equal(subscription_open(&library, ignore), CUPTI_ABI_SUCCESS);
	subscription_close();
	assert_int_equal(fake.nr_unsubscribed, 1);
}

static void clock_sample_places_three_clocks_within_its_error(void **state)
{
	struct definition_clock clock;
	struct timespec now;

	(void)state;
	assert_int_equal(clock_sample_take(&library, &clock), 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_true(clock.monotonic_ns <=
		    (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	/* This CUPTI's clock is CLOCK_REALTIME, read just before. */
	assert_true(clock.realtime_ns >= clock.cupti_ns);
	assert_true(clock.realtime_ns - clock.cupti_ns <= clock.error_ns);
	fake.timestamp = 999;
	assert_int_equal(clock_sample_take(&library, &clock), -EIO);
	assert_int_equal(clock.monotonic_ns, 0);
}

static void library_that_is_none_is_refused(void **state)
{
	struct cupti_library opened;

	(void)state;
	assert_int_equal(cupti_library_open("/nowhere/libcupti.so.13", false, &opened), -ENOENT);
	assert_int_equal(cupti_library_open("libm.so.6", false, &opened), -ENOSYS);
	assert_null(opened.get_version);
	assert_int_equal(cupti_library_open("libcupti-not-mapped.so", true, &opened), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_launches_and_kinds_are_enabled),
		TEST(more_is_enabled_on_request_alone),
		TEST(buffers_are_made_one_a_thread_where_that_is_not_the_default),
		TEST(refused_kinds_are_said_and_launches_go_on),
		TEST(taking_up_again_enables_the_same_kinds),
		TEST(streams_are_followed_where_their_names_are_wanted),
		TEST(code_and_ends_of_contexts_are_followed_where_kernels_are_sampled),
		TEST(stopping_disables_every_kind),
		TEST(refused_buffers_are_said_and_launches_go_on),
		TEST(refused_launches_switch_all_off),
		TEST(taken_subscriber_is_passed_on),
		TEST(clock_sample_places_three_clocks_within_its_error),
		TEST(library_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
