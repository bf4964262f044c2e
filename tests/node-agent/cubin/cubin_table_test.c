#include "node-agent/cubin/cubin_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cubin_fixture.h"
#include "failing_memory.h"
#include "node-agent/cubin/cubin_cache.h"
#include "tests/support/cmocka_test.h"

#define CRC 0x0123456789abcdefull

static struct cubin_fixture fixture;
static struct cubin_cache *cache;
static struct cubin_table *table;
static uint8_t *image; /* kernel "a" at line 10 */
static uint32_t size;

static int begin(void **state)
{
	(void)state;
	image = fixture_kernel_image(10, true, &size);
	cache = cubin_cache_create(NULL);
	table = cubin_table_create(cache, 0);
	assert_non_null(cache);
	assert_non_null(table);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cubin_table_destroy(table);
	assert_int_equal(cubin_cache_count(cache), 0);
	cubin_cache_destroy(cache);
	free(image);
	return 0;
}

static void assert_counts(uint64_t with_lines, uint64_t without_lines, uint64_t damaged,
			  uint64_t refused, uint64_t partial)
{
	struct cubin_counts counts;

	cubin_table_count(table, &counts);
	assert_int_equal(counts.with_lines, with_lines);
	assert_int_equal(counts.without_lines, without_lines);
	assert_int_equal(counts.damaged, damaged);
	assert_int_equal(counts.refused, refused);
	assert_int_equal(counts.partial, partial);
}

static void assert_line(const struct cubin_table *in, uint64_t crc, uint32_t line)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];

	assert_int_equal(cubin_code_find(cubin_table_code(in, crc, "a"), 16, frames), line ? 1 : 0);
	if (line) {
		assert_string_equal(frames[0].function, "a");
		assert_int_equal(frames[0].line, line);
	}
}

static int chunk(uint32_t offset, uint32_t nr_bytes)
{
	return cubin_table_chunk(table, CRC, size, offset, image + offset, nr_bytes);
}

static void whole_cubin_is_a_line_table(void **state)
{
	(void)state;
	assert_int_equal(cubin_table_state(table, CRC), CUBIN_UNKNOWN);
	assert_line(table, CRC, 0);
	assert_int_equal(chunk(0, size), 0);
	assert_int_equal(cubin_table_state(table, CRC), CUBIN_WITH_LINES);
	assert_line(table, CRC, 10);
	assert_line(table, CRC + 1, 0);
	assert_counts(1, 0, 0, 0, 0);
}

static void chunks_come_in_any_order_and_again(void **state)
{
	static const uint32_t steps[] = {1, 7, 64, 65, 333};

	(void)state;
	for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		uint32_t step = steps[i], last = (size - 1) / step * step;

		cubin_table_destroy(table);
		table = cubin_table_create(cache, 0);
		for (uint32_t at = last; at > 0;
		     at -= step) { /* backwards, each twice but the first */
			uint32_t nr_bytes = size - at < step ? size - at : step;

			assert_int_equal(chunk(at, nr_bytes), 0);
			assert_int_equal(chunk(at, nr_bytes), 0);
			assert_int_equal(cubin_table_state(table, CRC), CUBIN_PARTIAL);
		}
		assert_counts(0, 0, 0, 0, 1);
		assert_line(table, CRC, 0);
		assert_int_equal(chunk(0, last ? step : size), 0);
		assert_line(table, CRC, 10);
		assert_int_equal(chunk(last, 1), 0);
		assert_int_equal(chunk(0, size), 0);
		assert_counts(1, 0, 0, 0, 0);
	}
}

static void chunks_may_overlap(void **state)
{
	(void)state;
	assert_int_equal(chunk(100, 200), 0);
	assert_int_equal(chunk(50, 100), 0);
	assert_int_equal(chunk(250, size - 250), 0);
	assert_int_equal(chunk(0, 49), 0);
	assert_counts(0, 0, 0, 0, 1);
	assert_int_equal(chunk(49, 1), 0);
	assert_line(table, CRC, 10);
}

