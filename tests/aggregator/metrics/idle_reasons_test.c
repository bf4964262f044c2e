/* Why GPUs were idle, told while a profile grows: exact, once, and as the report has it. */
#include "aggregator/metrics/idle_reasons.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../store/idle_life.h"
#include "../store/store_fixture.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/core/idle_fold.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "report/profile/profile.h"

#define LENGTH(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))
#define SECOND_US     1000000ull

static struct idle_reasons *reasons;

static int set_up(void **state)
{
	store_fixture_set_up(state);
	store_fixture_open_all();
	reasons = idle_reasons_create();
	assert_non_null(reasons);
	idle_life_begin();
	return 0;
}

static int tear_down(void **state)
{
	idle_reasons_destroy(reasons);
	store_fixture_close_all();
	return store_fixture_tear_down(state);
}

static void look(bool all)
{
	assert_int_equal(idle_reasons_look(reasons, store_database(store_fixture.store),
					   store_fixture.collection, all),
			 0);
}

/* Commits all messages, and looks at each GPU. */
static void look_at_each(void)
{
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	for (uint32_t turn = 0; turn < IDLE_REASONS_TURNS; turn++)
		look(false);
}

static void assert_sums(uint64_t on_cpu, uint64_t waiting, uint64_t no_cpu, uint64_t unknown)
{
	const struct idle_reason_sums *sums = idle_reasons_of(reasons, 1);

	assert_int_equal(sums->ns[IDLE_REASON_ON_CPU], on_cpu);
	assert_int_equal(sums->ns[IDLE_REASON_WAITING], waiting);
	assert_int_equal(sums->ns[IDLE_REASON_NO_CPU], no_cpu);
	assert_int_equal(sums->ns[IDLE_REASON_UNKNOWN], unknown);
}

static void gaps_count_once_when_they_are_settled(void **state)
{
	const struct idle_life_kernel first[] = {
		{0, 100, 7}, {105, 200, 7}, {300, 400, 7}, {460, 500, 8}};
	const struct idle_life_kernel later[] = {{5 * SECOND_US + 299, 5 * SECOND_US + 300, 7}};
	const struct idle_life_kernel latest[] = {{9 * SECOND_US, 10 * SECOND_US, 7}};
	struct host_sample samples[] = {idle_life_wait(7, 200, 230), idle_life_cpu(7, 240, 1),
					idle_life_wait(7, 280, 295)};

	(void)state;
	samples[2].name_id = IDLE_LIFE_RUN_QUEUE;
	idle_life_samples(1, samples, LENGTH(samples));
	idle_life_kernels(1, first, LENGTH(first));
	look_at_each();
	assert_sums(0, 0, 0, 0);
	/* 200 to 300 alone: the next gap ended at 460, less than five seconds before. */
	idle_life_kernels(1, later, LENGTH(later));
	look_at_each();
	assert_sums(55000, 30000, 15000, 0);
	look_at_each();
	assert_sums(55000, 30000, 15000, 0);
	idle_life_kernels(1, latest, LENGTH(latest));
	look_at_each();
	assert_sums(55000, 30000, 15000, 60000);
	look(true);
	assert_sums(55000, 30000, 15000, 60000 + 4999799000 + 3999700000);
	look(true);
	assert_sums(55000, 30000, 15000, 60000 + 4999799000 + 3999700000);
}

