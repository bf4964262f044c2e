#include "column.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Every loop here is compiled once per width. The width is a constant in each copy, so loads and stores are single
 * instructions. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define LIKELY(x)     __builtin_expect(!!(x), 1)

ALWAYS_INLINE uint64_t load(const uint8_t *at, uint32_t width)
{
	uint64_t value64;
	uint32_t value32;
	uint16_t value16;

	switch (width) {
	case 8:
		memcpy(&value64, at, sizeof(value64));
		return value64;
	case 4:
		memcpy(&value32, at, sizeof(value32));
		return value32;
	case 2:
		memcpy(&value16, at, sizeof(value16));
		return value16;
	default:
		return *at;
	}
}

ALWAYS_INLINE void store(uint8_t *at, uint32_t width, uint64_t value)
{
	uint32_t value32 = (uint32_t)value;
	uint16_t value16 = (uint16_t)value;

	switch (width) {
	case 8:
		memcpy(at, &value, sizeof(value));
		break;
	case 4:
		memcpy(at, &value32, sizeof(value32));
		break;
	case 2:
		memcpy(at, &value16, sizeof(value16));
		break;
	default:
		*at = (uint8_t)value;
	}
}

ALWAYS_INLINE uint64_t zigzag(uint64_t difference)
{
	return (difference << 1) ^ (0 - (difference >> 63));
}

ALWAYS_INLINE uint64_t unzigzag(uint64_t value)
{
	return (value >> 1) ^ (0 - (value & 1));
}

static uint8_t *put_long_varint(uint8_t *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*out++ = (uint8_t)(value | 0x80);
	*out++ = (uint8_t)value;
	return out;
}

/* Writes 4 bytes, of which the varint keeps as many as it needs. Lengths vary from value to value, so branching on them
 * costs more than spreading the bits. out has room for COLUMN_VALUE_BYTES_MAX bytes. */
ALWAYS_INLINE uint8_t *put_varint(uint8_t *out, uint64_t value)
{
	uint32_t length, word;

	if (LIKELY(value < (1u << 28))) {
		uint32_t bits = 31u - (uint32_t)__builtin_clz((uint32_t)value | 1);

		length = (bits * 9 + 73) >> 6; /* bits / 7 + 1 */
		word = (uint32_t)value;
		word = (word & 0x3fff) | ((word & 0xfffc000) << 2);
		word = (word & 0x007f007f) | ((word & 0x3f803f80) << 1);
		word |= 0x80808080u & ((1u << (8 * (length - 1))) - 1);
		word = htole32(word);
		memcpy(out, &word, sizeof(word));
		return out + length;
	}
	return put_long_varint(out, value);
}

/* NULL: it ends after `end`, or has more than 64 bits. */
static const uint8_t *get_long_varint(const uint8_t *in, const uint8_t *end, uint64_t *value)
{
	uint64_t sum = 0;

	for (uint32_t shift = 0; in < end && shift < 64; shift += 7) {
		uint64_t byte = *in++;

		if (shift == 63 && byte > 1)
			return NULL;
		sum |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			*value = sum;
			return in;
		}
	}
	return NULL;
}

/* Does the same as get_long_varint(), without a branch on the length up to four bytes. Only `in` is carried from one
 * varint to the next, so one varint's bits are gathered while the next is found. */
ALWAYS_INLINE const uint8_t *get_varint(const uint8_t *in, const uint8_t *end, uint64_t *value)
{
	uint32_t word, last;

	if (LIKELY(end - in >= 4)) {
		memcpy(&word, in, sizeof(word));
		word = le32toh(word);
		last = ~word & 0x80808080u;
		if (LIKELY(last)) {
			in += ((uint32_t)__builtin_ctz(last) + 1) >> 3;
			word &= (last ^ (last - 1)) & 0x7f7f7f7fu;
			word = (word & 0x007f007f) | ((word & 0x7f007f00) >> 1);
			*value = (word & 0x3fff) | ((word & 0x3fff0000) >> 2);
			return in;
		}
	}
	return get_long_varint(in, end, value);
}

ALWAYS_INLINE struct column_shape survey(const struct column_source *source, uint32_t width)
{
	const uint8_t *at = source->values;
	struct column_shape shape = {.form = COLUMN_DELTAS};
	uint32_t changes = 0, changes_max = source->count / COLUMN_RUN_VALUES;
	bool steady = true;

	if (source->count == 0)
		return (struct column_shape){.form = COLUMN_CONSTANT};
	shape.first = load(at, width);
	if (source->count > 1)
		shape.step = load(at + source->stride_bytes, width) - shape.first;
	for (uint64_t i = 1, before = shape.first; i < source->count; i++) {
		uint64_t value = load(at + i * source->stride_bytes, width);

		changes += value != before;
		steady &= value - before == shape.step;
		if (!steady && changes > changes_max)
			return shape;
		before = value;
	}
	if (changes == 0)
		shape.form = COLUMN_CONSTANT;
	else
		shape.form = steady ? COLUMN_STEPS : COLUMN_RUNS;
	return shape;
}

struct column_shape column_survey(const struct column_source *source)
{
	switch (source->width_bytes) {
	case 8:
		return survey(source, 8);
	case 4:
		return survey(source, 4);
	case 2:
		return survey(source, 2);
	default:
		assert(source->width_bytes == 1);
		return survey(source, 1);
	}
}

