#include "straggler_links.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "aggregator/profile/collective_split.h"
#include "report/statistics/outlier.h"

#define RATE_SCALE  1e9 /* rates are ns for so many bytes */
#define SCALE_PARTS 2u  /* of the median: a twentieth of that is a tenth (outlier.h) */

/* One function of a communicator with calls of one size. */
struct entry {
	struct straggler_link link;
	uint32_t nr_hosts;
	bool is_whole; /* all of its calls were compared by kernels */
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_kinds(const struct entry *a, const struct entry *b)
{
	int order = compare(a->link.function, b->link.function);

	if (!order)
		order = compare(a->link.size_class, b->link.size_class);
	if (!order)
		order = compare(a->link.fold->nr_ranks, b->link.fold->nr_ranks);
	return order ? order : compare(a->nr_hosts, b->nr_hosts);
}

static int compare_folds(const struct entry *a, const struct entry *b)
{
	int order = compare(a->link.fold->key, b->link.fold->key);

	return order ? order : compare(a->link.fold->writer, b->link.fold->writer);
}

static int by_kind(const void *a, const void *b)
{
	int order = compare_kinds(a, b);

	return order ? order : compare_folds(a, b);
}

static int by_cost(const void *a, const void *b)
{
	const struct straggler_link *x = a, *y = b;
	int order = compare(y->moves_ns - y->usual_ns, x->moves_ns - x->usual_ns);

	return order ? order : compare(x->fold->key, y->fold->key);
}

static const struct collective_fold *fold_of(const struct collective_folds *folds,
					     const struct collective_sum *sum)
{
	const struct communicator *end =
		collective_folds_end(folds, sum->key.process, sum->key.communicator_id);

	for (uint32_t i = 0; i < folds->nr_folds && end && end->key; i++) {
		const struct collective_fold *fold = &folds->folds[i];

		if (fold->key == end->key && (fold->writer == 0) == sum->key.is_across &&
		    collective_fold_find(fold, sum->key.process, sum->key.communicator_id) !=
			    COLLECTIVE_FOLD_NONE)
			return fold;
	}
	return NULL;
}

static uint32_t count_hosts(const struct collective_folds *folds,
			    const struct collective_fold *fold)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fold->nr_members; i++) {
		uint32_t j = 0;

		while (folds->hosts[fold->members[j].process] !=
		       folds->hosts[fold->members[i].process])
			j++;
		count += j == i;
	}
	return count;
}

/* before: the entry of the sum before, often of the same communicator; NULL: none. false: what the calls moved is not
 * known. */
static bool make_entry(const struct collective_folds *folds, const struct collective_sum *sum,
		       const struct entry *before, struct entry *entry)
{
	const struct collective_fold *fold = fold_of(folds, sum);

	if (!fold || fold->nr_members < 2 || fold->nr_members != fold->nr_ranks ||
	    fold->by_gpu != fold->used || sum->key.size_class > 63 ||
	    1ull << sum->key.size_class <= STRAGGLER_LINKS_BYTES)
		return false;
	*entry = (struct entry){
		.link = {.fold = fold,
			 .function = sum->key.function,
			 .size_class = sum->key.size_class,
			 .calls = sum->calls,
			 .moves_ns =
				 sum->gpu_ns > sum->waited_ns ? sum->gpu_ns - sum->waited_ns : 0,
			 .bus_bytes = collective_split_bus_bytes(sum->key.function, sum->bytes,
								 fold->nr_ranks)},
		.is_whole = sum->used == sum->calls && sum->gpu_calls == sum->calls,
	};
	if (entry->link.bus_bytes > 0 && (!before || before->link.fold != fold))
		entry->nr_hosts = count_hosts(folds, fold);
	else if (before)
		entry->nr_hosts = before->nr_hosts;
	return entry->link.bus_bytes > 0;
}

/* Puts the entries of one communicator, function and size together. They are in order. */
static uint32_t join(struct entry *entries, uint32_t count)
{
	uint32_t joined = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct entry *into = joined ? &entries[joined - 1] : NULL;

		if (!into || by_kind(into, &entries[i])) {
			entries[joined++] = entries[i];
			continue;
		}
		into->link.calls += entries[i].link.calls;
		into->link.moves_ns += entries[i].link.moves_ns;
		into->link.bus_bytes += entries[i].link.bus_bytes;
		into->is_whole &= entries[i].is_whole;
	}
	count = joined;
	joined = 0;
	for (uint32_t i = 0; i < count; i++)
		if (entries[i].is_whole &&
		    entries[i].link.calls >=
			    (uint64_t)STRAGGLER_LINKS_CALLS * entries[i].link.fold->nr_ranks)
			entries[joined++] = entries[i];
	return joined;
}

/* Compares similar communicators, and appends the slow ones to links. */
static int compare_similar(const struct entry *entries, uint32_t count,
			   struct straggler_link *links, uint32_t *nr_links)
{
	uint64_t *rates = calloc(count, 2 * sizeof(*rates)), median = 0;
	bool *out = calloc(count, sizeof(*out));
	int error = rates && out ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !error; i++)
		rates[i] = rates[count + i] =
			(uint64_t)(RATE_SCALE * (double)entries[i].link.moves_ns /
				   (double)entries[i].link.bus_bytes);
	if (!error)
		error = outlier_find(rates, count,
				     SCALE_PARTS * outlier_median(rates + count, count), out,
				     &median);
	for (uint32_t i = 0; i < count && !error; i++) {
		if (!out[i] || rates[i] < median)
			continue;
		struct straggler_link *link = &links[(*nr_links)++];
		*link = entries[i].link;
		link->nr_similar = count - 1;
		link->usual_ns = (uint64_t)((double)median * (double)link->bus_bytes / RATE_SCALE);
	}
	free(rates);
	free(out);
	return error;
}

int straggler_links_find(const struct collective_folds *folds, struct straggler_link **links,
			 uint32_t *count)
{
	struct entry *entries = calloc(folds->nr_sums + 1ul, sizeof(*entries));
	uint32_t nr_entries = 0;
	int error;

	*count = 0;
	*links = calloc(folds->nr_sums + 1ul, sizeof(**links));
	error = entries && *links ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < folds->nr_sums && !error; i++)
		nr_entries += make_entry(folds, &folds->sums[i],
					 nr_entries ? &entries[nr_entries - 1] : NULL,
					 &entries[nr_entries]);
	if (!error) {
		qsort(entries, nr_entries, sizeof(*entries), by_kind);
		nr_entries = join(entries, nr_entries);
	}
	for (uint32_t i = 0, end; i < nr_entries && !error; i = end) {
		for (end = i + 1; end < nr_entries && !compare_kinds(&entries[i], &entries[end]);
		     end++)
			;
		error = compare_similar(&entries[i], end - i, *links, count);
	}
	if (!error)
		qsort(*links, *count, sizeof(**links), by_cost);
	free(entries);
	return error;
}
