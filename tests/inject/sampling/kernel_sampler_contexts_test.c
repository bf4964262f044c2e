/* Contexts that come and go while their kernels are sampled, and rings without room. */
#include "inject/sampling/kernel_sampler.h"

#include "tests/support/cmocka_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "sampling_fixture.h"
#include "sampling_stub.h"

/* ---- contexts */

static void reasons_have_one_number_on_all_gpus(void **state)
{
	struct stub_instruction even[] = {{1, 0, 1, "k", {1, 2, 3}}},
				odd[] = {{1, 0, 1, "k", {4, 5, 6}}};

	(void)state;
	sampling_fixture_begin(0);
	sampling_fixture_begin(1);
	sampling_stub_wait(0, even, 1);
	sampling_stub_wait(1, odd, 1);
	sampling_fixture_step();
	sampling_fixture_ledger(21, 0, 0);
	assert_int_equal(sampling_fixture.nr_reasons, 3);
	for (uint32_t i = 0; i < 2; i++) {
		sampling_fixture_entry(3 * i, i, 1, "k", 0, "long_scoreboard", 3 * i + 1);
		sampling_fixture_entry(3 * i + 1, i, 1, "k", 0, "selected", 3 * i + 2);
		sampling_fixture_entry(3 * i + 2, i, 1, "k", 0, "barrier", 3 * i + 3);
	}
}

static void a_second_context_of_a_gpu_waits_for_its_turn(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	sampling_fixture_begin(0);
	kernel_sampler_context(STUB_CONTEXT(64), 0);
	for (int i = 0; i < 4; i++)
		sampling_fixture_step();
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.nr_notices, 1);
	assert_non_null(strstr(sampling_fixture.notice, "further context of CUDA device 0"));
	assert_int_equal(sampling_stub.contexts[64].nr_enabled, 0);
	sampling_stub_wait(0, waiting, 1);
	sampling_stub.contexts[0].on = true;
	kernel_sampler_forget(STUB_CONTEXT(0));
	sampling_fixture_step();
	assert_true(sampling_stub.contexts[64].on);
	sampling_fixture_ledger(10, 0, 0);
	assert_int_equal(sampling_fixture.nr_notices, 1);
}

static void more_contexts_than_fit_are_said_and_cost_launches_nothing(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++)
		kernel_sampler_context(STUB_CONTEXT(i), i);
	kernel_sampler_context(STUB_CONTEXT(70), 6);
	sampling_fixture.library.get_device_id = NULL; /* may not be asked */
	for (int i = 0; i < 3; i++) {
		kernel_sampler_meet(STUB_CONTEXT(71));
		sampling_fixture_step();
	}
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.nr_notices, 1);
	assert_non_null(strstr(sampling_fixture.notice, "more than 64"));
	for (uint32_t i = 0; i < KERNEL_SAMPLER_CONTEXTS; i++)
		assert_true(sampling_stub.contexts[i].on);
	assert_int_equal(sampling_stub.contexts[70].nr_enabled, 0);
	/* one that goes makes room */
	sampling_fixture.library = sampling_stub_library();
	kernel_sampler_forget(STUB_CONTEXT(6));
	kernel_sampler_meet(STUB_CONTEXT(70));
	sampling_fixture_step();
	assert_true(sampling_stub.contexts[70].on);
}

static void contexts_from_before_are_met_at_launches(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		kernel_sampler_meet(STUB_CONTEXT(5));
	sampling_fixture_step();
	assert_int_equal(sampling_stub.contexts[5].nr_enabled, 1);
	kernel_sampler_meet(STUB_CONTEXT(5));
	sampling_fixture_step();
	assert_int_equal(sampling_stub.contexts[5].nr_enabled, 1);
}

static void a_context_that_is_destroyed_gives_its_last_samples(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 1);
	kernel_sampler_forget(STUB_CONTEXT(0));
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	sampling_fixture_ledger(10, 0, 0);
	sampling_fixture_step();
	kernel_sampler_end(true);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	/* another one may get the same address */
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 1);
	sampling_fixture_step();
	sampling_fixture_ledger(20, 0, 0);
}

static void nothing_is_known_of_contexts_after_cupti_was_left(void **state)
{
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {10, 0, 0}}};

	(void)state;
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 1);
	kernel_sampler_leave(false);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	sampling_fixture_ledger(10, 0, 0);
	for (int i = 0; i < 3; i++)
		sampling_fixture_step();
	assert_int_equal(sampling_stub.contexts[0].nr_enabled, 1);
	kernel_sampler_meet(STUB_CONTEXT(0));
	sampling_fixture_step();
	assert_true(sampling_stub.contexts[0].on);
	kernel_sampler_leave(true);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
}

/* ---- no room */

static void samples_without_room_are_counted_exactly(void **state)
{
	static struct stub_instruction waiting[2048];
	uint64_t given = 0;

	(void)state;
	for (uint32_t i = 0; i < 2048; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, i % 16, "k", {1 + i, 2, 3}};
	sampling_fixture_begin(0);
	for (uint32_t round = 0; round < 40; round++) {
		sampling_stub_wait(0, waiting, 2048);
		sampling_stub.contexts[0].dropped = 1;
		sampling_fixture_step();
	}
	given = 40ull * (2048 * 2049 / 2 + 2048 * 5 + 1);
	uint64_t lost = sampling_fixture_counted(LEDGER_KERNEL_SAMPLE_LOST);
	assert_true(lost > 40 && lost < given);
	/* others still find room */
	assert_true(record_ring_define(sampling_fixture.ring.guest, DEFINITION_MODULE, waiting,
				       60000, NULL, 0));
	sampling_fixture_ledger(given, 0, lost);
	sampling_stub_wait(0, waiting, 2048);
	sampling_fixture_step();
	sampling_fixture_ledger(given / 40 * 41 - 1, 0, lost);
}

