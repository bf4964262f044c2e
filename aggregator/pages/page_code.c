#include "page_code.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/store/store_schema.h"
#include "base/array.h"
#include "proto/batch/column.h"
#include "proto/batch/message.h"

/* A column whose values are of several types has the type of each. Other columns have the type of all. */
#define MIXED 0xffu

void page_code_fini(struct page_code *code)
{
	free(code->bytes);
	*code = (struct page_code){.bytes = NULL};
}

/* ---- encoding */

static int reserve(struct page_code *code, size_t more)
{
	if (more > WIRE_PAGE_BYTES_MAX - code->size)
		return -EMSGSIZE;
	return array_reserve(&code->bytes, &code->room, code->size + more, 1);
}

static int put(struct page_code *code, const void *bytes, size_t size)
{
	int error = reserve(code, size);

	if (!error && size)
		memcpy(code->bytes + code->size, bytes, size);
	if (!error)
		code->size += (uint32_t)size;
	return error;
}

/* Numbers are little-endian. */
static int put_number(struct page_code *code, uint64_t number, uint32_t width)
{
	uint8_t bytes[sizeof(number)];

	for (uint32_t i = 0; i < width; i++)
		bytes[i] = (uint8_t)(number >> 8 * i);
	return put(code, bytes, width);
}

static int put_numbers(struct page_code *code, const uint64_t *numbers, uint32_t count)
{
	const struct column_source source = {numbers, sizeof(*numbers), sizeof(*numbers), count};
	const struct column_shape shape = column_survey(&source);
	int error = put_number(code, shape.form, 1);

	if (shape.form == COLUMN_CONSTANT || shape.form == COLUMN_STEPS) {
		if (!error)
			error = put_number(code, shape.first, sizeof(shape.first));
		return error ? error : put_number(code, shape.step, sizeof(shape.step));
	}
	if (!error)
		error = reserve(code, sizeof(uint32_t) + (size_t)count * COLUMN_VALUE_BYTES_MAX);
	if (error)
		return error;
	uint8_t *at = code->bytes + code->size + sizeof(uint32_t);
	size_t size = shape.form == COLUMN_RUNS ? column_encode_runs(&source, at)
						: column_encode_deltas(&source, at);
	put_number(code, size, sizeof(uint32_t));
	code->size += (uint32_t)size;
	return 0;
}

/* One column, whose values are `stride` values apart. */
static int put_column(struct page_code *code, const struct database_value *values, uint32_t nr_rows,
		      uint32_t stride)
{
	uint64_t numbers[PROFILE_PAGE_ROWS], sizes[PROFILE_PAGE_ROWS];
	uint32_t nr_numbers = 0, nr_sizes = 0;
	bool is_mixed = false;
	int error;

	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct database_value *value = &values[i * stride];

		is_mixed |= value->type != values->type;
		if (value->type == DATABASE_NUMBER)
			numbers[nr_numbers++] = (uint64_t)value->number;
		else if (value->type != DATABASE_NULL)
			sizes[nr_sizes++] = value->size;
	}
	error = put_number(code, is_mixed ? MIXED : values->type, 1);
	for (uint32_t i = 0; i < nr_rows && is_mixed && !error; i++)
		error = put_number(code, values[i * stride].type, 1);
	if (!error && nr_numbers)
		error = put_numbers(code, numbers, nr_numbers);
	if (!error && nr_sizes)
		error = put_numbers(code, sizes, nr_sizes);
	for (uint32_t i = 0; i < nr_rows && nr_sizes && !error; i++) {
		const struct database_value *value = &values[i * stride];

		if (value->type == DATABASE_BYTES || value->type == DATABASE_TEXT)
			error = put(code, value->bytes, value->size);
	}
	return error;
}

int page_code_encode(struct page_code *code, const struct database_value *values, uint32_t nr_rows,
		     uint32_t nr_columns)
{
	assert(nr_rows && nr_rows <= PROFILE_PAGE_ROWS && nr_columns <= PAGE_CODE_COLUMNS_MAX);
	code->size = 0;
	int error = put_number(code, STORE_SCHEMA_VERSION, 2);
	if (!error)
		error = put_number(code, nr_rows, 2);
	for (uint32_t i = 0; i < nr_columns && !error; i++)
		error = put_column(code, values + i, nr_rows, nr_columns);
	return error;
}

/* ---- decoding */

