/* Line tables that are written here opcode by opcode: all that the compilers at hand do not write. */
#include "node-agent/cubin/cubin_lines.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubin_fixture.h"
#include "node-agent/cubin/cubin_rows.h"
#include "tests/support/cmocka_test.h"

static struct cubin_fixture fixture;

static int begin(void **state)
{
	(void)state;
	memset(&fixture, 0, sizeof(fixture));
	return 0;
}

static int create(struct cubin_lines **lines)
{
	size_t size;
	uint8_t *image = fixture_image(&fixture, &size);
	int error = cubin_lines_create(image, size, lines);

	free(image); /* nothing is kept of it */
	return error;
}

/* Compares the chain at an offset with "leaf /src/one.cu:9 < …", innermost first. "-": not known. */
static void assert_chain(const struct cubin_lines *lines, const char *function, uint64_t offset,
			 const char *expected)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	size_t count = cubin_code_find(cubin_lines_code(lines, function), offset, frames);
	char text[4096] = "", *end = text;

	for (size_t i = 0; i < count; i++)
		end += sprintf(end, "%s%s %s:%u", i ? " < " : "",
			       frames[i].function ? frames[i].function : "-",
			       frames[i].file ? frames[i].file : "-", frames[i].line);
	assert_string_equal(text, expected);
}

static void each_function_has_its_own_rows(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_symbol_add(&fixture, "b", FIXTURE_TEXT_B, 0, 64);
	fixture_begin(&fixture);
	fixture_kernel(&fixture, 1, 0, 20);
	fixture_kernel(&fixture, 0, 0, 10);
	fixture_end(&fixture);
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "a /src/one.cu:10");
	assert_chain(lines, "a", 15, "a /src/one.cu:10");
	assert_chain(lines, "a", 16, "a /src/one.cu:11");
	assert_chain(lines, "a", 63, "a /src/one.cu:11");
	assert_chain(lines, "b", 0, "b /src/one.cu:20");
	assert_chain(lines, "b", 63, "b /src/one.cu:21");
	cubin_lines_destroy(lines);
}

static void places_outside_of_a_function_are_not_known(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 128);
	fixture_symbol_add(&fixture, "unlined", FIXTURE_TEXT_B, 0, 64);
	fixture_begin(&fixture);
	fixture_kernel(&fixture, 0, 8, 10);
	fixture_end(&fixture);
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 7, "");
	assert_chain(lines, "a", 8, "a /src/one.cu:10");
	assert_chain(lines, "a", 72, "");
	assert_chain(lines, "a", 128, "");
	assert_chain(lines, "a", UINT64_MAX, "");
	assert_chain(lines, "unlined", 0, "");
	assert_chain(lines, "other", 0, "");
	assert_chain(lines, "", 0, "");
	cubin_lines_destroy(lines);
}

static void addends_may_lie_in_the_table(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture.without_addends = 1;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 32, 128);
	fixture_begin(&fixture);
	fixture_kernel(&fixture, 0, 8, 10);
	fixture_end(&fixture);
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 7, "");
	assert_chain(lines, "a", 8, "a /src/one.cu:10");
	cubin_lines_destroy(lines);
}

static void relocations_of_all_addresses_are_applied(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < 6; type++) {
		struct cubin_lines *lines;

		begin(NULL);
		fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 128);
		fixture_begin(&fixture);
		fixture_kernel(&fixture, 0, 0, 10);
		fixture_end(&fixture);
		fixture.relocations[0].type = type;
		assert_int_equal(create(&lines), 0);
		assert_chain(lines, "a", 0, type >= 1 && type <= 4 ? "a /src/one.cu:10" : "");
		cubin_lines_destroy(lines);
	}
}

static void paths_have_the_directories_that_the_table_has(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&fixture);
	fixture_address(&fixture, 0, 0);
	for (uint32_t file = 0; file <= 4; file++) {
		fixture_byte(&fixture, 4);
		fixture_number(&fixture, file);
		fixture_row(&fixture, file ? 16 : 0, 1);
	}
	fixture_end_sequence(&fixture, 16);
	fixture_end(&fixture);
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "a -:2");
	assert_chain(lines, "a", 16, "a /src/one.cu:3");
	assert_chain(lines, "a", 32, "a two.h:4");
	assert_chain(lines, "a", 48, "a /abs/three.h:5");
	assert_chain(lines, "a", 64, "");
	cubin_lines_destroy(lines);
}