static void chunks_that_contradict_are_invalid(void **state)
{
	(void)state;
	assert_int_equal(chunk(0, 0), -EINVAL);
	assert_int_equal(cubin_table_chunk(table, CRC, size, 1, image, size), -EINVAL);
	assert_int_equal(cubin_table_chunk(table, CRC, size, UINT32_MAX, image, 1), -EINVAL);
	assert_int_equal(cubin_table_chunk(table, CRC, 0, 0, image, 1), -EINVAL);
	assert_int_equal(cubin_table_state(table, CRC), CUBIN_UNKNOWN);
	assert_int_equal(chunk(0, 10), 0);
	assert_int_equal(cubin_table_chunk(table, CRC, size + 1, 0, image, 10), -EINVAL);
	assert_int_equal(chunk(10, size - 10), 0);
	assert_line(table, CRC, 10);
	assert_counts(1, 0, 0, 0, 0);
}

static void cubins_without_lines_and_damaged_ones_are_counted(void **state)
{
	uint32_t size_without;
	uint8_t *without = fixture_kernel_image(0, false, &size_without);

	(void)state;
	assert_int_equal(cubin_table_chunk(table, 1, size_without, 0, without, size_without), 0);
	assert_int_equal(cubin_table_chunk(table, 2, size - 1, 0, image, size - 1), 0);
	assert_int_equal(cubin_table_state(table, 1), CUBIN_WITHOUT_LINES);
	assert_int_equal(cubin_table_state(table, 2), CUBIN_DAMAGED);
	assert_line(table, 1, 0);
	assert_line(table, 2, 0);
	assert_int_equal(cubin_table_chunk(table, 2, size - 1, 0, image, size - 1), 0);
	assert_counts(0, 1, 1, 0, 0);
	assert_int_equal(cubin_cache_count(cache), 0);
	free(without);
}

static void cubin_beyond_its_bound_is_refused(void **state)
{
	(void)state;
	assert_int_equal(cubin_table_chunk(table, CRC, CUBIN_SIZE_MAX + 1, 0, image, size), -EFBIG);
	assert_int_equal(cubin_table_chunk(table, CRC, CUBIN_SIZE_MAX + 1, size, image, 1), -EFBIG);
	assert_int_equal(cubin_table_state(table, CRC), CUBIN_REFUSED);
	assert_counts(0, 0, 0, 1, 0);
	assert_int_equal(cubin_table_chunk(table, CRC + 1, CUBIN_SIZE_MAX, 0, image, size), 0);
	assert_counts(0, 0, 0, 1, 1);
}

/* Unfinished cubins count with all their bytes, and an eighth for what has come of them. */
static void cubins_of_a_process_are_bounded_together(void **state)
{
	(void)state;
	for (uint64_t crc = 0; crc < 3; crc++)
		assert_int_equal(cubin_table_chunk(table, crc, CUBIN_SIZE_MAX, 0, image, 1), 0);
	assert_int_equal(cubin_table_chunk(table, 3, CUBIN_SIZE_MAX, 0, image, 1), -EFBIG);
	assert_counts(0, 0, 0, 1, 3);
	assert_int_equal(chunk(0, size), 0); /* a small one fits */
	assert_line(table, CRC, 10);
	assert_counts(1, 0, 0, 1, 3);
}

static void line_tables_count_with_what_they_take(void **state)
{
	const uint32_t nr_rows = 4000,
		       left = 64 << 10; /* a row takes 1 byte of the image, and 32 of a table */
	uint32_t size_of_rows;

	(void)state;
	memset(&fixture, 0, sizeof(fixture));
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&fixture);
	fixture_address(&fixture, 0, 0);
	for (uint32_t i = 0; i < nr_rows; i++)
		fixture_byte(&fixture, 10 + 14 + 6);
	fixture_end_sequence(&fixture, 1);
	fixture_end(&fixture);
	size_t made;
	uint8_t *rows = fixture_image(&fixture, &made);
	size_of_rows = (uint32_t)made;
	assert_true(size_of_rows < left / 2);
	for (uint64_t crc = 0; crc < 3; crc++)
		assert_int_equal(cubin_table_chunk(table, crc, CUBIN_SIZE_MAX, 0, image, 1), 0);
	uint32_t rest = (CUBIN_TABLE_SIZE_MAX - 3 * (CUBIN_SIZE_MAX / 8 * 9) - left) / 9 * 8;
	assert_int_equal(cubin_table_chunk(table, 3, rest, 0, image, 1), 0);
	assert_int_equal(cubin_table_chunk(table, CRC, size_of_rows, 0, rows, size_of_rows),
			 -EFBIG);
	assert_int_equal(cubin_table_state(table, CRC), CUBIN_REFUSED);
	assert_line(table, CRC, 0);
	assert_int_equal(cubin_cache_count(cache), 0);
	assert_counts(0, 0, 0, 1, 4);
	assert_int_equal(cubin_table_chunk(table, CRC + 1, size, 0, image, size), 0);
	assert_line(table, CRC + 1, 10);
	free(rows);
}

