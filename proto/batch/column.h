/* Columns: one field of many records, packed in one of four forms. column_survey() picks the smallest one that is
 * cheap to make:
 *	constant  every value is the same
 *	steps     every value is the one before plus the same step
 *	runs      pairs of varints: zigzag(value - value of the run before), length of the run - 1
 *	deltas    one varint a value: zigzag(value - value before)
 * The value before the first one is 0. Differences and sums are modulo 2^64. A varint has 7 bits in each byte, the low
 * ones first; the top bit is set in all bytes but the last. Pure; no allocation. */
#ifndef COLUMN_H
#define COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLUMN_VALUE_BYTES_MAX 10u /* of one value among deltas */
#define COLUMN_RUN_VALUES      4u  /* runs are chosen only where they hold this many values on average */

/* count unsigned values of width_bytes (1, 2, 4 or 8, asserted), each stride_bytes after the one
 * before. */
struct column_source {
	const void *values;
	size_t stride_bytes;
	uint32_t width_bytes;
	uint32_t count;
};

struct column_target {
	void *values;
	size_t stride_bytes;
	uint32_t width_bytes;
	uint32_t count;
	uint64_t max; /* a value above it is refused; fits width_bytes (asserted) */
};

enum column_form {
	COLUMN_CONSTANT,
	COLUMN_STEPS,
	COLUMN_RUNS,
	COLUMN_DELTAS,
};

struct column_shape {
	enum column_form form;
	uint64_t first; /* 0 if there are no values */
	uint64_t step;  /* modulo 2^64; of COLUMN_CONSTANT 0 */
};

struct column_shape column_survey(const struct column_source *source);

/* One value of width_bytes. */
uint64_t column_load(const void *value, uint32_t width_bytes);

/* Returns whether any of the values is above max. */
bool column_exceeds(const struct column_source *source, uint64_t max);

/* Both write to out, which has room for count * COLUMN_VALUE_BYTES_MAX bytes, and return the number of bytes written.
 * column_encode_runs() is only for columns whose survey says COLUMN_RUNS: others may not fit. */
size_t column_encode_deltas(const struct column_source *source, uint8_t *out);
size_t column_encode_runs(const struct column_source *source, uint8_t *out);

/* Decode exactly target->count values from exactly size bytes.
 * 0; -EBADMSG: too short, too long, or a varint of more than 64 bits; -ERANGE: a value above
 * target->max. On error the values are undefined. */
int column_decode_deltas(const uint8_t *in, size_t size, const struct column_target *target);
int column_decode_runs(const uint8_t *in, size_t size, const struct column_target *target);

/* Constant and steps: first, first + step, ... 0; -ERANGE as above. */
int column_fill(uint64_t first, uint64_t step, const struct column_target *target);

#endif
