#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/metrics_losses.h"
#include "metrics/metrics_text.h"
#include "metrics/own_cost.h"
#include "metrics/utf8_text.h"

static const struct metrics_family busy = {"x_busy_seconds", METRICS_COUNTER, "seconds", "A sum."};
static const struct metrics_family now = {"x_now", METRICS_GAUGE, NULL, "A state."};

/* Ends the text, and compares it. */
static void assert_text(struct metrics_text *text, const char *expected)
{
	char *bytes;
	size_t size;

	assert_int_equal(metrics_text_take(text, &bytes, &size), 0);
	assert_string_equal(bytes, expected);
	assert_int_equal(size, strlen(expected));
	free(bytes);
	metrics_text_destroy(text);
}

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool has_no_memory;

void *__wrap_realloc(void *memory, size_t size)
{
	return has_no_memory ? NULL : __real_realloc(memory, size);
}

static void write_both(struct metrics_text *text)
{
	const struct metrics_label labels[] = {{"UUID", "GPU-1"}, {"gpu", "0"}};

	metrics_text_family(text, &busy);
	metrics_text_ns(text, labels, 2, 1500000001);
	metrics_text_number(text, NULL, 0, 7);
	metrics_text_one(text, &now, 3);
}

static void open_metrics_have_units_and_an_end(void **state)
{
	struct metrics_text *text = metrics_text_create(true);

	(void)state;
	write_both(text);
	assert_text(text, "# TYPE x_busy_seconds counter\n"
			  "# UNIT x_busy_seconds seconds\n"
			  "# HELP x_busy_seconds A sum.\n"
			  "x_busy_seconds_total{UUID=\"GPU-1\",gpu=\"0\"} 1.500000001\n"
			  "x_busy_seconds_total 7\n"
			  "# TYPE x_now gauge\n"
			  "# HELP x_now A state.\n"
			  "x_now 3\n"
			  "# EOF\n");
}

static void the_older_format_names_counters_in_full(void **state)
{
	struct metrics_text *text = metrics_text_create(false);

	(void)state;
	write_both(text);
	assert_text(text, "# TYPE x_busy_seconds_total counter\n"
			  "# HELP x_busy_seconds_total A sum.\n"
			  "x_busy_seconds_total{UUID=\"GPU-1\",gpu=\"0\"} 1.500000001\n"
			  "x_busy_seconds_total 7\n"
			  "# TYPE x_now gauge\n"
			  "# HELP x_now A state.\n"
			  "x_now 3\n");
}

static void the_fields_of_a_struct_are_families(void **state)
{
	const struct {
		uint32_t other;
		uint64_t first, second;
	} values = {1, 2, UINT64_MAX};
	const struct metrics_field fields[] = {
		{{"x_second", METRICS_GAUGE, NULL, "B."},
		 (size_t)((char *)&values.second - (char *)&values)},
		{{"x_first", METRICS_COUNTER, NULL, "A."},
		 (size_t)((char *)&values.first - (char *)&values)},
	};
	struct metrics_text *text = metrics_text_create(false);

	(void)state;
	metrics_text_fields(text, fields, 2, &values);
	assert_text(text, "# TYPE x_second gauge\n"
			  "# HELP x_second B.\n"
			  "x_second 18446744073709551615\n"
			  "# TYPE x_first_total counter\n"
			  "# HELP x_first_total A.\n"
			  "x_first_total 2\n");
}

