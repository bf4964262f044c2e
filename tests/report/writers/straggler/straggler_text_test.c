#include "report/writers/straggler/straggler_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

static void assert_said(const struct straggler_cause *cause, const char *expected)
{
	char text[STRAGGLER_TEXT_SIZE];

	assert_string_equal(straggler_text_cause(cause, text, sizeof(text)), expected);
}

static void an_idle_gpu_is_named_by_what_its_host_did(void **state)
{
	(void)state;
	assert_said(&(struct straggler_cause){.plane = REPORT_PLANE_IDLE,
					      .sort = STRAGGLER_IDLE,
					      .what = (char *)"[CPU]",
					      .function = (char *)"train.py:step"},
		    "an idle GPU ([CPU], train.py:step)");
}

static void an_idle_gpu_without_samples_of_its_host_has_no_name(void **state)
{
	(void)state;
	assert_said(&(struct straggler_cause){.plane = REPORT_PLANE_IDLE,
					      .sort = STRAGGLER_IDLE,
					      .what = (char *)"[unknown]",
					      .function = (char *)""},
		    "an idle GPU (no host thread was seen meanwhile)");
}

/* A rank may do more of something than it is late, because it does less of something else. */
static void a_cause_explains_all_of_the_lateness_at_most(void **state)
{
	(void)state;
	assert_true(straggler_text_percent(0.25) > 24.99 && straggler_text_percent(0.25) < 25.01);
	assert_true(straggler_text_percent(1.36) > 99.99 && straggler_text_percent(1.36) < 100.01);
}

static void every_ground_has_a_reason(void **state)
{
	(void)state;
	for (int ground = STRAGGLER_FREQUENCY; ground <= STRAGGLER_HIDDEN; ground++)
		assert_true(*straggler_text_reason((enum straggler_ground)ground));
}

/* It costs nothing as long as the others are late. */
static void a_rank_hidden_by_others_has_its_lateness_instead_of_a_share(void **state)
{
	struct collective_fold fold = {.nr_members = 8, .used = 300};
	struct report_straggler_member members[2] = {
		{.found = {.ground = STRAGGLER_FREQUENCY, .last = 300}},
		{.found = {.ground = STRAGGLER_HIDDEN, .late_ns = 2000000}},
	};
	struct report_straggler_communicator on = {
		.fold = &fold, .members = members, .name = "all ranks"};
	struct report_straggler_rank ranks[2] = {{.rank = 3, .host = "node1", .member = 0},
						 {.rank = 5, .host = "node1", .member = 1}};
	const struct report_straggler straggler = {.communicators = &on,
						   .nr_communicators = 1,
						   .ranks = ranks,
						   .nr_ranks = 2,
						   .nr_named = 2};
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	assert_non_null(strstr(straggler_text_line(&straggler, line, sizeof(line)),
			       "; rank 5 on node1 (late by 2.000 ms each time, though others are "
			       "later)"));
}

static void a_part_of_a_profile_has_no_calls_to_compare(void **state)
{
	const struct report_straggler straggler = {.is_part = true};
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	assert_string_equal(straggler_text_line(&straggler, line, sizeof(line)),
			    "late: not known: no call of NCCL is here: a part of a profile has "
			    "none: the whole has what was recorded");
	assert_non_null(
		strstr(straggler_text_line(&(struct report_straggler){0}, line, sizeof(line)),
		       "`flamegrid run --collectives on` records them"));
}

/* Returns the line of eight ranks in 300 collectives, of which ranks 3 and 5 are named so. */
static const char *say_both(const struct straggler_subject *third,
			    const struct straggler_subject *fifth,
			    char line[static STRAGGLER_TEXT_SIZE])
{
	struct collective_fold fold = {.nr_members = 8, .used = 300};
	struct report_straggler_member members[8] = {
		[3] = {.found = *third}, [5] = {.found = *fifth}};
	struct report_straggler_communicator on = {
		.fold = &fold, .members = members, .name = "all ranks"};
	struct report_straggler_rank ranks[2] = {{.rank = 3, .host = "node1", .member = 3},
						 {.rank = 5, .host = "node1", .member = 5}};
	const struct report_straggler straggler = {.communicators = &on,
						   .nr_communicators = 1,
						   .ranks = ranks,
						   .nr_ranks = 2,
						   .nr_named = fifth->ground ? 2 : 1};

	return straggler_text_line(&straggler, line, STRAGGLER_TEXT_SIZE);
}

/* Each was last in half of the collectives. Without one of them alone, the others wait for the other one. */
static void of_several_late_ranks_the_saving_is_that_without_all(void **state)
{
	const struct straggler_subject third = {.ground = STRAGGLER_FREQUENCY,
						.size = 1,
						.last = 160,
						.others_ns = 7 * 1600000000ull,
						.share = 0.16};
	const struct straggler_subject fifth = {.ground = STRAGGLER_FREQUENCY,
						.size = 1,
						.last = 140,
						.others_ns = 7 * 1400000000ull,
						.share = 0.14};
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	assert_string_equal(
		say_both(&third, &fifth, line),
		"late: rank 3 on node1 (without it and the other that is late up to "
		"3.000 s less, 30.00 % of the time, beyond chance by frequency); rank 5 "
		"on node1 (14.00 %)");
	assert_string_equal(say_both(&third, &(const struct straggler_subject){0}, line),
			    "late: rank 3 on node1 (without it up to 1.600 s less, 16.00 % of the "
			    "time, beyond chance by frequency)");
}