struct reader {
	const uint8_t *at, *end;
};

static const uint8_t *take(struct reader *reader, size_t size)
{
	const uint8_t *at = reader->at;

	if (size > (size_t)(reader->end - at))
		return NULL;
	reader->at += size;
	return at;
}

static int take_number(struct reader *reader, uint32_t width, uint64_t *number)
{
	const uint8_t *bytes = take(reader, width);

	*number = 0;
	for (uint32_t i = 0; i < width && bytes; i++)
		*number |= (uint64_t)bytes[i] << 8 * i;
	return bytes ? 0 : -EPROTO;
}

static int take_numbers(struct reader *reader, uint64_t *numbers, uint32_t count)
{
	const struct column_target target = {numbers, sizeof(*numbers), sizeof(*numbers), count,
					     UINT64_MAX};
	uint64_t form, first, step, size;
	const uint8_t *bytes;

	if (take_number(reader, 1, &form))
		return -EPROTO;
	if (form == COLUMN_CONSTANT || form == COLUMN_STEPS) {
		if (take_number(reader, sizeof(first), &first) ||
		    take_number(reader, sizeof(step), &step))
			return -EPROTO;
		return column_fill(first, step, &target) ? -EPROTO : 0;
	}
	if (take_number(reader, sizeof(uint32_t), &size) || !(bytes = take(reader, size)))
		return -EPROTO;
	if (form == COLUMN_RUNS)
		return column_decode_runs(bytes, size, &target) ? -EPROTO : 0;
	return form != COLUMN_DELTAS || column_decode_deltas(bytes, size, &target) ? -EPROTO : 0;
}

static int take_types(struct reader *reader, struct database_value *values, uint32_t nr_rows,
		      uint32_t stride)
{
	uint64_t all, type;
	int error = take_number(reader, 1, &all);

	for (uint32_t i = 0; i < nr_rows && !error; i++) {
		type = all;
		if (all == MIXED)
			error = take_number(reader, 1, &type);
		if (!error && type > DATABASE_TEXT)
			error = -EPROTO;
		values[i * stride] = (struct database_value){.type = (enum database_type)type};
	}
	return error;
}

static int take_column(struct reader *reader, struct database_value *values, uint32_t nr_rows,
		       uint32_t stride)
{
	uint64_t numbers[PROFILE_PAGE_ROWS], sizes[PROFILE_PAGE_ROWS];
	uint32_t nr_numbers = 0, nr_sizes = 0;
	int error = take_types(reader, values, nr_rows, stride);

	for (uint32_t i = 0; i < nr_rows && !error; i++) {
		nr_numbers += values[i * stride].type == DATABASE_NUMBER;
		nr_sizes += values[i * stride].type >= DATABASE_BYTES;
	}
	if (!error && nr_numbers)
		error = take_numbers(reader, numbers, nr_numbers);
	if (!error && nr_sizes)
		error = take_numbers(reader, sizes, nr_sizes);
	nr_numbers = nr_sizes = 0;
	for (uint32_t i = 0; i < nr_rows && !error; i++) {
		struct database_value *value = &values[i * stride];

		if (value->type == DATABASE_NUMBER) {
			value->number = (int64_t)numbers[nr_numbers++];
		} else if (value->type != DATABASE_NULL) {
			uint64_t size = sizes[nr_sizes++];

			value->bytes = size <= WIRE_PAGE_BYTES_MAX ? take(reader, size) : NULL;
			value->size = (uint32_t)size;
			error = value->bytes ? 0 : -EPROTO;
		}
	}
	return error;
}

int page_code_decode(const uint8_t *bytes, size_t size, uint32_t nr_columns,
		     struct database_value *values, uint32_t *nr_rows)
{
	struct reader reader = {bytes, bytes + size};
	uint64_t version, rows = 0;
	int error = take_number(&reader, 2, &version);

	assert(nr_columns <= PAGE_CODE_COLUMNS_MAX);
	if (!error)
		error = take_number(&reader, 2, &rows);
	if (!error && (version != STORE_SCHEMA_VERSION || rows < 1 || rows > PROFILE_PAGE_ROWS))
		error = -EPROTO;
	*nr_rows = (uint32_t)rows;
	for (uint32_t i = 0; i < nr_columns && !error; i++)
		error = take_column(&reader, values + i, *nr_rows, nr_columns);
	return error || reader.at == reader.end ? error : -EPROTO;
}
