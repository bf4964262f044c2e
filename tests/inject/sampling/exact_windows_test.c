/* Exact windows: who opens and closes them, whose samples they give, and how often they come. */
#include "inject/sampling/exact_windows.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "inject/sampling/exact_pace.h"
#include "inject/sampling/kernel_sampler.h"
#include "inject/sampling/launch_gate.h"
#include "inject/sampling/sampling_session.h"
#include "proto/kernel_refusal.h"
#include "proto/options/sample_option.h"
#include "sampling_fixture.h"
#include "sampling_stub.h"

#define CBID  307u
#define GRAPH 514u

static void launch_begins_as(uint32_t id, uint32_t stack_id, uint32_t cbid, const char *kernel)
{
	const struct exact_launch launch = {stack_id, cbid};

	launch_gate_enter();
	if (exact_windows_are_wanted())
		kernel_sampler_enter(STUB_CONTEXT(0), id, &launch, cbid, kernel);
}

static void launch_begins(uint32_t id, uint32_t stack_id)
{
	launch_begins_as(id, stack_id, CBID, "k");
}

static void launch_ends(uint32_t id)
{
	if (exact_windows_are_wanted())
		kernel_sampler_exit(STUB_CONTEXT(0), id);
	launch_gate_exit();
}

static void launch(uint32_t id, uint32_t stack_id)
{
	launch_begins(id, stack_id);
	launch_ends(id);
}

/* A session whose window is wanted. */
static void want(uint32_t rate)
{
	kernel_sampler_use_windows(rate);
	sampling_fixture_begin(0);
	assert_true(exact_windows_are_wanted());
	assert_true(sampling_stub.contexts[0].windows);
	assert_int_equal(sampling_stub.contexts[0].nr_started, 0);
}

static uint64_t count(enum ledger_reason reason)
{
	return sampling_fixture_counted(reason);
}

static void launches_open_and_close_a_window_and_samples_are_theirs(void **state)
{
	static struct stub_instruction waiting[] = {
		{.crc = 1, .offset = 16, .function = "k", .counts = {5}},
		{.crc = 1, .offset = 16, .function = "k", .counts = {6}},
		{.crc = 1, .offset = 32, .function = "k", .counts = {0, 7}},
		{.crc = 1, .offset = 32, .function = "k", .counts = {8}},
	};

	(void)state;
	want(100);
	launch(11, 3);
	assert_true(sampling_stub.contexts[0].started);
	launch(12, 4);
	assert_int_equal(sampling_stub.contexts[0].nr_stopped, 0);
	sampling_fixture.later_s += 1;
	launch(13, 3);
	assert_int_equal(sampling_stub.contexts[0].nr_stopped, 1);
	launch(14, 9); /* runs as ever */
	assert_int_equal(sampling_stub.contexts[0].nr_started, 1);
	sampling_stub.contexts[0].ids = (const uint32_t[]){11, 12, 13, 99};
	sampling_stub_wait(0, waiting, 4);
	sampling_stub.contexts[0].other = 2;
	sampling_fixture_step();
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.nr, 4);
	assert_int_equal(sampling_fixture.nr_definitions, 3);
	const struct {
		uint32_t stack_id, cbid, count;
	} expected[] = {{3, CBID, 5}, {3, CBID, 7}, {4, CBID, 6}, {0, 0, 8}};
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(sampling_fixture.entries[i].stack_id, expected[i].stack_id);
		assert_int_equal(sampling_fixture.entries[i].cbid, expected[i].cbid);
		assert_int_equal(sampling_fixture.entries[i].count, expected[i].count);
	}
	assert_int_equal(count(LEDGER_EXACT_SAMPLES), 28);
	assert_int_equal(count(LEDGER_EXACT_SAMPLE_OTHER), 2);
	assert_int_equal(count(LEDGER_EXACT_SAMPLE_LOST), 0);
	assert_int_equal(count(LEDGER_EXACT_WINDOWS), 1);
	assert_int_equal(count(LEDGER_KERNEL_SAMPLES), 0);
}

static void a_window_stays_open_beside_a_launch_from_before_it(void **state)
{
	(void)state;
	want(100);
	launch_gate_enter(); /* of another thread, before the window */
	launch(1, 3);
	sampling_fixture.later_s += 1;
	launch(2, 3);
	assert_int_equal(sampling_stub.contexts[0].nr_stopped, 0);
	launch_gate_exit();
	launch(3, 3);
	assert_int_equal(sampling_stub.contexts[0].nr_stopped, 1);
}

