/* Chains of inlined functions, and the names that their functions have. */
#include "node-agent/cubin/cubin_lines.h"

#include <string.h>

#include "cubin_fixture.h"
#include "cubin_lines_fixture.h"
#include "tests/support/cmocka_test.h"

static struct cubin_fixture fixture;

static int begin(void **state)
{
	(void)state;
	memset(&fixture, 0, sizeof(fixture));
	return 0;
}

static const char strings[] = "leaf\0middle";

/* Row 1 is the kernel's line, row 2 that of middle, row 3 that of leaf. */
static void put_chain(uint32_t symbol, int32_t line)
{
	fixture_address(&fixture, symbol, 0);
	fixture_row(&fixture, 0, line - 1);
	fixture_inline(&fixture, 1, 5);
	fixture_byte(&fixture, 4);
	fixture_byte(&fixture, 2);
	fixture_row(&fixture, 0, 1);
	fixture_inline(&fixture, 2, 0);
	fixture_row(&fixture, 0, 1);
	fixture_inline(&fixture, 0, 5);
	fixture_row(&fixture, 16, 1);
	fixture_end_sequence(&fixture, 16);
}

static void callers_are_rows_of_the_same_sequence(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture.strings = strings;
	fixture.strings_size = sizeof(strings);
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 32);
	fixture_symbol_add(&fixture, "b", FIXTURE_TEXT_B, 0, 32);
	fixture_begin(&fixture);
	put_chain(0, 10);
	put_chain(1, 50);
	fixture_end(&fixture);
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "leaf two.h:12 < middle two.h:11 < a /src/one.cu:10");
	fixture_assert_chain(lines, "b", 15, "leaf two.h:52 < middle two.h:51 < b /src/one.cu:50");
	fixture_assert_chain(lines, "b", 16, "b two.h:53");
	cubin_lines_destroy(lines);
}

static void names_count_from_the_strings_of_the_unit(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture.strings = "first\0leaf\0middle";
	fixture.strings_size = 18;
	fixture.string_base = 6;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 32);
	fixture_begin(&fixture);
	put_chain(0, 10);
	fixture_end(&fixture);
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "leaf two.h:12 < middle two.h:11 < a /src/one.cu:10");
	cubin_lines_destroy(lines);
}

/* Two units that both say that their strings begin at 0, as after the assembler of CUDA 13.0 for sm_90. */
static void assert_names_of_second(const char *bytes, size_t size, const char *expected)
{
	struct cubin_lines *lines;

	begin(NULL);
	fixture.strings = bytes;
	fixture.strings_size = size;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 32);
	fixture_symbol_add(&fixture, "b", FIXTURE_TEXT_B, 0, 32);
	fixture_begin(&fixture);
	put_chain(0, 10);
	fixture_end(&fixture);
	fixture_begin(&fixture);
	put_chain(1, 50);
	fixture_end(&fixture);
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "leaf two.h:12 < middle two.h:11 < a /src/one.cu:10");
	fixture_assert_chain(lines, "b", 0, expected);
	cubin_lines_destroy(lines);
}

static void names_of_a_unit_without_its_place_are_found_by_the_strings(void **state)
{
	static const char two[] = "leaf\0middle\0tiny\0inner";

	(void)state;
	assert_names_of_second(two, sizeof(two),
			       "tiny two.h:52 < inner two.h:51 < b /src/one.cu:50");
}

static void names_that_do_not_fit_the_strings_are_not_known(void **state)
{
	static const char shared[] = "leaf\0middle", more[] = "leaf\0middle\0tiny\0inner\0unused",
			  between[] = "leaf\0middle\0unused\0tiny\0inner",
			  endless[] = {'l', 'e', 'a', 'f', 0,   'm', 'i', 'd', 'd',
				       'l', 'e', 0,   't', 'i', 'n', 'y', 0,   'i'};
	static const char unknown[] = "- two.h:52 < - two.h:51 < b /src/one.cu:50";

	(void)state;
	assert_names_of_second(shared, sizeof(shared), unknown);
	assert_names_of_second(more, sizeof(more), unknown);
	assert_names_of_second(between, sizeof(between), unknown);
	assert_names_of_second(endless, sizeof(endless), unknown);
}

