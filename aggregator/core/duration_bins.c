#include "duration_bins.h"

#include <errno.h>
#include <stdlib.h>

#define VARINT_BITS 7u

uint64_t duration_bucket_first_ns(uint32_t bucket)
{
	return bucket < 4 ? bucket : (4ull + bucket % 4) << (bucket / 4 - 1);
}

uint64_t duration_bucket_last_ns(uint32_t bucket)
{
	return bucket + 1 < DURATION_BUCKETS ? duration_bucket_first_ns(bucket + 1) - 1
					     : UINT64_MAX;
}

void duration_bins_fini(struct duration_bins *bins)
{
	while (bins->first) {
		struct duration_chunk *next = bins->first->next;

		free(bins->first);
		bins->first = next;
	}
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t *duration_bins_at(struct duration_bins *bins, uint32_t bucket)
{
	const uint32_t number = bucket / DURATION_CHUNK;
	struct duration_chunk **at = &bins->first;

	while (*at && (*at)->number < number)
		at = &(*at)->next;
	if (!*at || (*at)->number != number) {
		struct duration_chunk *chunk = calloc(1, sizeof(*chunk));

		if (!chunk)
			return NULL;
		chunk->number = number;
		chunk->next = *at;
		*at = chunk;
	}
	return &(*at)->counts[bucket % DURATION_CHUNK];
}

int duration_bins_add(struct duration_bins *bins, uint32_t bucket, uint64_t count)
{
	uint64_t *in_bucket = duration_bins_at(bins, bucket);

	if (!in_bucket)
		return -ENOMEM;
	*in_bucket = add_saturating(*in_bucket, count);
	return 0;
}

uint32_t duration_bins_list(const struct duration_bins *bins, struct duration_bin *list)
{
	uint32_t nr = 0;

	for (const struct duration_chunk *chunk = bins->first; chunk; chunk = chunk->next)
		for (uint32_t i = 0; i < DURATION_CHUNK; i++)
			if (chunk->counts[i])
				list[nr++] = (struct duration_bin){
					.bucket = chunk->number * DURATION_CHUNK + i,
					.count = chunk->counts[i],
				};
	return nr;
}

uint64_t duration_list_count(const struct duration_bin *list, uint32_t nr)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < nr; i++)
		count = add_saturating(count, list[i].count);
	return count;
}

uint32_t duration_list_quantile(const struct duration_bin *list, uint32_t nr, uint32_t per_mille)
{
	const uint64_t count = duration_list_count(list, nr);
	const uint64_t rank = count / 1000 * per_mille + (count % 1000 * per_mille + 999) / 1000;
	uint64_t below = 0;
	uint32_t i = 0;

	while (i + 1 < nr && (below = add_saturating(below, list[i].count)) < rank)
		i++;
	return list[i].bucket;
}

/* Counts are total's at most, so that no sum of 128 bits wraps. */
bool duration_list_holds(const struct duration_bin *list, uint32_t nr, uint64_t ns)
{
	unsigned __int128 least = 0, most = 0;

	for (uint32_t i = 0; i < nr; i++) {
		least +=
			(unsigned __int128)list[i].count * duration_bucket_first_ns(list[i].bucket);
		most += (unsigned __int128)list[i].count * duration_bucket_last_ns(list[i].bucket);
	}
	return ns <= most && (ns >= least || ns >= INT64_MAX);
}

size_t duration_list_encode(const struct duration_bin *list, uint32_t nr, uint8_t *bytes)
{
	uint8_t *at = bytes;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t count = list[i].count;

		*at++ = (uint8_t)list[i].bucket;
		if (i + 1 == nr)
			break;
		for (; count >> VARINT_BITS; count >>= VARINT_BITS)
			*at++ = (uint8_t)(count | 0x80);
		*at++ = (uint8_t)count;
	}
	return (size_t)(at - bytes);
}

/* Moves *at behind a varint. 0 or -EPROTO. */
static int take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (uint32_t shift = 0; shift < 64 && *at < end; shift += VARINT_BITS) {
		const uint8_t byte = *(*at)++;
		const uint64_t bits = byte & 0x7fu;

		if (bits << shift >> shift != bits)
			return -EPROTO;
		*value |= bits << shift;
		if (byte < 0x80)
			return 0;
	}
	return -EPROTO;
}

static int decode(const uint8_t *bytes, size_t size, uint64_t total, struct duration_bin *list,
		  uint32_t *nr)
{
	const uint8_t *at = bytes, *end = bytes + size;

	while (at < end) {
		const uint8_t bucket = *at++;
		const bool is_last = at == end;
		uint64_t count = total;

		if (bucket >= DURATION_BUCKETS || (*nr && bucket <= list[*nr - 1].bucket))
			return -EPROTO;
		if (!is_last && take_varint(&at, end, &count))
			return -EPROTO;
		/* A bin that is not the last one leaves some durations, and bytes for them. */
		if (count == 0 || (!is_last && (count >= total || at == end)))
			return -EPROTO;
		list[(*nr)++] = (struct duration_bin){.bucket = bucket, .count = count};
		total -= count;
	}
	return 0;
}

int duration_list_decode(const uint8_t *bytes, size_t size, uint64_t total, uint64_t ns,
			 struct duration_bin *list, uint32_t *nr)
{
	*nr = 0;
	if (size == 0 || decode(bytes, size, total, list, nr) ||
	    !duration_list_holds(list, *nr, ns))
		*nr = 0;
	return *nr ? 0 : -EPROTO;
}
