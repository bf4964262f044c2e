#include "tests/support/cmocka_test.h"

#include <stdbool.h>

#include "node-agent/guests/process_ledger.h"

static void own_losses_are_added_to_the_guests(void **state)
{
	struct process_ledger *ledger = process_ledger_create();
	struct ledger_entry guest[] = {
		{.device_id = 2, .reason = LEDGER_NAME_LOST, .count = 5},
		{.device_id = LEDGER_DEVICE_NONE, .reason = LEDGER_LAUNCHES, .count = 9, .ns = 1},
	};
	const struct ledger_entry *entries;
	uint32_t count;

	(void)state;
	process_ledger_count(ledger, 2, LEDGER_NAME_LOST, 3);
	process_ledger_count(ledger, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING, 1);
	assert_true(process_ledger_update(ledger, guest, 2));
	entries = process_ledger_entries(ledger, &count);
	assert_int_equal(count, 3);
	assert_int_equal(entries[0].count, 8);
	assert_int_equal(entries[1].count, 9);
	assert_int_equal(entries[1].ns, 1);
	assert_int_equal(entries[2].device_id, LEDGER_DEVICE_NONE);
	assert_int_equal(entries[2].reason, LEDGER_UNTRUSTED_RING);
	assert_int_equal(entries[2].count, 1);
	process_ledger_destroy(ledger);
}

static void only_a_difference_is_a_change(void **state)
{
	struct process_ledger *ledger = process_ledger_create();
	struct ledger_entry guest = {.device_id = 0, .reason = LEDGER_RECORDS, .count = 5};

	(void)state;
	assert_false(process_ledger_update(ledger, NULL, 0));
	assert_true(process_ledger_update(ledger, &guest, 1));
	assert_false(process_ledger_update(ledger, &guest, 1));
	guest.ns = 7;
	assert_true(process_ledger_update(ledger, &guest, 1));
	process_ledger_count(ledger, 0, LEDGER_RECORDS, 1);
	assert_true(process_ledger_update(ledger, &guest, 1));
	process_ledger_destroy(ledger);
}

static void counters_saturate_and_high_devices_share_the_last_row(void **state)
{
	struct process_ledger *ledger = process_ledger_create();
	struct ledger_entry guest = {.device_id = RECORD_DEVICES_MAX - 1,
				     .reason = LEDGER_NAME_LOST,
				     .count = UINT64_MAX - 1};
	const struct ledger_entry *entries;
	uint32_t count;

	(void)state;
	process_ledger_count(ledger, 12345, LEDGER_NAME_LOST, 7);
	process_ledger_update(ledger, &guest, 1);
	entries = process_ledger_entries(ledger, &count);
	assert_int_equal(count, 1);
	assert_true(entries[0].count == UINT64_MAX);
	process_ledger_destroy(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_losses_are_added_to_the_guests),
		cmocka_unit_test(only_a_difference_is_a_change),
		cmocka_unit_test(counters_saturate_and_high_devices_share_the_last_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
