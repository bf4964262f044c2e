#include "tests/support/cmocka_test.h"

#include <stdint.h>

#include "report/compare/run_item.h"
#include "report/compare/run_lines.h"

/* "fit.py:norm:18 > gpu.py:launch:21" without and with its caller. */
#define LAUNCH(ns_)                                                                                \
	{                                                                                          \
		.text = (char *)"gpu.py:launch:21", .own_text = "gpu.py:launch:21",                \
		.function = launch, .own_function = launch, .ns = (ns_)                            \
	}
#define CALLED(caller, number, ns_)                                                                \
	{                                                                                          \
		.text = (char *)caller ":" number " > gpu.py:launch:21",                           \
		.own_text = "gpu.py:launch:21", .function = (char *)caller " > gpu.py:launch",     \
		.own_function = "gpu.py:launch", .ns = (ns_)                                       \
	}
#define OTHER(ns_)                                                                                 \
	{                                                                                          \
		.text = (char *)"net.py:mlp:7", .own_text = "net.py:mlp:7", .function = other,     \
		.own_function = other, .ns = (ns_)                                                 \
	}
#define NR(lines) (sizeof(lines) / sizeof(*(lines)))

static char launch[] = "gpu.py:launch", other[] = "net.py:mlp";
static const double units[] = {1, 1};

static struct run_item item_of(struct run_line *lines, uint32_t nr)
{
	struct run_item item = {.kind = RUN_KIND_KERNEL, .lines = lines, .nr_lines = nr};

	for (uint32_t i = 0; i < nr; i++)
		item.ns += lines[i].ns;
	return item;
}

static void assert_grown(const struct run_item *before, const struct run_item *after,
			 const char *line, double wanted)
{
	const struct run_item *items[] = {before, after};
	const struct run_lines_question question = {items, units, 1, 1};
	double part;

	assert_string_equal(run_lines_grown(&question, &part), line);
	assert_float_equal(part, wanted, 1e-9);
}

static void the_line_that_grew_is_told_with_its_caller(void **state)
{
	struct run_line before[] = {CALLED("fit.py:attend", "9", 500),
				    CALLED("fit.py:norm", "18", 100)};
	struct run_line after[] = {CALLED("fit.py:attend", "9", 500),
				   CALLED("fit.py:norm", "19", 150)};
	const struct run_item one = item_of(before, NR(before)),
			      other_one = item_of(after, NR(after));

	(void)state;
	assert_grown(&one, &other_one, "fit.py:norm:19 > gpu.py:launch:21", 1);
}

/* All its time would count as grown, though the other line has grown. */
static void a_helper_whose_caller_one_run_names_is_compared_without_it(void **state)
{
	struct run_line plain[] = {LAUNCH(1000), OTHER(100)};
	struct run_line called[] = {CALLED("fit.py:norm", "18", 1000), OTHER(150)};
	struct run_line shrunk[] = {CALLED("fit.py:norm", "18", 1000), OTHER(90)};
	struct run_line grown[] = {LAUNCH(1060), OTHER(100)};
	const struct run_item without = item_of(plain, NR(plain)),
			      with = item_of(called, NR(called)),
			      less = item_of(shrunk, NR(shrunk)), more = item_of(grown, NR(grown));

	(void)state;
	assert_grown(&without, &with, "net.py:mlp:7", 1);
	assert_grown(&less, &without, "net.py:mlp:7", 1);
	assert_grown(&less, &more, "gpu.py:launch:21", 60.0 / 70);
}

static void a_new_caller_of_a_helper_has_grown(void **state)
{
	struct run_line before[] = {CALLED("fit.py:norm", "18", 100), LAUNCH(300)};
	struct run_line after[] = {CALLED("fit.py:attend", "9", 50),
				   CALLED("fit.py:norm", "18", 100), LAUNCH(300)};
	const struct run_item one = item_of(before, NR(before)),
			      other_one = item_of(after, NR(after));

	(void)state;
	assert_grown(&one, &other_one, "fit.py:attend:9 > gpu.py:launch:21", 1);
}

static void what_has_not_grown_has_no_line(void **state)
{
	struct run_line lines[] = {OTHER(100)}, fewer[] = {OTHER(90)};
	const struct run_item before = item_of(lines, 1), after = item_of(fewer, 1);
	const struct run_item *items[] = {&before, &after}, *none[] = {&before, NULL};
	double part;

	(void)state;
	assert_null(run_lines_grown(&(struct run_lines_question){items, units, 1, 1}, &part));
	assert_float_equal(part, 0, 0);
	assert_null(run_lines_grown(&(struct run_lines_question){none, units, 1, 1}, &part));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_that_grew_is_told_with_its_caller),
		cmocka_unit_test(a_helper_whose_caller_one_run_names_is_compared_without_it),
		cmocka_unit_test(a_new_caller_of_a_helper_has_grown),
		cmocka_unit_test(what_has_not_grown_has_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