/* Its launch would not return before the other GPUs' are there, which the same thread may launch next. */
static void a_kernel_that_waits_for_other_gpus_closes_the_window_first(void **state)
{
	(void)state;
	want(100);
	launch(1, 3);
	assert_true(sampling_stub.contexts[0].started);
	launch_begins_as(2, 3, CBID, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	assert_int_equal(sampling_stub.contexts[0].nr_stopped, 1);
	assert_int_equal(launch_gate_within(), 1);
	launch_ends(2);
	assert_int_equal(launch_gate_within(), 0);
	sampling_fixture_step();
	assert_int_equal(count(LEDGER_EXACT_WINDOWS), 1);
	launch(3, 3);
	assert_int_equal(sampling_stub.contexts[0].nr_started, 1);
}

static void such_a_kernel_and_graphs_beside_it_open_no_window(void **state)
{
	(void)state;
	want(100);
	launch_begins_as(1, 3, CBID, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	launch_ends(1);
	assert_false(exact_windows_are_wanted());
	sampling_fixture.later_s += 1;
	sampling_fixture_step();
	assert_true(exact_windows_are_wanted());
	launch_begins_as(2, 3, GRAPH, NULL);
	launch_ends(2);
	assert_int_equal(sampling_stub.contexts[0].nr_started, 0);
	assert_false(exact_windows_are_wanted());
	sampling_fixture_step();
	launch(3, 3);
	assert_int_equal(sampling_stub.contexts[0].nr_started, 1);
}

static void the_end_of_a_session_closes_its_window(void **state)
{
	static struct stub_instruction waiting[] = {{.crc = 1, .function = "k", .counts = {5}}};

	(void)state;
	want(100);
	launch(1, 3);
	sampling_stub.contexts[0].ids = (const uint32_t[]){1};
	sampling_stub_wait(0, waiting, 1);
	kernel_sampler_forget(STUB_CONTEXT(0));
	assert_int_equal(sampling_stub.contexts[0].nr_stopped, 1);
	assert_false(sampling_stub.contexts[0].on);
	assert_false(exact_windows_are_wanted());
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.entries[0].stack_id, 3);
	assert_int_equal(count(LEDGER_EXACT_SAMPLES), 5);
	assert_int_equal(count(LEDGER_EXACT_WINDOWS), 1);
	launch(2, 3); /* as if nothing had been */
}

static void windows_of_all_sessions_of_a_gpu_share_their_time(void **state)
{
	(void)state;
	want(100);
	launch(1, 3);
	sampling_fixture.later_s += 1;
	launch(2, 3);
	assert_int_equal(sampling_stub.contexts[0].nr_stopped, 1);
	kernel_sampler_end(false);
	sampling_fixture_step();
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 2);
	assert_false(exact_windows_are_wanted());
	sampling_fixture.later_s += EXACT_PACE_SHARE;
	sampling_fixture_step();
	assert_true(exact_windows_are_wanted());
}

static void a_session_stays_if_a_launch_does_not_end(void **state)
{
	(void)state;
	want(100);
	launch_begins(1, 3);
	kernel_sampler_end(true);
	assert_int_equal(sampling_stub.contexts[0].nr_stopped, 0);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 0);
	launch_ends(1);
	assert_false(exact_windows_are_wanted());
}

static void a_window_that_cannot_begin_or_end_is_said(void **state)
{
	(void)state;
	sampling_stub.start_result = 7;
	want(100);
	launch(1, 3);
	sampling_fixture_step();
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.nr_notices, 1);
	assert_non_null(strstr(sampling_fixture.notice, "CUPTI's error 7"));
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	assert_false(exact_windows_are_wanted());
}

static void a_full_buffer_begins_another_session(void **state)
{
	(void)state;
	want(100);
	launch(1, 3);
	sampling_fixture.later_s += 1;
	launch(2, 3);
	sampling_stub.contexts[0].look_result = CUPTI_ABI_OUT_OF_MEMORY;
	sampling_fixture_step();
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 2);
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.nr_notices, 0);
}

