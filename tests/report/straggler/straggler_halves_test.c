/* A job of which half of the ranks are late, on one host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/writers/straggler/straggler_text.h"
#include "straggler_fixture.h"

#define RANKS 8u
#define STEPS 200u
#define MS    1000000ull

/* Ranks 4 to 7 need 12 ms a step, the others 10 ms, and each up to 0.2 ms more. */
static void play(void)
{
	uint32_t processes[RANKS];
	uint64_t now_ns = 1000 * MS, seed = 3;

	for (uint32_t i = 0; i < RANKS; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 0x10, i, RANKS);
	}
	for (uint32_t step = 0; step < STEPS; step++) {
		uint64_t ready_ns[RANKS], last_ns = 0;

		for (uint32_t i = 0; i < RANKS; i++) {
			ready_ns[i] = now_ns + (i < RANKS / 2 ? 10 : 12) * MS +
				      (uint64_t)(job_uniform(&seed) * 0.2 * MS);
			last_ns = ready_ns[i] > last_ns ? ready_ns[i] : last_ns;
		}
		now_ns = last_ns + MS / 10;
		for (uint32_t i = 0; i < RANKS; i++) {
			const struct collective call =
				job_all_reduce(1, step + 1, 0, ready_ns[i], now_ns - ready_ns[i]);

			job_call(processes[i], &call);
		}
	}
	job_commit();
}

static void the_later_half_is_named_as_one_of_two_groups(void **state)
{
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	play();
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_groups, 1);
	assert_int_equal(found->nr_named, 0);
	straggler_text_line(found, line, sizeof(line));
	assert_ptr_equal(strstr(line, "late: the later of two groups (4 ranks: 4-7; without it "),
			 line);
	report_straggler_destroy(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_later_half_is_named_as_one_of_two_groups,
						job_set_up, job_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
