#include "report/profile/cost_notices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct cost_notice parse(const char *text, int32_t rank, uint32_t pid)
{
	struct cost_notice notice;

	assert_true(cost_notice_parse(text, strlen(text), &notice));
	notice.rank = rank;
	notice.pid = pid;
	return notice;
}

#define DOWN(time, share)                                                                          \
	"launches take one frame from " time " s on: before, with whole stacks, they cost " share  \
	" % of their threads' time (--max-cost)"
#define KEPT(share)                                                                                \
	"--max-cost cannot be kept: without a stack launches still cost " share                    \
	" % of their threads' time"

static void ranks_that_say_the_same_share_a_text(void **state)
{
	struct cost_notice notices[] = {
		parse(KEPT("2.500"), 3, 103),           parse(DOWN("1.012", "7.496"), 1, 101),
		parse(DOWN("0.512", "14.878"), 3, 103), parse(DOWN("0.700", "3.000"), 0, 100),
		parse(DOWN("9.700", "8.000"), 0, 100),  parse(DOWN("0.600", "9.000"), 5, 105),
	};
	const uint32_t nr = sizeof(notices) / sizeof(*notices);
	char text[COST_NOTICES_TEXT_SIZE];
	uint32_t processes;

	(void)state;
	qsort(notices, nr, sizeof(*notices), cost_notice_compare);
	assert_int_equal(cost_notices_write(notices, nr, text, &processes), 5);
	assert_int_equal(processes, 4);
	assert_string_equal(text,
			    "launches take one frame from 0.512 to 9.700 s on in ranks 0-1, 3, 5: "
			    "before, with whole stacks, they cost 3.000 to 14.878 % of their "
			    "threads' time (--max-cost)");
	assert_int_equal(cost_notices_write(notices + 5, 1, text, &processes), 1);
	assert_int_equal(processes, 1);
	assert_string_equal(text, "--max-cost cannot be kept in rank 3: without a stack launches "
				  "still cost 2.500 % of their threads' time");
}

static void processes_without_a_rank_are_named_by_their_ids(void **state)
{
	struct cost_notice notices[12];
	char text[COST_NOTICES_TEXT_SIZE];
	uint32_t processes;

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		notices[i] = parse(KEPT("1.000"), i == 7 ? 4 : -1, 4294967295u - i);
	qsort(notices, 12, sizeof(*notices), cost_notice_compare);
	assert_int_equal(cost_notices_write(notices, 12, text, &processes), 12);
	assert_int_equal(processes, 12);
	assert_non_null(strstr(text, "kept in processes 4294967284, 4294967285, "));
	assert_non_null(strstr(text, ", 4294967292, ...: without a stack"));
	assert_int_equal(cost_notices_write(notices, 1, text, &processes), 1);
	assert_non_null(strstr(text, "kept in process 4294967284: without a stack launches still "
				     "cost 1.000 % of"));
}

static void other_texts_are_no_such_notices(void **state)
{
	static const char *const texts[] = {
		"",
		"CPython 3.11.2",
		"launches take two frames from 1.000 s on: before, with whole stacks, they cost "
		"1.000 % of",
		"launches take one frame after 1.000 s on: before, with whole stacks, they cost "
		"1.000 % of",
		"launches take one frame from 1.000 s on: before, with less, they cost 1.000 % of",
		"--max-cost cannot be kept",
	};
	struct cost_notice notice;
	char huge[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(cost_notice_parse(texts[i], strlen(texts[i]), &notice));
	memset(huge, ' ', sizeof(huge));
	memcpy(huge, KEPT("1.000"), strlen(KEPT("1.000")));
	assert_false(cost_notice_parse(huge, sizeof(huge), &notice));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_that_say_the_same_share_a_text),
		cmocka_unit_test(processes_without_a_rank_are_named_by_their_ids),
		cmocka_unit_test(other_texts_are_no_such_notices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