static void long_path_is_cut(void **state)
{
	static char name[3 * CUBIN_PATH_MAX];
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	struct cubin_lines *lines;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&fixture);
	fixture_byte(&fixture, 0);
	fixture_number(&fixture, 1 + sizeof(name) + 3);
	fixture_byte(&fixture, 3);
	fixture_bytes(&fixture, name, sizeof(name));
	fixture_bytes(&fixture, "\1\0\0", 3); /* in the first directory */
	fixture_address(&fixture, 0, 0);
	fixture_bytes(&fixture, "\4\4", 2);
	fixture_row(&fixture, 0, 10);
	fixture_end_sequence(&fixture, 16);
	fixture_end(&fixture);
	assert_int_equal(create(&lines), 0);
	assert_int_equal(cubin_code_find(cubin_lines_code(lines, "a"), 0, frames), 1);
	assert_int_equal(strlen(frames[0].file), CUBIN_PATH_MAX);
	assert_memory_equal(frames[0].file, "/src/xxx", 8);
	cubin_lines_destroy(lines);
}

static void special_and_standard_opcodes_move_as_dwarf_says(void **state)
{
	static const uint8_t program[] = {
		10 + 14 * 2 + 5 + 8, /* 2 bytes, 8 lines, a row */
		8,                   /* 17 bytes: those of opcode 255 */
		9,
		5,
		0, /* 5 bytes */
		5,
		3,
		6,
		7, /* a column, a statement, a block */
		3,
		0x7e,
		1, /* 2 lines back, a row */
	};
	struct cubin_lines *lines;

	(void)state;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&fixture);
	fixture_address(&fixture, 0, 0);
	fixture_bytes(&fixture, program, sizeof(program));
	fixture_end_sequence(&fixture, 8);
	fixture_end(&fixture);
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 1, "");
	assert_chain(lines, "a", 2, "a /src/one.cu:9");
	assert_chain(lines, "a", 23, "a /src/one.cu:9");
	assert_chain(lines, "a", 24, "a /src/one.cu:7");
	assert_chain(lines, "a", 31, "a /src/one.cu:7");
	assert_chain(lines, "a", 32, "");
	cubin_lines_destroy(lines);
}

static void line_zero_is_no_line(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&fixture);
	fixture_address(&fixture, 0, 0);
	fixture_row(&fixture, 0, 4);
	fixture_row(&fixture, 16, -5);
	fixture_row(&fixture, 16, 7);
	fixture_end_sequence(&fixture, 16);
	fixture_end(&fixture);
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "a /src/one.cu:5");
	assert_chain(lines, "a", 16, "");
	assert_chain(lines, "a", 32, "a /src/one.cu:7");
	cubin_lines_destroy(lines);
}

/* ---- inlined functions */

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
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "leaf two.h:12 < middle two.h:11 < a /src/one.cu:10");
	assert_chain(lines, "b", 15, "leaf two.h:52 < middle two.h:51 < b /src/one.cu:50");
	assert_chain(lines, "b", 16, "b two.h:53");
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
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "leaf two.h:12 < middle two.h:11 < a /src/one.cu:10");
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
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "leaf two.h:12 < middle two.h:11 < a /src/one.cu:10");
	assert_chain(lines, "b", 0, expected);
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
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "leaf two.h:12 < middle two.h:11 < a /src/one.cu:10");
	assert_chain(lines, "b", 0, "tiny two.h:52 < inner two.h:51 < b /src/one.cu:50");
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
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "leaf two.h:12 < - two.h:11 < a /src/one.cu:10");
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
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "- two.h:12 < middle two.h:11 < a /src/one.cu:10");
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
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "a /src/one.cu:11");
	assert_chain(lines, "a", 16, "a /src/one.cu:21");
	assert_chain(lines, "a", 32, "middle /src/one.cu:31 < a /src/one.cu:11");
	assert_chain(lines, "a", 48, "a /src/one.cu:41");
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
	assert_int_equal(create(&lines), 0);
	assert_int_equal(cubin_code_find(cubin_lines_code(lines, "a"), 0, frames),
			 CUBIN_FRAMES_MAX);
	assert_int_equal(frames[0].line, 11 + CUBIN_FRAMES_MAX);
	assert_int_equal(frames[CUBIN_FRAMES_MAX - 1].line, 12);
	cubin_lines_destroy(lines);
}

/* ---- functions within functions */

static void function_within_a_kernel_is_found_by_both_names(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture_symbol_add(&fixture, "kernel", FIXTURE_TEXT_A, 0, 96);
	fixture_symbol_add(&fixture, "$kernel$apart", FIXTURE_TEXT_A, 32, 32);
	fixture_symbol_add(&fixture, "$__internal_12_$divide", FIXTURE_TEXT_A, 64, 16);
	fixture_symbol_add(&fixture, "$strange", FIXTURE_TEXT_A, 80, 16);
	fixture_begin(&fixture);
	fixture_address(&fixture, 0, 0);
	fixture_row(&fixture, 0, 9);
	fixture_row(&fixture, 32, 20);
	fixture_end_sequence(&fixture, 64);
	fixture_end(&fixture);
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "kernel", 31, "kernel /src/one.cu:10");
	assert_chain(lines, "kernel", 32, "apart /src/one.cu:30");
	assert_chain(lines, "$kernel$apart", 0, "apart /src/one.cu:30");
	assert_chain(lines, "$kernel$apart", 32, "");
	/* The row before them is another function's. */
	assert_chain(lines, "kernel", 64, "divide -:0");
	assert_chain(lines, "kernel", 95, "$strange -:0");
	assert_chain(lines, "$__internal_12_$divide", 0, "");
	cubin_lines_destroy(lines);
}