static void names_of_units_count_from_the_places_that_they_tell(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture.strings = "leaf\0middle\0unused\0tiny\0inner";
	fixture.strings_size = 30;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 32);
	fixture_symbol_add(&fixture, "b", FIXTURE_TEXT_B, 0, 32);
	fixture_begin(&fixture);
	put_chain(0, 10);
	fixture_end(&fixture);
	fixture.string_base = 19;
	fixture_begin(&fixture);
	put_chain(1, 50);
	fixture_end(&fixture);
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "leaf two.h:12 < middle two.h:11 < a /src/one.cu:10");
	fixture_assert_chain(lines, "b", 0, "tiny two.h:52 < inner two.h:51 < b /src/one.cu:50");
	cubin_lines_destroy(lines);
}

static void names_behind_the_strings_are_not_known(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture.strings = "leaf"; /* without an end */
	fixture.strings_size = 4;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 32);
	fixture_begin(&fixture);
	put_chain(0, 10);
	fixture_end(&fixture);
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "leaf two.h:12 < - two.h:11 < a /src/one.cu:10");
	cubin_lines_destroy(lines);
}

static void empty_name_is_not_known(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture.strings = "\0eaf\0middle";
	fixture.strings_size = sizeof(strings);
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 32);
	fixture_begin(&fixture);
	put_chain(0, 10);
	fixture_end(&fixture);
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "- two.h:12 < middle two.h:11 < a /src/one.cu:10");
	cubin_lines_destroy(lines);
}

/* Real rows name earlier ones; a row that names itself or a later one would be a chain without an end. */
static void caller_is_an_earlier_row(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture.strings = strings;
	fixture.strings_size = sizeof(strings);
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&fixture);
	fixture_address(&fixture, 0, 0);
	fixture_inline(&fixture, 2, 0);
	fixture_row(&fixture, 0, 10);
	fixture_inline(&fixture, 2, 5);
	fixture_row(&fixture, 16, 10);
	fixture_inline(&fixture, 1, 5);
	fixture_row(&fixture, 16, 10);
	fixture_inline(&fixture, 9, 0); /* no such row */
	fixture_row(&fixture, 16, 10);
	fixture_end_sequence(&fixture, 16);
	fixture_end(&fixture);
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "a /src/one.cu:11");
	fixture_assert_chain(lines, "a", 16, "a /src/one.cu:21");
	fixture_assert_chain(lines, "a", 32, "middle /src/one.cu:31 < a /src/one.cu:11");
	fixture_assert_chain(lines, "a", 48, "a /src/one.cu:41");
	cubin_lines_destroy(lines);
}

static void chain_ends_at_the_bound(void **state)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	struct cubin_lines *lines;

	(void)state;
	fixture.strings = strings;
	fixture.strings_size = sizeof(strings);
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&fixture);
	fixture_address(&fixture, 0, 0);
	fixture_row(&fixture, 0, 10);
	for (uint32_t row = 1; row <= CUBIN_FRAMES_MAX; row++) {
		fixture_inline(&fixture, row, 0);
		fixture_row(&fixture, 0, 1);
	}
	fixture_end_sequence(&fixture, 16);
	fixture_end(&fixture);
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	assert_int_equal(cubin_code_find(cubin_lines_code(lines, "a"), 0, frames),
			 CUBIN_FRAMES_MAX);
	assert_int_equal(frames[0].line, 11 + CUBIN_FRAMES_MAX);
	assert_int_equal(frames[CUBIN_FRAMES_MAX - 1].line, 12);
	cubin_lines_destroy(lines);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(callers_are_rows_of_the_same_sequence),
		TEST(names_count_from_the_strings_of_the_unit),
		TEST(names_of_a_unit_without_its_place_are_found_by_the_strings),
		TEST(names_that_do_not_fit_the_strings_are_not_known),
		TEST(names_of_units_count_from_the_places_that_they_tell),
		TEST(names_behind_the_strings_are_not_known),
		TEST(empty_name_is_not_known),
		TEST(caller_is_an_earlier_row),
		TEST(chain_ends_at_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
