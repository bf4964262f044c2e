#include "collective_folds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct collective_folds *collective_folds_create(void)
{
	struct collective_folds *folds = calloc(1, sizeof(*folds));

	if (folds)
		folds->log = collective_log_create();
	if (folds && !folds->log) {
		free(folds);
		return NULL;
	}
	return folds;
}

struct collective_folds *collective_folds_share(struct collective_folds *folds)
{
	folds->nr_further++;
	return folds;
}

void collective_folds_destroy(struct collective_folds *folds)
{
	if (!folds || folds->nr_further) {
		if (folds)
			folds->nr_further--;
		return;
	}
	for (uint32_t i = 0; i < folds->nr_folds; i++)
		collective_fold_fini(&folds->folds[i]);
	for (uint32_t i = 0; i < folds->nr_sums; i++)
		free(folds->sums[i].behind);
	collective_log_destroy(folds->log);
	hash_index_fini(&folds->index);
	collective_splits_fini(&folds->splits);
	free(folds->writers);
	free(folds->hosts);
	free(folds->folds);
	free(folds->sums);
	free(folds->verdicts);
	free(folds->waited_ns);
	free(folds);
}

int collective_folds_process(struct collective_folds *folds, uint32_t process, uint32_t writer,
			     uint32_t host)
{
	if (array_reserve_zeroed(&folds->writers, &folds->nr_processes, process + 1ull,
				 sizeof(*folds->writers)) ||
	    array_reserve_zeroed(&folds->hosts, &folds->nr_hosts, process + 1ull,
				 sizeof(*folds->hosts)))
		return -ENOMEM;
	folds->writers[process] = writer;
	folds->hosts[process] = host;
	return 0;
}

struct collective_fold *collective_folds_fold(struct collective_folds *folds, uint32_t writer,
					      uint64_t key)
{
	for (uint32_t i = 0; i < folds->nr_folds; i++)
		if (folds->folds[i].key == key && folds->folds[i].writer == writer)
			return &folds->folds[i];
	if (array_reserve(&folds->folds, &folds->room_folds, folds->nr_folds + 1ull,
			  sizeof(*folds->folds)))
		return NULL;
	folds->folds[folds->nr_folds] = (struct collective_fold){
		.writer = writer, .key = key, .nr_ranks = COLLECTIVE_NOT_KNOWN};
	return &folds->folds[folds->nr_folds++];
}

static bool sum_equals(const void *context, uint32_t id, const void *key)
{
	const struct collective_folds *folds = context;

	return memcmp(&folds->sums[id - 1].key, key, sizeof(struct collective_sum_key)) == 0;
}

struct collective_sum *collective_folds_sum(struct collective_folds *folds,
					    const struct collective_sum_key *key)
{
	uint32_t hash = hash_index_hash(key, sizeof(*key));
	uint32_t id = hash_index_find(&folds->index, hash, sum_equals, folds, key);

	if (id)
		return &folds->sums[id - 1];
	if (array_reserve(&folds->sums, &folds->room_sums, folds->nr_sums + 1ull,
			  sizeof(*folds->sums)) ||
	    hash_index_insert(&folds->index, hash, folds->nr_sums + 1))
		return NULL;
	folds->sums[folds->nr_sums] = (struct collective_sum){.key = *key};
	return &folds->sums[folds->nr_sums++];
}

const struct communicator *collective_folds_end(const struct collective_folds *folds,
						uint32_t process, uint32_t communicator_id)
{
	uint32_t count, low = 0;
	const struct collective_log_communicator *ends =
		collective_log_communicators(folds->log, &count);

	for (uint32_t high = count; low < high;) {
		uint32_t middle = low + (high - low) / 2;
		const struct collective_log_communicator *end = &ends[middle];

		if (end->process < process || (end->process == process &&
					       end->communicator.communicator_id < communicator_id))
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && ends[low].process == process &&
			       ends[low].communicator.communicator_id == communicator_id
		       ? &ends[low].communicator
		       : NULL;
}

/* ---- histograms */

/* 0 to 7 have bins of their own; then there are 8 bins from each power of 2 on. */
uint32_t collective_bin_of(uint64_t ns)
{
	if (ns < 8)
		return (uint32_t)ns;
	uint32_t power = 63 - (uint32_t)__builtin_clzll(ns);
	return (power - 2) * 8 + (uint32_t)(ns >> (power - 3) & 7);
}

int collective_bins_add(struct collective_bin **bins, uint32_t *nr_bins,
			const struct collective_bin *from)
{
	uint32_t at = *nr_bins;

	while (at > 0 && (*bins)[at - 1].bin >= from->bin)
		at--;
	if (at == *nr_bins || (*bins)[at].bin != from->bin) {
		struct collective_bin *more = realloc(*bins, (*nr_bins + 1ul) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		*bins = more;
		memmove(&more[at + 1], &more[at], (*nr_bins - at) * sizeof(*more));
		more[at] = (struct collective_bin){.bin = from->bin};
		++*nr_bins;
	}
	(*bins)[at].count += from->count;
	(*bins)[at].ns += from->ns;
	return 0;
}

static uint64_t mean_at(const struct collective_bin *bins, uint32_t nr_bins, uint64_t place)
{
	for (uint32_t i = 0; i < nr_bins; i++) {
		if (place < bins[i].count)
			return bins[i].ns / bins[i].count;
		place -= bins[i].count;
	}
	return 0;
}

uint64_t collective_bins_median(const struct collective_bin *bins, uint32_t nr_bins)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < nr_bins; i++)
		count += bins[i].count;
	if (count == 0)
		return 0;
	uint64_t low = mean_at(bins, nr_bins, (count - 1) / 2);
	uint64_t high = mean_at(bins, nr_bins, count / 2);
	return low + (high - low) / 2;
}