static void reasons_that_find_no_room_come_later(void **state)
{
	static uint8_t text[60000];
	struct stub_instruction waiting[] = {{1, 0, 1, "k", {1, 2, 3}}};
	uint32_t size = sizeof(text);

	(void)state;
	for (; size; size /= 2)
		while (record_ring_define(sampling_fixture.ring.guest, DEFINITION_MODULE, text,
					  size, NULL, 0))
			;
	while (record_ring_define(sampling_fixture.ring.guest, DEFINITION_MODULE, text, 0, NULL, 0))
		;
	sampling_fixture_begin(0);
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.nr_reasons, 0);
	sampling_stub_wait(0, waiting, 1);
	sampling_fixture_step();
	sampling_fixture_ledger(6, 0, 0);
	assert_int_equal(sampling_fixture.nr_reasons, 3);
	sampling_fixture_entry(0, 0, 1, "k", 0, "long_scoreboard", 1);
	sampling_fixture_entry(2, 0, 1, "k", 0, "barrier", 3);
}

/* ---- threads */

static pthread_t destroyer;
static bool has_destroyer;

static void *destroy_it(void *unused)
{
	(void)unused;
	kernel_sampler_forget(STUB_CONTEXT(0));
	return NULL;
}

static void destroy_in_look(void)
{
	if (has_destroyer)
		return;
	has_destroyer = true;
	assert_int_equal(pthread_create(&destroyer, NULL, destroy_it, NULL), 0);
	if (sampling_fixture.real_time_is_over)
		pthread_join(destroyer, NULL);
}

static void a_context_destroyed_in_a_look_waits_for_the_look(void **state)
{
	static struct stub_instruction waiting[5000];

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, 1, "k", {1, 0, 0}};
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 5000);
	has_destroyer = false;
	sampling_stub.in_look = destroy_in_look;
	sampling_fixture_step();
	pthread_join(destroyer, NULL);
	sampling_fixture_ledger(5000, 0, 0);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 1);
	assert_int_equal(sampling_fixture.nr_notices, 0);
}

/* The look sees at its end that the context is gone, and calls CUPTI for it no more. */
static void a_context_that_cannot_wait_for_the_look_goes(void **state)
{
	static struct stub_instruction waiting[20000];

	(void)state;
	for (uint32_t i = 0; i < 20000; i++)
		waiting[i] = (struct stub_instruction){1, 16 * i, 1, "k", {1, 0, 0}};
	sampling_fixture_begin(0);
	sampling_stub_wait(0, waiting, 20000);
	has_destroyer = false;
	sampling_fixture.real_time_is_over = true;
	sampling_stub.in_look = destroy_in_look;
	sampling_fixture_step();
	assert_int_equal(sampling_stub.contexts[0].nr_looks, 1);
	assert_int_equal(sampling_stub.contexts[0].nr_disabled, 0);
	sampling_fixture_ledger(16384, 0, 0);
	sampling_stub.contexts[0].on = false; /* as CUPTI does with the context */
	sampling_fixture_begin(0);
	assert_int_equal(sampling_fixture.nr_notices, 0);
}

static void *use_contexts(void *argument)
{
	const uint32_t nr = (uint32_t)(uintptr_t)argument;
	static struct stub_instruction waiting[2] = {{1, 0, 1, "k", {10, 0, 0}},
						     {1, 16, 1, "k", {10, 0, 0}}};

	for (int i = 0; i < 300; i++) {
		kernel_sampler_context(STUB_CONTEXT(nr), nr);
		for (int k = 0; k < 3; k++) {
			kernel_sampler_meet(STUB_CONTEXT(nr));
			sched_yield();
		}
		sampling_stub_wait(nr, waiting, 2);
		kernel_sampler_forget(STUB_CONTEXT(nr));
	}
	return NULL;
}

static void *look_often(void *until)
{
	while (!atomic_load((atomic_bool *)until)) {
		sampling_fixture.later_s += 2;
		kernel_sampler_step();
	}
	return NULL;
}

static void threads_make_and_destroy_contexts_while_samples_are_taken(void **state)
{
	static atomic_bool done;
	pthread_t users[3], helper;

	(void)state;
	done = false;
	assert_int_equal(pthread_create(&helper, NULL, look_often, &done), 0);
	for (uintptr_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&users[i], NULL, use_contexts, (void *)i), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(users[i], NULL);
	done = true;
	pthread_join(helper, NULL);
	sampling_fixture_read();
	assert_int_equal(sampling_fixture.nr_notices, 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_false(sampling_stub.contexts[i].on);
		assert_int_equal(sampling_stub.contexts[i].nr_disabled,
				 sampling_stub.contexts[i].nr_enabled);
	}
	sampling_fixture_ledger(sampling_fixture_counted(LEDGER_KERNEL_SAMPLES), 0,
				sampling_fixture_counted(LEDGER_KERNEL_SAMPLE_LOST));
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, sampling_fixture_set_up, sampling_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(reasons_have_one_number_on_all_gpus),
		TEST(a_second_context_of_a_gpu_waits_for_its_turn),
		TEST(more_contexts_than_fit_are_said_and_cost_launches_nothing),
		TEST(contexts_from_before_are_met_at_launches),
		TEST(a_context_that_is_destroyed_gives_its_last_samples),
		TEST(nothing_is_known_of_contexts_after_cupti_was_left),
		TEST(samples_without_room_are_counted_exactly),
		TEST(reasons_that_find_no_room_come_later),
		TEST(a_context_destroyed_in_a_look_waits_for_the_look),
		TEST(a_context_that_cannot_wait_for_the_look_goes),
		TEST(threads_make_and_destroy_contexts_while_samples_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