/* Programs of many kinds: a second of the model is a second of the pace. */
static void samples_keep_the_rate_and_windows_their_share(void **state)
{
	const uint64_t per_window[] = {0, 3, 90, 2500, 100000};
	const uint32_t rates[] = {1, 100, 5000};
	const uint64_t window_ns = EXACT_PACE_WINDOW_NS, whole_ns = 3600000000000ull;

	(void)state;
	for (uint32_t i = 0; i < 15; i++) {
		const uint64_t samples = per_window[i / 3];
		struct exact_pace pace;
		uint64_t now_ns = 5;

		exact_pace_begin(&pace, rates[i % 3], now_ns);
		assert_int_equal(exact_pace_next(&pace), now_ns);
		while (now_ns < whole_ns) {
			now_ns += window_ns;
			exact_pace_add(&pace, samples, window_ns);
			const uint64_t next_ns = exact_pace_next(&pace);
			now_ns = next_ns > now_ns ? next_ns : now_ns;
		}
		assert_true(pace.spent_ns * EXACT_PACE_SHARE <= now_ns);
		assert_true(pace.samples <= rates[i % 3] * (now_ns / 1000000000u + 1));
		/* one of the two holds it back */
		assert_true((pace.spent_ns + window_ns) * EXACT_PACE_SHARE >= whole_ns ||
			    pace.samples + samples >= rates[i % 3] * 3590ull);
	}
	assert_int_equal(exact_pace_looks(1), SAMPLING_LOOKS_PER_SECOND);
	assert_int_equal(exact_pace_looks(1000), 10 * SAMPLING_LOOKS_PER_SECOND);
	assert_int_equal(exact_pace_looks(SAMPLE_OPTION_MAX), exact_pace_looks(100000));
}

static void rates_are_whole_numbers(void **state)
{
	const struct {
		const char *text;
		int result;
		uint32_t rate;
	} cases[] = {{NULL, 0, 0},
		     {"", 0, 0},
		     {"100/s", 0, 100},
		     {"1", 0, 1},
		     {"1000000/s", 0, SAMPLE_OPTION_MAX},
		     {"0", -EINVAL, 0},
		     {"1000001", -EINVAL, 0},
		     {"/s", -EINVAL, 0},
		     {"5/m", -EINVAL, 0},
		     {"-5", -EINVAL, 0},
		     {"99999999999999999999/s", -EINVAL, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t rate = 9;

		assert_int_equal(sample_option_parse(cases[i].text, &rate), cases[i].result);
		assert_int_equal(rate, cases[i].rate);
	}
}

static void *close_gate(void *is_closed)
{
	*(bool *)is_closed = launch_gate_close();
	return NULL;
}

/* The last test: nothing mends the gate. */
static void a_broken_gate_opens_no_window_and_is_said(void **state)
{
	bool is_closed = true;
	pthread_t thread;

	(void)state;
	want(100);
	assert_true(launch_gate_close());
	assert_int_equal(pthread_create(&thread, NULL, close_gate, &is_closed), 0);
	while (!launch_gate_is_broken())
		sampling_fixture.later_s++;
	pthread_join(thread, NULL);
	assert_false(is_closed);
	launch_gate_open();
	launch(1, 3);
	assert_int_equal(sampling_stub.contexts[0].nr_started, 0);
	assert_false(exact_windows_are_wanted());
	for (uint32_t i = 0; i < 3; i++)
		sampling_fixture_step();
	assert_false(exact_windows_are_wanted());
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.nr_notices, 1);
	assert_true(kernel_refusal_is(sampling_fixture.notice));
	assert_non_null(strstr(sampling_fixture.notice, "any more: a launch waited 1 s"));
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, sampling_fixture_set_up, sampling_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(launches_open_and_close_a_window_and_samples_are_theirs),
		TEST(a_window_stays_open_beside_a_launch_from_before_it),
		TEST(a_kernel_that_waits_for_other_gpus_closes_the_window_first),
		TEST(such_a_kernel_and_graphs_beside_it_open_no_window),
		TEST(the_end_of_a_session_closes_its_window),
		TEST(windows_of_all_sessions_of_a_gpu_share_their_time),
		TEST(a_session_stays_if_a_launch_does_not_end),
		TEST(a_window_that_cannot_begin_or_end_is_said),
		TEST(a_full_buffer_begins_another_session),
		TEST(samples_keep_the_rate_and_windows_their_share),
		TEST(rates_are_whole_numbers),
		TEST(a_broken_gate_opens_no_window_and_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