static void name_of_two_functions_is_not_known(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_B, 0, 64);
	fixture_begin(&fixture);
	fixture_kernel(&fixture, 0, 0, 10);
	fixture_kernel(&fixture, 1, 0, 20);
	fixture_end(&fixture);
	assert_int_equal(create(&lines), 0);
	assert_chain(lines, "a", 0, "");
	cubin_lines_destroy(lines);
}

/* ---- versions, damage and bounds */

static void versions_two_to_four_are_read(void **state)
{
	(void)state;
	for (uint16_t version = 1; version <= 6; version++) {
		struct cubin_lines *lines;

		begin(NULL);
		fixture.version = version;
		fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
		fixture_begin(&fixture);
		fixture_kernel(&fixture, 0, 0, 10);
		fixture_end(&fixture);
		if (version < 2 || version > 4) {
			assert_int_equal(create(&lines), -ENODATA);
			assert_null(lines);
			continue;
		}
		assert_int_equal(create(&lines), 0);
		assert_chain(lines, "a", 16, "a /src/one.cu:11");
		cubin_lines_destroy(lines);
	}
}

static void image_without_a_table_has_no_data(void **state)
{
	struct cubin_lines *lines;
	size_t size;

	(void)state;
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	uint8_t *image = fixture_image(&fixture, &size);
	assert_false(cubin_has_lines(image, size));
	assert_int_equal(cubin_lines_create(image, size, &lines), -ENODATA);
	assert_null(lines);
	free(image);
}

static void image_of_another_elf_version_is_read(void **state)
{
	struct cubin_lines *lines;
	size_t size;
	uint8_t *image = fixture_small_image(&fixture, &size);

	(void)state;
	image[offsetof(Elf64_Ehdr, e_version)] = 129;
	image[EI_OSABI] = 0x33;
	image[EI_ABIVERSION] = 7;
	assert_true(cubin_has_lines(image, size));
	assert_int_equal(cubin_lines_create(image, size, &lines), 0);
	assert_chain(lines, "a", 0, "a /src/one.cu:10");
	cubin_lines_destroy(lines);
	free(image);
}

/* As in a file of more than 65,279 sections. */
static void numbers_of_sections_may_stand_in_the_first_one(void **state)
{
	struct cubin_lines *lines;
	size_t size;
	uint8_t *image = fixture_small_image(&fixture, &size);
	Elf64_Ehdr header;
	Elf64_Shdr first;

	(void)state;
	memcpy(&header, image, sizeof(header));
	memcpy(&first, image + header.e_shoff, sizeof(first));
	first.sh_size = header.e_shnum;
	first.sh_link = header.e_shstrndx;
	header.e_shnum = 0;
	header.e_shstrndx = SHN_XINDEX;
	memcpy(image, &header, sizeof(header));
	memcpy(image + header.e_shoff, &first, sizeof(first));
	assert_true(cubin_has_lines(image, size));
	assert_int_equal(cubin_lines_create(image, size, &lines), 0);
	assert_chain(lines, "a", 0, "a /src/one.cu:10");
	cubin_lines_destroy(lines);
	first.sh_size++;
	memcpy(image + header.e_shoff, &first, sizeof(first));
	assert_false(cubin_has_lines(image, size));
	free(image);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_function_has_its_own_rows),
		TEST(places_outside_of_a_function_are_not_known),
		TEST(addends_may_lie_in_the_table),
		TEST(relocations_of_all_addresses_are_applied),
		TEST(paths_have_the_directories_that_the_table_has),
		TEST(long_path_is_cut),
		TEST(special_and_standard_opcodes_move_as_dwarf_says),
		TEST(line_zero_is_no_line),
		TEST(callers_are_rows_of_the_same_sequence),
		TEST(names_count_from_the_strings_of_the_unit),
		TEST(names_of_a_unit_without_its_place_are_found_by_the_strings),
		TEST(names_that_do_not_fit_the_strings_are_not_known),
		TEST(names_of_units_count_from_the_places_that_they_tell),
		TEST(names_behind_the_strings_are_not_known),
		TEST(empty_name_is_not_known),
		TEST(caller_is_an_earlier_row),
		TEST(chain_ends_at_the_bound),
		TEST(function_within_a_kernel_is_found_by_both_names),
		TEST(name_of_two_functions_is_not_known),
		TEST(versions_two_to_four_are_read),
		TEST(image_without_a_table_has_no_data),
		TEST(image_of_another_elf_version_is_read),
		TEST(numbers_of_sections_may_stand_in_the_first_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
