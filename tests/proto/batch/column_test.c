#include "proto/batch/column.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT 4000u

static uint64_t random_state = 42;

static uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t max_of(uint32_t width_bytes)
{
	return UINT64_MAX >> (64 - 8 * width_bytes);
}

/* Values of all magnitudes that fit, in records of 24 bytes of which the field is at offset 8. */
static void fill_random(uint8_t *records, uint32_t width_bytes)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		uint64_t value = random_u64() >> random_u64() % 64;

		memcpy(records + i * 24 + 8, &value, width_bytes);
	}
}

/* A copy that ends where the bytes end, so that a sanitizer sees a read past them. */
static uint8_t *copy_of(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

static void deltas_of_every_width_and_magnitude_come_back(void **state)
{
	static uint8_t records[COUNT * 24], decoded[COUNT * 24];
	static uint8_t out[COUNT * COLUMN_VALUE_BYTES_MAX];

	(void)state;
	for (uint32_t width = 1; width <= 8; width *= 2) {
		struct column_source source = {records + 8, 24, width, COUNT};
		struct column_target target = {decoded + 8, 24, width, COUNT, max_of(width)};
		uint8_t *copy;
		size_t size;

		memset(records, 0, sizeof(records));
		memset(decoded, 0, sizeof(decoded));
		fill_random(records, width);
		size = column_encode_deltas(&source, out);
		assert_in_range(size, COUNT, sizeof(out));
		copy = copy_of(out, size);
		assert_int_equal(column_decode_deltas(copy, size, &target), 0);
		assert_memory_equal(records, decoded, sizeof(records));
		free(copy);
	}
}

static void differences_at_every_varint_boundary_come_back(void **state)
{
	uint64_t values[3 * 64 + 2] = {0}, decoded[3 * 64 + 2];
	uint8_t out[sizeof(values) / 8 * COLUMN_VALUE_BYTES_MAX];
	uint32_t count = 0;
	size_t size;

	(void)state;
	for (uint32_t bit = 0; bit < 64; bit++) {
		values[count++] = (1ull << bit) - 1;
		values[count++] = 1ull << bit;
		values[count++] = 0;
	}
	values[count++] = UINT64_MAX;
	values[count++] = 1;
	size = column_encode_deltas(&(struct column_source){values, 8, 8, count}, out);
	assert_int_equal(
		column_decode_deltas(out, size,
				     &(struct column_target){decoded, 8, 8, count, UINT64_MAX}),
		0);
	assert_memory_equal(values, decoded, sizeof(values));
}

static void small_differences_take_one_byte(void **state)
{
	uint32_t values[] = {5, 60, 1, 64, 0};
	uint8_t out[sizeof(values) / 4 * COLUMN_VALUE_BYTES_MAX];

	(void)state;
	assert_int_equal(column_encode_deltas(&(struct column_source){values, 4, 4, 5}, out), 5);
	assert_memory_equal(out, "\x0a\x6e\x75\x7e\x7f", 5);
}

static void survey_names_each_form(void **state)
{
	uint16_t constant[] = {7, 7, 7}, steps[] = {65535, 65533, 65531}, deltas[] = {1, 5, 2};
	uint32_t runs[40];
	struct column_shape shape;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		runs[i] = i / 8;
	shape = column_survey(&(struct column_source){constant, 2, 2, 3});
	assert_int_equal(shape.form, COLUMN_CONSTANT);
	assert_int_equal(shape.first, 7);
	shape = column_survey(&(struct column_source){steps, 2, 2, 3});
	assert_int_equal(shape.form, COLUMN_STEPS);
	assert_int_equal(shape.first, 65535);
	assert_int_equal(shape.step, UINT64_MAX - 1);
	assert_int_equal(column_survey(&(struct column_source){deltas, 2, 2, 3}).form,
			 COLUMN_DELTAS);
	assert_int_equal(column_survey(&(struct column_source){runs, 4, 4, 40}).form, COLUMN_RUNS);
	shape = column_survey(&(struct column_source){NULL, 2, 2, 0});
	assert_int_equal(shape.form, COLUMN_CONSTANT);
	assert_int_equal(shape.first, 0);
}

static void runs_come_back_and_fit(void **state)
{
	static uint64_t values[COUNT], decoded[COUNT];
	static uint8_t out[COUNT * COLUMN_VALUE_BYTES_MAX];

	(void)state;
	for (uint32_t width = 1; width <= 8; width *= 2) {
		struct column_source source = {values, 8, width, COUNT};
		struct column_target target = {decoded, 8, width, COUNT, max_of(width)};
		size_t size;

		memset(decoded, 0, sizeof(decoded));
		for (uint32_t i = 0, left = 0; i < COUNT; i++, left--) {
			if (left == 0)
				left = 4 + (uint32_t)(random_u64() % 100);
			values[i] = left % 50 == 3 || i == 0 ? random_u64() & max_of(width)
							     : values[i - 1];
		}
		assert_int_equal(column_survey(&source).form, COLUMN_RUNS);
		size = column_encode_runs(&source, out);
		assert_in_range(size, 2, COUNT);
		assert_int_equal(column_decode_runs(out, size, &target), 0);
		assert_memory_equal(values, decoded, sizeof(values));
	}
}

static void columns_that_end_early_or_late_are_malformed(void **state)
{
	uint64_t values[] = {1, 1ull << 40, 3, 100, 100, 100, 100, 100, 100, 100, 100, 100},
		 decoded[12];
	struct column_source source = {values, 8, 8, 12};
	struct column_target target = {decoded, 8, 8, 12, UINT64_MAX};
	uint8_t out[12 * COLUMN_VALUE_BYTES_MAX + 1], *copy;
	size_t deltas = column_encode_deltas(&source, out), runs;

	(void)state;
	for (size_t size = 0; size < deltas; size++) {
		copy = copy_of(out, size);
		assert_int_equal(column_decode_deltas(copy, size, &target), -EBADMSG);
		free(copy);
	}
	out[deltas] = 0;
	assert_int_equal(column_decode_deltas(out, deltas + 1, &target), -EBADMSG);
	runs = column_encode_runs(&source, out);
	for (size_t size = 0; size < runs; size++) {
		copy = copy_of(out, size);
		assert_int_equal(column_decode_runs(copy, size, &target), -EBADMSG);
		free(copy);
	}
	out[runs] = 0;
	assert_int_equal(column_decode_runs(out, runs + 1, &target), -EBADMSG);
}

static void varints_of_more_than_64_bits_are_malformed(void **state)
{
	uint8_t widest[] = "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		eleven[] = "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00";
	uint64_t value = 0;
	struct column_target target = {&value, 8, 8, 1, UINT64_MAX};

	(void)state;
	assert_int_equal(column_decode_deltas(widest, 10, &target), 0);
	assert_int_equal(value, INT64_MAX);
	widest[9] = 2;
	assert_int_equal(column_decode_deltas(widest, 10, &target), -EBADMSG);
	assert_int_equal(column_decode_deltas(eleven, 11, &target), -EBADMSG);
}

static void runs_longer_than_the_column_are_malformed(void **state)
{
	uint32_t decoded[4];
	struct column_target target = {decoded, 4, 4, 4, UINT32_MAX};

	(void)state;
	assert_int_equal(column_decode_runs((const uint8_t *)"\x02\x03", 2, &target), 0);
	assert_int_equal(column_decode_runs((const uint8_t *)"\x02\x04", 2, &target), -EBADMSG);
	assert_int_equal(column_decode_runs((const uint8_t *)"\x02\x01\x02\x02", 4, &target),
			 -EBADMSG);
	assert_int_equal(
		column_decode_runs((const uint8_t *)"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
				   11, &target),
		-EBADMSG);
}

static void values_above_the_maximum_are_refused(void **state)
{
	uint64_t values[] = {9, 10, 9, 11, 9};
	uint16_t decoded[5];
	struct column_source source = {values, 8, 8, 5};
	struct column_target target = {decoded, 2, 2, 5, 11};
	uint8_t out[5 * COLUMN_VALUE_BYTES_MAX];
	size_t size = column_encode_deltas(&source, out);

	(void)state;
	assert_int_equal(column_decode_deltas(out, size, &target), 0);
	target.max = 10;
	assert_int_equal(column_decode_deltas(out, size, &target), -ERANGE);
	size = column_encode_runs(&source, out);
	assert_int_equal(column_decode_runs(out, size, &target), -ERANGE);
	target.max = UINT16_MAX;
	values[2] = UINT16_MAX + 1u;
	size = column_encode_deltas(&source, out);
	assert_int_equal(column_decode_deltas(out, size, &target), -ERANGE);
}

static void fill_writes_steps_and_refuses_those_that_leave_the_range(void **state)
{
	uint8_t bytes[4];
	uint64_t wide[3];
	struct column_target target = {bytes, 1, 1, 4, UINT8_MAX};

	(void)state;
	assert_int_equal(column_fill(250, 1, &target), 0);
	assert_memory_equal(bytes, "\xfa\xfb\xfc\xfd", 4);
	assert_int_equal(column_fill(250, 2, &target), -ERANGE);
	assert_int_equal(column_fill(2, UINT64_MAX, &target), -ERANGE);
	assert_int_equal(column_fill(256, 0, &target), -ERANGE);
	target.count = 0;
	assert_int_equal(column_fill(256, 0, &target), 0);
	assert_int_equal(
		column_fill(UINT64_MAX, 1, &(struct column_target){wide, 8, 8, 3, UINT64_MAX}), 0);
	assert_int_equal(wide[0], UINT64_MAX);
	assert_int_equal(wide[2], 1);
}

static void a_column_exceeds_what_its_largest_value_is_above(void **state)
{
	static const uint32_t widths[] = {1, 2, 4, 8};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t values[] = {3, max_of(widths[i]) - 1, 0};
		struct column_source source = {values, 8, widths[i], 3};

		assert_true(column_load(&values[1], widths[i]) == max_of(widths[i]) - 1);
		assert_false(column_exceeds(&source, max_of(widths[i])));
		assert_false(column_exceeds(&source, max_of(widths[i]) - 1));
		assert_true(column_exceeds(&source, max_of(widths[i]) - 2));
		source.count = 0;
		assert_false(column_exceeds(&source, 0));
	}
}

