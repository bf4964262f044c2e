#include "proto/ledger.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void every_reason_has_a_name_of_its_own_that_is_an_identifier(void **state)
{
	(void)state;
	for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++) {
		const char *name = ledger_reason_name(reason);

		if (reason == LEDGER_UNUSED)
			continue;
		assert_true(islower((unsigned char)name[0]));
		for (const char *at = name; *at; at++)
			assert_true(islower((unsigned char)*at) || *at == '_');
		assert_string_not_equal(name, "unknown");
		for (uint32_t other = 0; other < reason; other++)
			assert_string_not_equal(name, ledger_reason_name(other));
	}
}

static void every_reason_has_a_text_of_its_own(void **state)
{
	(void)state;
	for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++) {
		if (reason == LEDGER_UNUSED)
			continue;
		assert_true(strlen(ledger_reason_text(reason)) > 10);
		for (uint32_t other = 0; other < reason; other++)
			assert_string_not_equal(ledger_reason_text(reason),
						ledger_reason_text(other));
	}
}

static void only_the_left_sides_of_the_invariants_are_produced(void **state)
{
	(void)state;
	for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++)
		assert_int_equal(ledger_reason_class(reason) == LEDGER_PRODUCED,
				 reason == LEDGER_LAUNCHES || reason == LEDGER_RECORDS ||
					 reason == LEDGER_SAMPLES || reason == LEDGER_COLLECTIVES ||
					 reason == LEDGER_KERNEL_SAMPLES ||
					 reason == LEDGER_EXACT_SAMPLES ||
					 reason == LEDGER_METRIC_LAUNCHES);
}

static void what_the_totals_miss_is_lost(void **state)
{
	static const uint32_t lost[] = {
		LEDGER_LAUNCH_RING_FULL, LEDGER_LAUNCH_NO_LANE,  LEDGER_RECORD_RING_FULL,
		LEDGER_INVALID_TIME,     LEDGER_STILL_RUNNING,   LEDGER_CUPTI_DROPPED,
		LEDGER_UNTRUSTED_RING,   LEDGER_LAUNCH_GIVEN_UP,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		assert_int_equal(ledger_reason_class(lost[i]), LEDGER_LOST);
}

static void what_the_totals_hold_is_only_noted(void **state)
{
	static const uint32_t noted[] = {
		LEDGER_LAUNCH_FAILED,  LEDGER_STACK_TABLE_FULL, LEDGER_NAME_LOST,
		LEDGER_LAUNCH_EXPIRED, LEDGER_UNMATCHED_RECORD, LEDGER_MODULE_LOST,
		LEDGER_STATISTIC_LOST,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++)
		assert_int_equal(ledger_reason_class(noted[i]), LEDGER_NOTED);
}

static void an_unknown_reason_is_noted_as_unknown(void **state)
{
	(void)state;
	assert_string_equal(ledger_reason_name(LEDGER_REASONS), "unknown");
	assert_string_equal(ledger_reason_name(LEDGER_UNUSED), "unknown");
	assert_int_equal(ledger_reason_class(LEDGER_UNUSED), LEDGER_NOTED);
	assert_string_equal(ledger_reason_name(UINT32_MAX), "unknown");
	assert_non_null(ledger_reason_text(UINT32_MAX));
	assert_int_equal(ledger_reason_class(UINT32_MAX), LEDGER_NOTED);
}

/* They are stored and sent as numbers: a change would misread every older store. */
static void the_numbers_stay_as_they_are(void **state)
{
	(void)state;
	assert_int_equal(LEDGER_LAUNCHES, 0);
	assert_int_equal(LEDGER_RECORDS, 5);
	assert_int_equal(LEDGER_RECORD_RING_FULL, 6);
	assert_int_equal(LEDGER_CUPTI_DROPPED, 9);
	assert_int_equal(LEDGER_UNCLEAN_END, 15);
	assert_int_equal(LEDGER_MODULE_LOST, 18);
	assert_int_equal(LEDGER_STATISTIC_LOST, 28);
}

static void a_sum_that_does_not_fit_saturates(void **state)
{
	(void)state;
	assert_true(ledger_add_saturating(2, 3) == 5);
	assert_true(ledger_add_saturating(UINT64_MAX - 1, 1) == UINT64_MAX);
	assert_true(ledger_add_saturating(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(ledger_add_saturating(1ull << 63, 1ull << 63) == UINT64_MAX);
	assert_true(ledger_add_saturating(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_name_of_its_own_that_is_an_identifier),
		cmocka_unit_test(every_reason_has_a_text_of_its_own),
		cmocka_unit_test(only_the_left_sides_of_the_invariants_are_produced),
		cmocka_unit_test(what_the_totals_miss_is_lost),
		cmocka_unit_test(what_the_totals_hold_is_only_noted),
		cmocka_unit_test(an_unknown_reason_is_noted_as_unknown),
		cmocka_unit_test(the_numbers_stay_as_they_are),
		cmocka_unit_test(a_sum_that_does_not_fit_saturates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