/* Nothing waits; for one nanosecond; a clock that stands behind. */
static void a_wait_is_never_below_zero(void **state)
{
	static const char head[] = "# TYPE x_now gauge\n# HELP x_now A state.\n";
	const struct {
		uint64_t since_ns, now_ns;
		const char *value;
	} cases[] = {{0, 9, "0.000000000"}, {8, 9, "0.000000001"}, {10, 9, "0.000000000"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct metrics_text *text = metrics_text_create(false);
		char expected[128];

		metrics_text_behind(text, &now, cases[i].since_ns, cases[i].now_ns);
		snprintf(expected, sizeof(expected), "%sx_now %s\n", head, cases[i].value);
		assert_text(text, expected);
	}
}

static void losses_are_those_of_their_class(void **state)
{
	struct metrics_text *text = metrics_text_create(true);
	uint64_t lost[LEDGER_REASONS];
	uint32_t nr_lost = 0, nr_samples = 0;
	char *bytes;
	size_t size;

	(void)state;
	for (uint32_t i = 0; i < LEDGER_REASONS; i++) {
		lost[i] = 1000 + i;
		nr_lost += ledger_reason_class(i) == LEDGER_LOST;
	}
	metrics_losses_write(text, &now, lost);
	assert_int_equal(metrics_text_take(text, &bytes, &size), 0);
	for (const char *at = bytes; (at = strstr(at, "x_now{reason=\"")); at++)
		nr_samples++;
	assert_true(nr_lost > 0 && nr_lost < LEDGER_REASONS);
	assert_int_equal(nr_samples, nr_lost);
	free(bytes);
	metrics_text_destroy(text);
}

static void all_64_bit_values_are_exact(void **state)
{
	struct metrics_text *text = metrics_text_create(false);

	(void)state;
	metrics_text_family(text, &now);
	metrics_text_number(text, NULL, 0, UINT64_MAX);
	metrics_text_ns(text, NULL, 0, UINT64_MAX);
	metrics_text_ns(text, NULL, 0, 0);
	metrics_text_ns(text, NULL, 0, 1);
	metrics_text_ns(text, NULL, 0, 9007199254740993);
	assert_text(text, "# TYPE x_now gauge\n"
			  "# HELP x_now A state.\n"
			  "x_now 18446744073709551615\n"
			  "x_now 18446744073.709551615\n"
			  "x_now 0.000000000\n"
			  "x_now 0.000000001\n"
			  "x_now 9007199.254740993\n");
}

/* Writes one label's value, and compares what stands between the quotes. */
static void assert_value(const char *value, const char *expected)
{
	const struct metrics_label label = {"l", value};
	struct metrics_text *text = metrics_text_create(false);
	char *bytes, whole[512];
	size_t size;

	metrics_text_family(text, &now);
	metrics_text_number(text, &label, 1, 0);
	assert_int_equal(metrics_text_take(text, &bytes, &size), 0);
	metrics_text_destroy(text);
	snprintf(whole, sizeof(whole),
		 "# TYPE x_now gauge\n# HELP x_now A state.\nx_now{l=\"%s\"} 0\n", expected);
	assert_string_equal(bytes, whole);
	free(bytes);
}

static void values_of_labels_are_escaped(void **state)
{
	(void)state;
	assert_value("", "");
	assert_value("a\"b\\c\nd", "a\\\"b\\\\c\\nd");
	assert_value("\"} 1\nevil 2", "\\\"} 1\\nevil 2");
	assert_value("käse €😀", "käse €😀");
}

/* A reader refuses all metrics if one byte of them is no UTF-8. */
static void what_is_no_utf8_is_replaced(void **state)
{
	(void)state;
	assert_value("\xff", "\xef\xbf\xbd");
	assert_value("a\x80z", "a\xef\xbf\xbdz");
	assert_value("\xc3", "\xef\xbf\xbd");
	assert_value("\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd");
	assert_value("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_value("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_value("\xe2\x82\"", "\xef\xbf\xbd\xef\xbf\xbd\\\"");
	assert_int_equal(utf8_text_next("\xf4\x8f\xbf\xbf"), 4);
	assert_int_equal(utf8_text_next("\xf8\x88\x80\x80\x80"), 0);
	assert_int_equal(utf8_text_next(""), 0);
}

static void a_program_knows_its_cost(void **state)
{
	static const char *const names[] = {"\nprocess_cpu_seconds_total ",
					    "\nprocess_resident_memory_bytes ",
					    "\nprocess_open_fds ", "\nprocess_start_time_seconds "};
	struct metrics_text *text = metrics_text_create(false);
	char *bytes;
	size_t size;

	(void)state;
	own_cost_write(text);
	assert_int_equal(metrics_text_take(text, &bytes, &size), 0);
	metrics_text_destroy(text);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *found = strstr(bytes, names[i]);

		assert_non_null(found);
		assert_true(strtod(found + strlen(names[i]), NULL) > 0);
	}
	free(bytes);
}

static void a_text_that_lacks_bytes_is_an_error(void **state)
{
	struct metrics_text *text = metrics_text_create(true);
	char *bytes;
	size_t size;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		has_no_memory = i >= 300 && i < 700; /* while the text doubles */
		write_both(text);
	}
	has_no_memory = false;
	assert_int_equal(metrics_text_take(text, &bytes, &size), -ENOMEM);
	assert_null(bytes);
	metrics_text_destroy(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fields_of_a_struct_are_families),
		cmocka_unit_test(a_wait_is_never_below_zero),
		cmocka_unit_test(losses_are_those_of_their_class),
		cmocka_unit_test(a_text_that_lacks_bytes_is_an_error),
		cmocka_unit_test(open_metrics_have_units_and_an_end),
		cmocka_unit_test(the_older_format_names_counters_in_full),
		cmocka_unit_test(all_64_bit_values_are_exact),
		cmocka_unit_test(values_of_labels_are_escaped),
		cmocka_unit_test(what_is_no_utf8_is_replaced),
		cmocka_unit_test(a_program_knows_its_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