/* CUPTI tells of a kernel at its end: until then gaps of other streams may be none. */
static void gaps_wait_for_what_was_launched_before(void **state)
{
	const struct launch_record launch = {
		.time_ns = 1, .correlation_id = 1u << 20, .stack_id = 1, .tid = 7, .window = 1};
	const struct gpu_record record = {.start_ns = 1000000000,
					  .end_ns = 1000000000 + 20 * SECOND_US * 1000,
					  .correlation_id = launch.correlation_id,
					  .window = 1,
					  .context_id = 1};
	struct message events = {.type = MESSAGE_EVENTS,
				 .events = {.process_id = 1,
					    .clock_offset_ns = IDLE_LIFE_OFFSET_NS,
					    .clock_valid = 1,
					    .nr_launches = 1,
					    .launches = &launch}};

	(void)state;
	idle_life_samples(1, (struct host_sample[]){idle_life_wait(7, 100, 20 * SECOND_US)}, 1);
	idle_life_add(events);
	for (uint64_t second = 0; second < 18; second += 2) {
		const struct idle_life_kernel kernel = {second * SECOND_US,
							second * SECOND_US + 100, 7};

		idle_life_kernels(1, &kernel, 1);
		look_at_each();
		assert_sums(0, 0, 0, 0);
	}
	events.events.nr_launches = 0;
	events.events.nr_gpu = 1;
	events.events.gpu = &record;
	idle_life_add(events);
	look_at_each();
	look(true);
	assert_sums(0, 0, 0, 0);
}

static void a_gpu_that_nobody_knows_has_none(void **state)
{
	(void)state;
	look_at_each();
	assert_sums(0, 0, 0, 0);
	assert_int_equal(idle_reasons_of(reasons, 0)->ns[IDLE_REASON_UNKNOWN], 0);
	assert_int_equal(idle_reasons_of(reasons, UINT32_MAX)->ns[IDLE_REASON_UNKNOWN], 0);
}

/* The report's sums of gaps of at least 10 us. */
static void take_report(uint64_t *on_cpu, uint64_t *waiting, uint64_t *unknown)
{
	struct profile *profile;
	char *error;
	uint32_t nr_rows;

	store_fixture_close_all();
	if (profile_load(store_fixture.path, &profile, &error))
		fail_msg("%s", error);
	const struct fold_row *rows = fold_table_rows(profile->idle, &nr_rows);

	*on_cpu = *waiting = *unknown = 0;
	for (uint32_t i = 0; i < nr_rows; i++) {
		const uint8_t kind = rows[i].key.kind & (uint8_t)~IDLE_PAUSE;

		if (kind != IDLE_SHORT)
			*(kind == IDLE_CPU       ? on_cpu
			  : kind == IDLE_OFF_CPU ? waiting
						 : unknown) += rows[i].ns;
	}
	profile_destroy(profile);
	store_fixture_open_all();
}

/* Some 14 s in random steps, with a look after each message, or none. */
static void they_add_up_to_the_report(void **state)
{
	uint64_t time_us = 1000, on_cpu, waiting, unknown;
	uint32_t settled = 0;

	(void)state;
	srand(11);
	for (int message = 0; message < 24; message++) {
		struct idle_life_kernel kernels[8];
		struct host_sample samples[8];

		for (int i = 0; i < 8; i++) {
			const uint64_t gap_us = 1 + (uint64_t)rand() % 150000;

			kernels[i] = (struct idle_life_kernel){time_us + gap_us,
							       time_us + gap_us + 500, 7};
			samples[i] = i % 2 ? idle_life_cpu(7, time_us + gap_us / 2, 1)
					   : idle_life_wait(7, time_us, time_us + gap_us * 2 / 3);
			time_us += gap_us + 500;
		}
		const bool samples_first = rand() % 2;

		if (samples_first)
			idle_life_samples(1, samples, LENGTH(samples));
		else if (message == 0)
			idle_life_samples(1, samples, 1);
		idle_life_kernels(1, kernels, LENGTH(kernels));
		if (!samples_first)
			idle_life_samples(1, samples + !message, LENGTH(samples) - !message);
		if (rand() % 3)
			look_at_each();
		settled += idle_reasons_of(reasons, 1)->ns[IDLE_REASON_WAITING] > 0;
	}
	assert_true(settled > 5 && settled < 24);
	look_at_each();
	look(true);
	take_report(&on_cpu, &waiting, &unknown);
	assert_true(on_cpu > 0 && waiting > 0 && unknown > 0);
	assert_sums(on_cpu, waiting, 0, unknown);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gaps_count_once_when_they_are_settled),
		TEST(gaps_wait_for_what_was_launched_before),
		TEST(a_gpu_that_nobody_knows_has_none),
		TEST(they_add_up_to_the_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
