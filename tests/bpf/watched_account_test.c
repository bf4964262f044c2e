#include "node-agent/watch/watched_account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node-agent/kernel/address_stack.h"
#include "node-agent/guests/process_ledger.h"

static struct ledger_entry entry_of(const struct watched_account *account,
				    enum ledger_reason reason)
{
	struct process_ledger *ledger = process_ledger_create();
	struct ledger_entry found = {0};
	uint32_t count;

	assert_non_null(ledger);
	watched_account_enter(account, ledger);
	process_ledger_update(ledger, NULL, 0);
	const struct ledger_entry *entries = process_ledger_entries(ledger, &count);
	for (uint32_t i = 0; i < count; i++)
		if (entries[i].reason == reason)
			found = entries[i];
	process_ledger_destroy(ledger);
	return found;
}

static void the_program_before_is_taken_off(void **state)
{
	struct watched_account account = {0};

	(void)state;
	watched_account_set_base(
		&account, &(struct sample_counts){
				  .samples = 10, .samples_ns = 1000, .lost = 2, .lost_ns = 20});
	watched_account_set(&account, &(struct sample_counts){.samples = 15,
							      .samples_ns = 1700,
							      .lost = 3,
							      .lost_ns = 90,
							      .collectives = 4});
	assert_true(watched_account_has_counts(&account));
	assert_int_equal(entry_of(&account, LEDGER_SAMPLES).count, 5);
	assert_int_equal(entry_of(&account, LEDGER_SAMPLES).ns, 700);
	assert_int_equal(entry_of(&account, LEDGER_SAMPLE_RING_FULL).count, 1);
	assert_int_equal(entry_of(&account, LEDGER_SAMPLE_RING_FULL).ns, 70);
	assert_int_equal(entry_of(&account, LEDGER_COLLECTIVES).count, 4);
}

static void what_the_kernel_did_not_count_is_added(void **state)
{
	struct watched_account account = {0};

	(void)state;
	assert_false(watched_account_has_counts(&account));
	watched_account_receive(&account, 7);
	watched_account_receive_open(&account, 30);
	watched_account_count_short(&account, 5);
	watched_account_set_collectives(&account, 3);
	watched_account_set(&account, &(struct sample_counts){.samples = 1, .samples_ns = 7});
	assert_int_equal(watched_account_samples(&account), 5);
	assert_int_equal(entry_of(&account, LEDGER_SAMPLES).count, 2);
	assert_int_equal(entry_of(&account, LEDGER_SAMPLES).ns, 37);
	assert_int_equal(entry_of(&account, LEDGER_WAIT_SHORT).count, 1);
	assert_int_equal(entry_of(&account, LEDGER_WAIT_SHORT).ns, 5);
}

static void each_lack_has_its_own_counter(void **state)
{
	struct watched_account account = {0};

	(void)state;
	watched_account_count_no_stack(&account);
	watched_account_count_lacks(&account, 0);
	for (int i = 0; i < 2; i++)
		watched_account_count_lacks(&account, ADDRESS_STACK_NO_PYTHON);
	for (int i = 0; i < 3; i++)
		watched_account_count_lacks(&account,
					    ADDRESS_STACK_MISMATCH | ADDRESS_STACK_TRUNCATED);
	watched_account_count_lacks(&account, ADDRESS_STACK_TRUNCATED);
	for (int i = 0; i < 5; i++)
		watched_account_count_lacks(&account, ADDRESS_STACK_HURRIED);
	assert_int_equal(entry_of(&account, LEDGER_SAMPLE_NO_STACK).count, 1);
	assert_int_equal(entry_of(&account, LEDGER_PYTHON_OFF).count, 2);
	assert_int_equal(entry_of(&account, LEDGER_STACK_MISMATCH).count, 3);
	assert_int_equal(entry_of(&account, LEDGER_STACK_TRUNCATED).count, 4);
	assert_int_equal(entry_of(&account, LEDGER_STACK_HURRIED).count, 5);
}

static void what_a_child_left_is_its_parents(void **state)
{
	struct watched_account parent = {0}, child = {0};

	(void)state;
	watched_account_set(&child, &(struct sample_counts){.lost = 2, .lost_ns = 50});
	watched_account_inherit(&parent, &child);
	watched_account_set(&parent, &(struct sample_counts){.lost = 1, .lost_ns = 10});
	assert_int_equal(entry_of(&parent, LEDGER_SAMPLE_RING_FULL).count, 3);
	assert_int_equal(entry_of(&parent, LEDGER_SAMPLE_RING_FULL).ns, 60);
}

static void what_has_not_come_after_twenty_passes_is_lost(void **state)
{
	struct watched_account account = {0};
	struct sample_counts counts = {.samples = 3, .samples_ns = 30};
	uint32_t passes = 0;

	(void)state;
	watched_account_receive(&account, 10);
	while (!watched_account_settles(&account, &counts, false)) {
		assert_int_equal(counts.lost, 0);
		passes++;
	}
	assert_int_equal(passes, 20);
	assert_int_equal(counts.lost, 2);
	assert_int_equal(counts.lost_ns, 20);
}

static void the_last_pass_waits_for_nothing(void **state)
{
	struct watched_account account = {0};
	struct sample_counts counts = {.samples = 1, .samples_ns = 5, .collectives = 2};

	(void)state;
	watched_account_receive(&account, 5);
	watched_account_set_collectives(&account, 1);
	assert_false(watched_account_settles(&account, &counts, false));
	assert_true(watched_account_settles(&account, &counts, true));
	assert_int_equal(counts.lost, 0);
	assert_int_equal(counts.collectives_lost, 1);
}

static void what_was_taken_is_the_base_of_the_next_program(void **state)
{
	struct watched_account account = {0};
	struct sample_counts taken;

	(void)state;
	watched_account_set_base(&account,
				 &(struct sample_counts){.samples = 10, .samples_ns = 100});
	watched_account_receive(&account, 5);
	watched_account_receive(&account, 6);
	/* Three more were sent, of which one is already the next program's. */
	watched_account_set(&account, &(struct sample_counts){
					      .samples = 13, .samples_ns = 118, .short_waits = 4});
	watched_account_taken(&account, &taken);
	assert_int_equal(taken.samples, 12);
	assert_int_equal(taken.samples_ns, 111);
	assert_int_equal(taken.short_waits, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_before_is_taken_off),
		cmocka_unit_test(what_the_kernel_did_not_count_is_added),
		cmocka_unit_test(each_lack_has_its_own_counter),
		cmocka_unit_test(what_a_child_left_is_its_parents),
		cmocka_unit_test(what_has_not_come_after_twenty_passes_is_lost),
		cmocka_unit_test(the_last_pass_waits_for_nothing),
		cmocka_unit_test(what_was_taken_is_the_base_of_the_next_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
