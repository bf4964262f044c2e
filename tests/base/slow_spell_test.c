#include "tests/support/cmocka_test.h"

#include "base/slow_spell.h"

#define LIMIT_NS 3000u
#define BEGIN_NS 1000000u

static void one_slow_moment_is_no_spell(void **state)
{
	struct slow_spell spell = {0};

	(void)state;
	assert_int_equal(slow_spell_look(&spell, LIMIT_NS, LIMIT_NS, BEGIN_NS), SLOW_SPELL_SAME);
	assert_int_equal(slow_spell_deadline_ns(&spell), BEGIN_NS + SLOW_SPELL_SETTLE_NS);
	assert_int_equal(
		slow_spell_look(&spell, LIMIT_NS, LIMIT_NS - 1, BEGIN_NS + SLOW_SPELL_SETTLE_NS),
		SLOW_SPELL_SAME);
	assert_int_equal(slow_spell_deadline_ns(&spell), UINT64_MAX);
	assert_int_equal(spell.count + spell.most_ns, 0);
}

static void a_spell_begins_and_ends_once_though_delays_rise_and_fall(void **state)
{
	struct slow_spell spell = {0};
	uint64_t now_ns = BEGIN_NS + SLOW_SPELL_SETTLE_NS;

	(void)state;
	slow_spell_look(&spell, LIMIT_NS, LIMIT_NS, BEGIN_NS);
	assert_int_equal(slow_spell_look(&spell, LIMIT_NS, 9000, now_ns), SLOW_SPELL_BEGAN);
	assert_int_equal(spell.since_ns, BEGIN_NS - LIMIT_NS);
	for (int i = 0; i < 5; i++) {
		now_ns += SLOW_SPELL_CALM_NS - 1;
		assert_int_equal(slow_spell_look(&spell, LIMIT_NS, 0, now_ns), SLOW_SPELL_SAME);
		assert_int_equal(slow_spell_look(&spell, LIMIT_NS, 4000, now_ns), SLOW_SPELL_SAME);
	}
	assert_int_equal(slow_spell_deadline_ns(&spell), now_ns + SLOW_SPELL_CALM_NS);
	now_ns += SLOW_SPELL_CALM_NS;
	assert_int_equal(slow_spell_look(&spell, LIMIT_NS, 0, now_ns), SLOW_SPELL_ENDED);
	assert_int_equal(slow_spell_look(&spell, LIMIT_NS, 0, now_ns), SLOW_SPELL_SAME);
	assert_int_equal(spell.longest_ns, 9000);
	assert_int_equal(spell.count, 1);
}

static void the_longest_delay_is_of_the_spell_and_the_most_of_all(void **state)
{
	const uint64_t delays_ns[] = {9000, 5000};
	struct slow_spell spell = {0};
	uint64_t now_ns = BEGIN_NS;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		slow_spell_look(&spell, LIMIT_NS, delays_ns[i], now_ns);
		now_ns += SLOW_SPELL_SETTLE_NS;
		slow_spell_look(&spell, LIMIT_NS, delays_ns[i], now_ns);
		now_ns += SLOW_SPELL_CALM_NS;
		slow_spell_look(&spell, LIMIT_NS, 0, now_ns);
		assert_int_equal(spell.longest_ns, delays_ns[i]);
	}
	assert_int_equal(spell.most_ns, 9000);
	assert_int_equal(spell.count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slow_moment_is_no_spell),
		cmocka_unit_test(a_spell_begins_and_ends_once_though_delays_rise_and_fall),
		cmocka_unit_test(the_longest_delay_is_of_the_spell_and_the_most_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