static void empty_columns_are_empty(void **state)
{
	struct column_target target = {NULL, 8, 8, 0, UINT64_MAX};
	uint8_t out[1];

	(void)state;
	assert_int_equal(column_encode_deltas(&(struct column_source){NULL, 8, 8, 0}, out), 0);
	assert_int_equal(column_encode_runs(&(struct column_source){NULL, 8, 8, 0}, out), 0);
	assert_int_equal(column_decode_deltas(out, 0, &target), 0);
	assert_int_equal(column_decode_runs(out, 0, &target), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deltas_of_every_width_and_magnitude_come_back),
		cmocka_unit_test(differences_at_every_varint_boundary_come_back),
		cmocka_unit_test(small_differences_take_one_byte),
		cmocka_unit_test(survey_names_each_form),
		cmocka_unit_test(runs_come_back_and_fit),
		cmocka_unit_test(columns_that_end_early_or_late_are_malformed),
		cmocka_unit_test(varints_of_more_than_64_bits_are_malformed),
		cmocka_unit_test(runs_longer_than_the_column_are_malformed),
		cmocka_unit_test(values_above_the_maximum_are_refused),
		cmocka_unit_test(fill_writes_steps_and_refuses_those_that_leave_the_range),
		cmocka_unit_test(a_column_exceeds_what_its_largest_value_is_above),
		cmocka_unit_test(empty_columns_are_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