static void remembered_cubins_are_bounded(void **state)
{
	(void)state;
	for (uint64_t crc = 0; crc < CUBIN_TABLE_MAX; crc++)
		assert_int_equal(cubin_table_chunk(table, crc, 2, 0, image, 1), 0);
	assert_int_equal(chunk(0, 1), -EFBIG);
	assert_int_equal(chunk(1, size - 1), -EFBIG);
	assert_int_equal(cubin_table_state(table, CRC), CUBIN_UNKNOWN);
	assert_counts(0, 0, 0, 1, CUBIN_TABLE_MAX);
	assert_int_equal(cubin_table_chunk(table, 7, 2, 1, image, 1), 0);
	assert_counts(0, 0, 1, 1, CUBIN_TABLE_MAX - 1);
}

static void equal_cubins_of_processes_share_a_table(void **state)
{
	struct cubin_table *other = cubin_table_create(cache, 0);
	uint32_t size_11;
	uint8_t *image_11 = fixture_kernel_image(11, true, &size_11);

	(void)state;
	assert_int_equal(chunk(0, size), 0);
	assert_int_equal(cubin_table_chunk(other, 5, size, 0, image, size), 0);
	assert_int_equal(cubin_cache_count(cache), 1);
	assert_int_equal(cubin_table_chunk(other, CRC, size_11, 0, image_11, size_11), 0);
	assert_int_equal(cubin_cache_count(cache), 2);
	assert_line(table, CRC, 10);
	assert_line(other, 5, 10);
	assert_line(other, CRC, 11);
	cubin_table_destroy(other);
	assert_int_equal(cubin_cache_count(cache), 1);
	assert_line(table, CRC, 10);
	/* What another one left is used again. */
	assert_int_equal(cubin_table_chunk(table, 6, size_11, 0, image_11, size_11), 0);
	assert_line(table, 6, 11);
	assert_line(table, CRC, 10);
	free(image_11);
}

/* Each allocation fails once: the cubin is refused, or it was not needed. */
static void cubin_is_refused_for_lack_of_memory(void **state)
{
	uint32_t nr_failed = 0;

	(void)state;
	for (uint32_t number = 1;; number++) {
		cubin_table_destroy(table);
		table = cubin_table_create(cache, 0);
		failing_memory_set(number);
		int error = chunk(0, size);
		bool failed = failing_memory_failed();
		failing_memory_set(0);
		if (!failed) {
			assert_int_equal(error, 0);
			break;
		}
		assert_true(error == -ENOMEM ||
			    error == 0); /* arrays may stay longer than they need */
		assert_line(table, CRC, error ? 0 : 10);
		assert_counts(error ? 0 : 1, 0, 0, error ? 1 : 0, 0);
		assert_int_equal(cubin_cache_count(cache), error ? 0 : 1);
		nr_failed += error != 0;
	}
	assert_true(nr_failed >= 12);
}

static void objects_are_not_made_without_memory(void **state)
{
	(void)state;
	failing_memory_set(1);
	assert_null(cubin_cache_create(NULL));
	failing_memory_set(1);
	assert_null(cubin_table_create(cache, 0));
	cubin_table_destroy(NULL);
	cubin_cache_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whole_cubin_is_a_line_table),
		TEST(chunks_come_in_any_order_and_again),
		TEST(chunks_may_overlap),
		TEST(chunks_that_contradict_are_invalid),
		TEST(cubins_without_lines_and_damaged_ones_are_counted),
		TEST(cubin_beyond_its_bound_is_refused),
		TEST(cubins_of_a_process_are_bounded_together),
		TEST(line_tables_count_with_what_they_take),
		TEST(remembered_cubins_are_bounded),
		TEST(equal_cubins_of_processes_share_a_table),
		TEST(cubin_is_refused_for_lack_of_memory),
		TEST(objects_are_not_made_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
