#include "fold_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VARINT_BITS 7u

struct fold_slices {
	uint32_t shift; /* the width is 1 << shift */
	uint64_t first; /* the number of slices[0]: its time >> shift */
	struct fold_slice sum;
	struct fold_slice slices[FOLD_SLICES];
};

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static void add_slice(struct fold_slice *sum, struct fold_slice slice)
{
	sum->count = add_saturating(sum->count, slice.count);
	sum->ns = add_saturating(sum->ns, slice.ns);
}

static struct fold_slice rest_of(struct fold_slice total, struct fold_slice part)
{
	return (struct fold_slice){total.count > part.count ? total.count - part.count : 0,
				   total.ns > part.ns ? total.ns - part.ns : 0};
}

void fold_times_fini(struct fold_times *times)
{
	free(times->kept);
	times->kept = NULL;
}

void fold_times_forget(struct fold_times *times, uint64_t instead)
{
	fold_times_fini(times);
	if (!fold_times_known(times) && times->last_ns == FOLD_TIMES_DAMAGED)
		return;
	times->first_ns = FOLD_TIME_NONE;
	times->last_ns = instead;
}

/* ---- slices */

static uint32_t shift_of(uint64_t first_ns, uint64_t last_ns)
{
	uint32_t shift = FOLD_SLICE_SHIFT;

	while ((last_ns >> shift) - (first_ns >> shift) >= FOLD_SLICES)
		shift++;
	return shift;
}

uint32_t fold_times_slices(uint64_t first_ns, uint64_t last_ns)
{
	const uint32_t shift = shift_of(first_ns, last_ns);

	return (uint32_t)((last_ns >> shift) - (first_ns >> shift)) + 1;
}

/* Makes kept, which may be empty, have the slices from first_ns to last_ns. Its own are among them. */
static void widen(struct fold_slices *kept, uint64_t first_ns, uint64_t last_ns)
{
	const struct fold_slices old = *kept;

	kept->shift = shift_of(first_ns, last_ns);
	kept->first = first_ns >> kept->shift;
	if (kept->shift == old.shift && kept->first == old.first)
		return;
	memset(kept->slices, 0, sizeof(kept->slices));
	for (uint32_t i = 0; i < FOLD_SLICES; i++)
		if (old.slices[i].count)
			add_slice(&kept->slices[((old.first + i) >> (kept->shift - old.shift)) -
						kept->first],
				  old.slices[i]);
}

/* Adds a slice to that of a time. */
static void put(struct fold_slices *kept, uint64_t time_ns, struct fold_slice slice)
{
	add_slice(&kept->slices[(time_ns >> kept->shift) - kept->first], slice);
	add_slice(&kept->sum, slice);
}

static struct fold_slices *keep(struct fold_times *times)
{
	if (!times->kept)
		times->kept = calloc(1, sizeof(*times->kept));
	return times->kept;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

int fold_times_add_far(struct fold_times *times, uint64_t start_ns, uint64_t ns, uint64_t count,
		       uint64_t sum_ns)
{
	const uint64_t last_ns = times->last_ns;

	if (start_ns > INT64_MAX || !fold_times_known(times)) {
		fold_times_forget(times, FOLD_TIMES_NONE);
		return 0;
	}
	if (count == 0) {
		times->first_ns = times->last_ns = start_ns;
		return 0;
	}
	struct fold_slices *kept = keep(times);
	if (!kept)
		return -ENOMEM;
	times->first_ns = min(times->first_ns, start_ns);
	times->last_ns = max(last_ns, start_ns);
	widen(kept, times->first_ns, times->last_ns);
	if (start_ns > last_ns)
		put(kept, last_ns, rest_of((struct fold_slice){count, sum_ns}, kept->sum));
	else
		put(kept, start_ns, (struct fold_slice){1, ns});
	return 0;
}

uint32_t fold_times_list(const struct fold_times *times, struct fold_slice total,
			 struct fold_slice slices[static FOLD_SLICES])
{
	struct fold_slices all = {.shift = FOLD_SLICE_SHIFT};

	if (!fold_times_known(times) || total.count == 0)
		return 0;
	if (times->kept)
		all = *times->kept;
	widen(&all, times->first_ns, times->last_ns);
	put(&all, times->last_ns, rest_of(total, all.sum));
	memcpy(slices, all.slices, sizeof(all.slices));
	return fold_times_slices(times->first_ns, times->last_ns);
}

/* Adds all slices but the one of the last time of all. */
static int keep_slices(struct fold_times *times, uint64_t first_ns, uint32_t shift,
		       const struct fold_slice *slices, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		/* A slice may begin before the first time of all. */
		const uint64_t begin_ns = ((first_ns >> shift) + i) << shift;
		const uint64_t time_ns = max(begin_ns, times->first_ns);
		const uint32_t width = shift_of(times->first_ns, times->last_ns);

		if (!slices[i].count || time_ns >> width == times->last_ns >> width)
			continue;
		struct fold_slices *kept = keep(times);
		if (!kept)
			return -ENOMEM;
		widen(kept, times->first_ns, times->last_ns);
		put(kept, time_ns, slices[i]);
	}
	return 0;
}

