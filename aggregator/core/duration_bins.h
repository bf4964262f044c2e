/* A histogram of durations in buckets: 4 from each power of 2 to the next, so that a bucket's end is at most a quarter
 * above its begin. Durations of 0 to 7 ns have a bucket each. Integers alone; what is counted is never rounded.
 * Histograms add up bucket by bucket, in any order. Pure; one histogram is used by one thread. */
#ifndef DURATION_BINS_H
#define DURATION_BINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DURATION_BUCKETS 252u

/* Returns the bucket that has this duration. */
static inline uint32_t duration_bucket(uint64_t ns)
{
	if (ns < 4)
		return (uint32_t)ns;
	const uint32_t exponent = 63u - (uint32_t)__builtin_clzll(ns);

	return 4 * (exponent - 1) + (uint32_t)(ns >> (exponent - 2) & 3);
}

/* The least and the greatest duration of a bucket, which is below DURATION_BUCKETS. */
uint64_t duration_bucket_first_ns(uint32_t bucket);
uint64_t duration_bucket_last_ns(uint32_t bucket);

/* Neighbouring buckets lie together: most histograms have one or two chunks. */
#define DURATION_CHUNK 16u

struct duration_chunk {
	struct duration_chunk *next;     /* of a higher number, or NULL */
	uint32_t number;                 /* of its first bucket / DURATION_CHUNK */
	uint64_t counts[DURATION_CHUNK]; /* each sticks at UINT64_MAX */
};

/* Zeroed memory has no duration. */
struct duration_bins {
	struct duration_chunk *first; /* owns */
};

void duration_bins_fini(struct duration_bins *bins);

/* Returns where durations of a bucket below DURATION_BUCKETS are counted; NULL: out of memory, bins are unchanged.
 * Borrowed until fini. */
uint64_t *duration_bins_at(struct duration_bins *bins, uint32_t bucket);

/* 0; -ENOMEM: unchanged. */
int duration_bins_add(struct duration_bins *bins, uint32_t bucket, uint64_t count);

/* The buckets of a histogram that have durations, rising. */
struct duration_bin {
	uint64_t count; /* never 0 */
	uint32_t bucket;
};

/* Fills list, which has room for DURATION_BUCKETS, and returns the number of bins. */
uint32_t duration_bins_list(const struct duration_bins *bins, struct duration_bin *list);

/* The number of durations; sticks at UINT64_MAX. */
uint64_t duration_list_count(const struct duration_bin *list, uint32_t nr);

/* Returns the bucket of the duration that per_mille of all are not longer than: of N durations, sorted, number
 * ceil(N * per_mille / 1000). nr is not 0; per_mille: 1 to 1000. */
uint32_t duration_list_quantile(const struct duration_bin *list, uint32_t nr, uint32_t per_mille);

/* Returns whether durations with this histogram can sum up to ns. A sum of INT64_MAX or more is one that stuck. */
bool duration_list_holds(const struct duration_bin *list, uint32_t nr, uint64_t ns);

/* Bytes for a row of the store: a byte of each bucket, rising, and behind it, but for the last one, its count as a
 * varint (proto/batch/column.h). The last count is what is missing to the total. */
#define DURATION_LIST_BYTES_MAX (DURATION_BUCKETS * 11u)
/* bytes has room for DURATION_LIST_BYTES_MAX. Returns the size. */
size_t duration_list_encode(const struct duration_bin *list, uint32_t nr, uint8_t *bytes);

/* Decodes a histogram of total durations, which took ns together, into list, which has room for DURATION_BUCKETS.
 * 0; -EPROTO: it is no histogram of so many, or cannot have this sum. Then *nr is 0. */
int duration_list_decode(const uint8_t *bytes, size_t size, uint64_t total, uint64_t ns,
			 struct duration_bin *list, uint32_t *nr);

#endif
