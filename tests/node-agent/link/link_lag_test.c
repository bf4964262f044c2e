#include "node-agent/link/link_lag.h"

#include "tests/support/cmocka_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define S        1000000000ull
#define BEGIN_NS (1000 * S)

static char line[512];
static uint32_t nr_lines;

void __wrap_log_write(enum log_level level, const char *format, ...);

void __wrap_log_write(enum log_level level, const char *format, ...)
{
	va_list arguments;

	(void)level;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	nr_lines++;
}

static void look(struct link_lag *lag, uint64_t since_ns, uint64_t now_ns, bool is_connected)
{
	link_lag_say(lag, link_lag_look(lag, since_ns, now_ns), "tcp://n1:7", is_connected);
}

static void assert_line(const char *first, const char *second)
{
	if (strncmp(line, first, strlen(first)) != 0 || !strstr(line, second))
		fail_msg("not \"%s…%s\", but \"%s\"", first, second, line);
}

static void assert_told(struct link_lag *lag, uint64_t expected_count, uint64_t expected_ns)
{
	uint64_t count, most_ns;

	assert_true(link_lag_take(lag, &count, &most_ns));
	assert_int_equal(count, expected_count);
	assert_int_equal(most_ns, expected_ns);
	assert_false(link_lag_take(lag, &count, &most_ns));
}

static void an_aggregator_that_answers_each_round_is_not_behind(void **state)
{
	struct link_lag lag = {.told_count = 0};
	uint64_t count, most_ns;

	(void)state;
	nr_lines = 0;
	for (uint64_t now_ns = BEGIN_NS; now_ns < BEGIN_NS + 100 * S; now_ns += S)
		look(&lag, now_ns % (10 * S) ? now_ns - now_ns % (10 * S) : 0, now_ns, true);
	assert_int_equal(nr_lines, 0);
	assert_false(link_lag_take(&lag, &count, &most_ns));
}

/* As when the job's aggregator stands still for a minute. */
static void a_pause_gets_a_line_its_end_and_is_counted_once(void **state)
{
	struct link_lag lag = {.told_count = 0};
	uint64_t count, most_ns;

	(void)state;
	nr_lines = 0;
	look(&lag, BEGIN_NS, BEGIN_NS + 10 * S, true);
	assert_int_equal(nr_lines, 0);
	assert_false(link_lag_take(&lag, &count, &most_ns));
	look(&lag, BEGIN_NS, BEGIN_NS + 11 * S, false);
	assert_int_equal(nr_lines, 1);
	assert_line("the job's aggregator at tcp://n1:7 is 11.0 s behind since ",
		    ": there is no connection to it; this node keeps its profile, and nothing is "
		    "lost by it");
	assert_told(&lag, 1, 11 * S);
	look(&lag, BEGIN_NS, BEGIN_NS + 21 * S, false);
	assert_false(link_lag_take(&lag, &count, &most_ns));
	look(&lag, BEGIN_NS, BEGIN_NS + 22 * S, false);
	assert_told(&lag, 1, 22 * S);
	look(&lag, BEGIN_NS, BEGIN_NS + 40 * S, false);
	assert_false(link_lag_take(&lag, &count, &most_ns));
	look(&lag, 0, BEGIN_NS + 41 * S, true);
	assert_told(&lag, 1, 40 * S);
	assert_int_equal(nr_lines, 1);
	look(&lag, 0, BEGIN_NS + 50 * S, true);
	assert_int_equal(nr_lines, 2);
	assert_line("the job's aggregator at tcp://n1:7 has caught up: it was behind for 40.0 s, ",
		    "and at most by 40.0 s; nothing was lost by it");
}

static void a_link_that_is_slower_than_the_node_is_named_as_such(void **state)
{
	struct link_lag lag = {.told_count = 0};

	(void)state;
	look(&lag, BEGIN_NS, BEGIN_NS + 10 * S, true);
	look(&lag, BEGIN_NS, BEGIN_NS + 12 * S, true);
	assert_line("the job's aggregator at tcp://n1:7 is 12.0 s behind since ",
		    ": it or the link is slower than this node; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_aggregator_that_answers_each_round_is_not_behind),
		cmocka_unit_test(a_pause_gets_a_line_its_end_and_is_counted_once),
		cmocka_unit_test(a_link_that_is_slower_than_the_node_is_named_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
