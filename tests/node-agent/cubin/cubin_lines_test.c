/* Line tables that are written here opcode by opcode: all that the compilers at hand do not write. */
#include "node-agent/cubin/cubin_lines.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
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
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "a /src/one.cu:10");
	fixture_assert_chain(lines, "a", 15, "a /src/one.cu:10");
	fixture_assert_chain(lines, "a", 16, "a /src/one.cu:11");
	fixture_assert_chain(lines, "a", 63, "a /src/one.cu:11");
	fixture_assert_chain(lines, "b", 0, "b /src/one.cu:20");
	fixture_assert_chain(lines, "b", 63, "b /src/one.cu:21");
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
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 7, "");
	fixture_assert_chain(lines, "a", 8, "a /src/one.cu:10");
	fixture_assert_chain(lines, "a", 72, "");
	fixture_assert_chain(lines, "a", 128, "");
	fixture_assert_chain(lines, "a", UINT64_MAX, "");
	fixture_assert_chain(lines, "unlined", 0, "");
	fixture_assert_chain(lines, "other", 0, "");
	fixture_assert_chain(lines, "", 0, "");
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
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 7, "");
	fixture_assert_chain(lines, "a", 8, "a /src/one.cu:10");
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
		assert_int_equal(fixture_lines(&fixture, &lines), 0);
		fixture_assert_chain(lines, "a", 0,
				     type >= 1 && type <= 4 ? "a /src/one.cu:10" : "");
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
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "a -:2");
	fixture_assert_chain(lines, "a", 16, "a /src/one.cu:3");
	fixture_assert_chain(lines, "a", 32, "a two.h:4");
	fixture_assert_chain(lines, "a", 48, "a /abs/three.h:5");
	fixture_assert_chain(lines, "a", 64, "");
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
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
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
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 1, "");
	fixture_assert_chain(lines, "a", 2, "a /src/one.cu:9");
	fixture_assert_chain(lines, "a", 23, "a /src/one.cu:9");
	fixture_assert_chain(lines, "a", 24, "a /src/one.cu:7");
	fixture_assert_chain(lines, "a", 31, "a /src/one.cu:7");
	fixture_assert_chain(lines, "a", 32, "");
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
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "a /src/one.cu:5");
	fixture_assert_chain(lines, "a", 16, "");
	fixture_assert_chain(lines, "a", 32, "a /src/one.cu:7");
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
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "kernel", 31, "kernel /src/one.cu:10");
	fixture_assert_chain(lines, "kernel", 32, "apart /src/one.cu:30");
	fixture_assert_chain(lines, "$kernel$apart", 0, "apart /src/one.cu:30");
	fixture_assert_chain(lines, "$kernel$apart", 32, "");
	/* The row before them is another function's. */
	fixture_assert_chain(lines, "kernel", 64, "divide -:0");
	fixture_assert_chain(lines, "kernel", 95, "$strange -:0");
	fixture_assert_chain(lines, "$__internal_12_$divide", 0, "");
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
	assert_int_equal(fixture_lines(&fixture, &lines), 0);
	fixture_assert_chain(lines, "a", 0, "");
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
			assert_int_equal(fixture_lines(&fixture, &lines), -ENODATA);
			assert_null(lines);
			continue;
		}
		assert_int_equal(fixture_lines(&fixture, &lines), 0);
		fixture_assert_chain(lines, "a", 16, "a /src/one.cu:11");
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
	fixture_assert_chain(lines, "a", 0, "a /src/one.cu:10");
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
	fixture_assert_chain(lines, "a", 0, "a /src/one.cu:10");
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
		TEST(function_within_a_kernel_is_found_by_both_names),
		TEST(name_of_two_functions_is_not_known),
		TEST(versions_two_to_four_are_read),
		TEST(image_without_a_table_has_no_data),
		TEST(image_of_another_elf_version_is_read),
		TEST(numbers_of_sections_may_stand_in_the_first_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