/* The one that comes first is hidden by the other one. What the run saves is told all the same. */
static void a_hidden_rank_that_comes_first_has_the_saving_without_all(void **state)
{
	const struct straggler_subject third = {.ground = STRAGGLER_HIDDEN,
						.size = 1,
						.late_ns = 2000000,
						.others_ns = 7 * 1600000000ull,
						.share = 0.16};
	const struct straggler_subject fifth = {.ground = STRAGGLER_FREQUENCY,
						.size = 1,
						.last = 140,
						.others_ns = 7 * 1400000000ull,
						.share = 0.14};
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	assert_string_equal(
		say_both(&third, &fifth, line),
		"late: rank 3 on node1 (late by 2.000 ms each time, though others are "
		"later; without it and the other that is late up to 3.000 s less, 30.00 % "
		"of the time); rank 5 on node1 (14.00 %)");
}

/* Of 20 s that all waited in all, 14 were in the stall, each of seven ranks for 2 s. */
static void a_stall_has_its_part_of_all_waiting(void **state)
{
	const struct straggler_subject third = {.ground = STRAGGLER_STALL,
						.size = 1,
						.last = 160,
						.lump_ns = 14000000000,
						.others_ns = 15000000000,
						.share = 0.15};
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	assert_string_equal(
		say_both(&third, &(const struct straggler_subject){.others_ns = 5000000000}, line),
		"late: rank 3 on node1 (once; without it up to 2.000 s less, 14.00 % of the time "
		"and 70 % of all waiting)");
}

/* Returns the line of two ranks, of which none is named. */
static const char *say(const struct straggler_subject *found, char line[static STRAGGLER_TEXT_SIZE])
{
	struct collective_fold fold = {.nr_members = 2, .used = 240};
	struct report_straggler_member members[2] = {{.of_rank = 0},
						     {.of_rank = 1, .found = *found}};
	struct report_straggler_communicator on = {
		.fold = &fold, .members = members, .name = "all ranks"};
	struct report_straggler_rank ranks[2] = {
		{.rank = 3, .host = "node1", .others_mean_ns = 1e6},
		{.rank = 5, .host = "node1", .member = 1, .others_mean_ns = 3e6}};
	const struct report_straggler straggler = {
		.communicators = &on, .nr_communicators = 1, .ranks = ranks, .nr_ranks = 2};

	return straggler_text_line(&straggler, line, STRAGGLER_TEXT_SIZE);
}

static void a_rank_that_is_not_named_has_the_reason(void **state)
{
	static const char *const reasons[] = {
		[STRAGGLER_TOO_FEW] = "too few to tell",
		[STRAGGLER_LASTS] = "but noise lasts here: equal ranks could show the same",
		[STRAGGLER_SPREAD] = "but its usual lateness is within the spread of the others",
		[STRAGGLER_SMALL] = "but it is usually late by less than 1 % of the time",
		[STRAGGLER_UNEVEN] = "more in a part of the run, which is too little to tell",
	};
	char line[STRAGGLER_TEXT_SIZE], expected[STRAGGLER_TEXT_SIZE];

	(void)state;
	for (uint32_t doubt = STRAGGLER_TOO_FEW; doubt <= STRAGGLER_UNEVEN; doubt++) {
		const struct straggler_subject found = {.doubt = doubt, .last = 192};

		snprintf(expected, sizeof(expected),
			 "late: perhaps rank 5 on node1: it was last in 80.00 %% of 240 "
			 "collectives of all ranks, %s; each rank waited ",
			 reasons[doubt]);
		assert_ptr_equal(strstr(say(&found, line), expected), line);
		assert_non_null(strstr(line, "; most for it: 3.000 ms, 75 % of all waiting"));
	}
	assert_ptr_equal(strstr(say(&(struct straggler_subject){.last = 192}, line),
				"late: no rank stands out beyond chance; "),
			 line);
	assert_non_null(strstr(line, "; most for rank 5 on node1: 3.000 ms, 75 % of all waiting"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_of_a_profile_has_no_calls_to_compare),
		cmocka_unit_test(an_idle_gpu_is_named_by_what_its_host_did),
		cmocka_unit_test(an_idle_gpu_without_samples_of_its_host_has_no_name),
		cmocka_unit_test(a_cause_explains_all_of_the_lateness_at_most),
		cmocka_unit_test(every_ground_has_a_reason),
		cmocka_unit_test(of_several_late_ranks_the_saving_is_that_without_all),
		cmocka_unit_test(a_hidden_rank_that_comes_first_has_the_saving_without_all),
		cmocka_unit_test(a_stall_has_its_part_of_all_waiting),
		cmocka_unit_test(a_rank_that_is_not_named_has_the_reason),
		cmocka_unit_test(a_rank_hidden_by_others_has_its_lateness_instead_of_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
