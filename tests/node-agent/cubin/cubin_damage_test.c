/* Files that are no cubins, and cubins that are damaged or too large. */
#include "node-agent/cubin/cubin_lines.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubin_fixture.h"
#include "cubin_lines_fixture.h"
#include "node-agent/cubin/cubin_rows.h"
#include "tests/support/cmocka_test.h"

static struct cubin_fixture fixture;

static int begin(void **state)
{
	(void)state;
	memset(&fixture, 0, sizeof(fixture));
	return 0;
}

static void other_files_are_no_cubins(void **state)
{
	static const size_t places[] = {0,
					EI_CLASS,
					EI_DATA,
					offsetof(Elf64_Ehdr, e_machine),
					offsetof(Elf64_Ehdr, e_shoff) + 7,
					offsetof(Elf64_Ehdr, e_shentsize),
					offsetof(Elf64_Ehdr, e_shnum) + 1,
					offsetof(Elf64_Ehdr, e_shstrndx)};
	struct cubin_lines *lines;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint8_t *image = fixture_small_image(&fixture, &size);

		image[places[i]] ^= 0x5a;
		assert_false(cubin_has_lines(image, size));
		assert_int_equal(cubin_lines_create(image, size, &lines), -EBADMSG);
		assert_null(lines);
		free(image);
	}
	assert_false(cubin_has_lines(NULL, 0));
	assert_int_equal(cubin_lines_create("", 0, &lines), -EBADMSG);
}

/* A shorter image lacks its section headers, which are last; a longer table lies beyond its end. */
static void every_truncated_image_is_refused(void **state)
{
	struct cubin_lines *lines;
	size_t size;
	uint8_t *image = fixture_small_image(&fixture, &size);

	(void)state;
	for (size_t shorter = 0; shorter < size; shorter++) {
		uint8_t *copy = malloc(shorter + 1);

		memcpy(copy, image, shorter);
		assert_false(cubin_has_lines(copy, shorter));
		assert_int_equal(cubin_lines_create(copy, shorter, &lines), -EBADMSG);
		free(copy);
	}
	free(image);
}

static void every_truncated_table_is_refused(void **state)
{
	struct cubin_lines *lines;

	(void)state;
	begin(NULL);
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&fixture);
	fixture_kernel(&fixture, 0, 0, 10);
	fixture_end(&fixture);
	for (size_t size = fixture.table_size - 1; size > 0; size--) {
		fixture.table_size = size;
		assert_int_equal(fixture_lines(&fixture, &lines), -EBADMSG);
		assert_null(lines);
	}
}

static void damaged_opcodes_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} programs[] = {
		{"\0\0", 2},         /* no extended opcode */
		{"\0\4\2\1\2\3", 6}, /* an address of 3 bytes */
		{"\0\2\x90\1", 4},   /* one number of two */
		{"\0\2\x91\x80", 4}, /* a number without an end */
		{"\0\3\3xx", 5},     /* a file's name without an end */
		{"\0\x09\1", 3},     /* an opcode beyond the table */
		{"\2\x80", 2},       {"\x09\1", 2},
	};
	struct cubin_lines *lines;

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		begin(NULL);
		fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
		fixture_begin(&fixture);
		fixture_bytes(&fixture, programs[i].bytes, programs[i].size);
		fixture_end(&fixture);
		assert_int_equal(fixture_lines(&fixture, &lines), -EBADMSG);
	}
}

/* An image whose table has `count` rows of one byte each. */
static uint8_t *image_of_rows(size_t count, size_t *size)
{
	uint8_t *image;
	Elf64_Ehdr header;
	Elf64_Shdr section;

	begin(NULL);
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&fixture);
	fixture_address(&fixture, 0, 0);
	fixture_end(&fixture);
	image = fixture_image(&fixture, size);
	image = realloc(image, *size + fixture.table_size + count);
	assert_non_null(image);
	memcpy(image + *size, fixture.table, fixture.table_size);
	memset(image + *size + fixture.table_size, 10 + 14 + 5, count);
	uint32_t unit = (uint32_t)(fixture.table_size + count - 4);
	memcpy(image + *size, &unit, sizeof(unit));
	memcpy(&header, image, sizeof(header));
	memcpy(&section, image + header.e_shoff + 4 * sizeof(section), sizeof(section));
	section.sh_offset = *size;
	section.sh_size = fixture.table_size + count;
	memcpy(image + header.e_shoff + 4 * sizeof(section), &section, sizeof(section));
	*size += fixture.table_size + count;
	return image;
}

static void table_beyond_the_bound_is_refused(void **state)
{
	struct cubin_lines *lines;
	size_t size;
	uint8_t *image = image_of_rows(CUBIN_ROWS_MAX, &size);

	(void)state;
	assert_int_equal(cubin_lines_create(image, size, &lines), 0);
	assert_true(cubin_lines_size(lines) >= CUBIN_ROWS_MAX * 32ull);
	cubin_lines_destroy(lines);
	free(image);
	image = image_of_rows(CUBIN_ROWS_MAX + 1ull, &size);
	assert_int_equal(cubin_lines_create(image, size, &lines), -EBADMSG);
	assert_null(lines);
	free(image);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(other_files_are_no_cubins),         TEST(every_truncated_image_is_refused),
		TEST(every_truncated_table_is_refused),  TEST(damaged_opcodes_are_refused),
		TEST(table_beyond_the_bound_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