ALWAYS_INLINE size_t encode_deltas(const struct column_source *source, uint32_t width, uint8_t *out)
{
	const uint8_t *at = source->values;
	size_t stride = source->stride_bytes;
	uint8_t *start = out;
	uint64_t before = 0;

	for (uint32_t i = 0; i < source->count; i++, at += stride) {
		uint64_t value = load(at, width);

		out = put_varint(out, zigzag(value - before));
		before = value;
	}
	return (size_t)(out - start);
}

size_t column_encode_deltas(const struct column_source *source, uint8_t *out)
{
	switch (source->width_bytes) {
	case 8:
		return encode_deltas(source, 8, out);
	case 4:
		return encode_deltas(source, 4, out);
	case 2:
		return encode_deltas(source, 2, out);
	default:
		assert(source->width_bytes == 1);
		return encode_deltas(source, 1, out);
	}
}

ALWAYS_INLINE size_t encode_runs(const struct column_source *source, uint32_t width, uint8_t *out)
{
	const uint8_t *at = source->values;
	uint8_t *start = out;
	uint64_t before = 0;
	uint32_t i = 0;

	while (i < source->count) {
		uint64_t value = load(at + i * source->stride_bytes, width);
		uint32_t next = i + 1;

		while (next < source->count &&
		       load(at + next * source->stride_bytes, width) == value)
			next++;
		out = put_long_varint(out, zigzag(value - before));
		out = put_long_varint(out, next - i - 1);
		before = value;
		i = next;
	}
	return (size_t)(out - start);
}

size_t column_encode_runs(const struct column_source *source, uint8_t *out)
{
	switch (source->width_bytes) {
	case 8:
		return encode_runs(source, 8, out);
	case 4:
		return encode_runs(source, 4, out);
	case 2:
		return encode_runs(source, 2, out);
	default:
		assert(source->width_bytes == 1);
		return encode_runs(source, 1, out);
	}
}

ALWAYS_INLINE int decode_deltas(const uint8_t *in, size_t size, const struct column_target *target,
				uint32_t width)
{
	const uint8_t *end = in + size;
	uint8_t *at = target->values;
	uint64_t value = 0, max = target->max;
	size_t stride = target->stride_bytes;
	bool over = false;

	for (uint32_t i = 0; i < target->count; i++, at += stride) {
		uint64_t difference;

		in = get_varint(in, end, &difference);
		if (!in)
			return -EBADMSG;
		value += unzigzag(difference);
		over |= value > max;
		store(at, width, value);
	}
	if (in != end)
		return -EBADMSG;
	return over ? -ERANGE : 0;
}

static void check_target(const struct column_target *target)
{
	uint32_t width = target->width_bytes;

	assert(width == 1 || width == 2 || width == 4 || width == 8);
	assert(width == 8 || target->max >> (8 * width) == 0);
	(void)width;
}

int column_decode_deltas(const uint8_t *in, size_t size, const struct column_target *target)
{
	check_target(target);
	switch (target->width_bytes) {
	case 8:
		return decode_deltas(in, size, target, 8);
	case 4:
		return decode_deltas(in, size, target, 4);
	case 2:
		return decode_deltas(in, size, target, 2);
	default:
		return decode_deltas(in, size, target, 1);
	}
}

ALWAYS_INLINE void fill(uint64_t first, uint64_t step, const struct column_target *target,
			uint32_t width)
{
	uint8_t *at = target->values;
	uint64_t value = first;

	for (uint32_t i = 0; i < target->count; i++, at += target->stride_bytes, value += step)
		store(at, width, value);
}

static void fill_any_width(uint64_t first, uint64_t step, const struct column_target *target)
{
	switch (target->width_bytes) {
	case 8:
		fill(first, step, target, 8);
		break;
	case 4:
		fill(first, step, target, 4);
		break;
	case 2:
		fill(first, step, target, 2);
		break;
	default:
		fill(first, step, target, 1);
	}
}

int column_decode_runs(const uint8_t *in, size_t size, const struct column_target *target)
{
	const uint8_t *end = in + size;
	struct column_target run = *target;
	uint64_t value = 0, difference, extra;
	uint32_t left = target->count;
	bool over = false;

	check_target(target);
	while (left > 0) {
		in = get_long_varint(in, end, &difference);
		if (in)
			in = get_long_varint(in, end, &extra);
		if (!in || extra >= left)
			return -EBADMSG;
		value += unzigzag(difference);
		over |= value > target->max;
		run.count = (uint32_t)extra + 1;
		fill_any_width(value, 0, &run);
		run.values = (uint8_t *)run.values + run.count * run.stride_bytes;
		left -= run.count;
	}
	if (in != end)
		return -EBADMSG;
	return over ? -ERANGE : 0;
}

/* Returns whether first + i * step, modulo 2^64, is above max for any i below count. */
static bool steps_leave(uint64_t first, uint64_t step, uint32_t count, uint64_t max)
{
	uint64_t value = first;

	if (max == UINT64_MAX || count == 0)
		return false;
	if (step == 0)
		return first > max;
	for (uint32_t i = 0; i < count; i++, value += step)
		if (value > max)
			return true;
	return false;
}

int column_fill(uint64_t first, uint64_t step, const struct column_target *target)
{
	check_target(target);
	if (steps_leave(first, step, target->count, target->max))
		return -ERANGE;
	fill_any_width(first, step, target);
	return 0;
}

uint64_t column_load(const void *value, uint32_t width_bytes)
{
	return load(value, width_bytes);
}

bool column_exceeds(const struct column_source *source, uint64_t max)
{
	const uint8_t *at = source->values;

	for (uint32_t i = 0; i < source->count; i++)
		if (load(at + i * source->stride_bytes, source->width_bytes) > max)
			return true;
	return false;
}