int fold_times_join(struct fold_times *times, struct fold_slice total,
		    const struct fold_times *other, struct fold_slice other_total)
{
	struct fold_slice own[FOLD_SLICES], others[FOLD_SLICES];

	if (!fold_times_known(other))
		fold_times_forget(times, other->last_ns);
	if (other_total.count == 0 || (total.count && !fold_times_known(times)) ||
	    !fold_times_known(other))
		return 0;
	const struct fold_times old = *times;
	const uint32_t nr = fold_times_list(times, total, own);
	const uint32_t nr_others = fold_times_list(other, other_total, others);
	fold_times_fini(times);
	times->first_ns = nr ? min(old.first_ns, other->first_ns) : other->first_ns;
	times->last_ns = nr ? max(old.last_ns, other->last_ns) : other->last_ns;
	int error = keep_slices(times, old.first_ns, shift_of(old.first_ns, old.last_ns), own, nr);
	if (!error)
		error = keep_slices(times, other->first_ns,
				    shift_of(other->first_ns, other->last_ns), others, nr_others);
	return error;
}

int fold_times_set(struct fold_times *times, uint64_t first_ns, uint64_t last_ns,
		   struct fold_slice total, const struct fold_slice *slices)
{
	struct fold_slice sum = {.count = 0};

	fold_times_fini(times);
	*times = (struct fold_times){.first_ns = first_ns, .last_ns = last_ns};
	if (first_ns > last_ns || last_ns > INT64_MAX) {
		fold_times_forget(times, FOLD_TIMES_DAMAGED);
		return 0;
	}
	const uint32_t nr = fold_times_slices(first_ns, last_ns) - 1;
	for (uint32_t i = 0; i < nr; i++)
		add_slice(&sum, slices[i]);
	/* Some began in the first slice, and some in the last one. */
	if (sum.count >= total.count || sum.ns > total.ns || (nr && !slices[0].count)) {
		fold_times_forget(times, FOLD_TIMES_DAMAGED);
		return 0;
	}
	const int error = keep_slices(times, first_ns, shift_of(first_ns, last_ns), slices, nr);
	if (error)
		fold_times_forget(times, FOLD_TIMES_NONE);
	return error;
}

/* ---- bytes */

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >> VARINT_BITS; value >>= VARINT_BITS)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* Moves *at behind a varint; end of bytes, or no varint: returns false. */
static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (uint32_t shift = 0; shift < 64 && *at < end; shift += VARINT_BITS) {
		const uint8_t byte = *(*at)++;

		*value |= (byte & 0x7full) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

size_t fold_times_encode(const struct fold_times *times, struct fold_slice total, uint8_t *bytes)
{
	struct fold_slice slices[FOLD_SLICES];
	const uint32_t nr = fold_times_list(times, total, slices);
	uint8_t *at = bytes;

	if (!nr)
		return 0;
	at = put_varint(at, times->first_ns);
	at = put_varint(at, times->last_ns - times->first_ns);
	for (uint32_t i = 0; i + 1 < nr; i++) {
		at = put_varint(at, slices[i].count);
		if (slices[i].count)
			at = put_varint(at, slices[i].ns);
	}
	return (size_t)(at - bytes);
}

int fold_times_decode(struct fold_times *times, struct fold_slice total, const uint8_t *bytes,
		      size_t size)
{
	struct fold_slice slices[FOLD_SLICES] = {{.count = 0}};
	const uint8_t *at = bytes, *end = size ? bytes + size : bytes;
	uint64_t first_ns, span_ns;

	fold_times_fini(times);
	*times = (struct fold_times){.first_ns = 0};
	bool is_whole = take_varint(&at, end, &first_ns) && take_varint(&at, end, &span_ns) &&
			first_ns <= INT64_MAX && span_ns <= INT64_MAX - first_ns;
	const uint32_t nr = is_whole ? fold_times_slices(first_ns, first_ns + span_ns) - 1 : 0;
	for (uint32_t i = 0; i < nr && is_whole; i++)
		is_whole = take_varint(&at, end, &slices[i].count) &&
			   (!slices[i].count || take_varint(&at, end, &slices[i].ns));
	if (!is_whole || at != end) {
		fold_times_forget(times, FOLD_TIMES_DAMAGED);
		return 0;
	}
	return fold_times_set(times, first_ns, first_ns + span_ns, total, slices);
}
