#include "collective_fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void collective_fold_fini(struct collective_fold *fold)
{
	for (uint32_t i = 0; i < fold->nr_members; i++)
		free(fold->members[i].buckets);
	free(fold->members);
	*fold = (struct collective_fold){0};
}

uint32_t collective_fold_find(const struct collective_fold *fold, uint32_t process,
			      uint32_t communicator_id)
{
	for (uint32_t i = 0; i < fold->nr_members; i++)
		if (fold->members[i].process == process &&
		    fold->members[i].communicator_id == communicator_id)
			return i;
	return COLLECTIVE_FOLD_NONE;
}

static bool is_before(const struct collective_fold_member *a,
		      const struct collective_fold_member *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->process != b->process)
		return a->process < b->process;
	return a->communicator_id < b->communicator_id;
}

int collective_fold_add(struct collective_fold *fold, uint32_t process,
			const struct communicator *end)
{
	struct collective_fold_member member = {
		.process = process,
		.communicator_id = end->communicator_id,
		.rank = end->rank,
		.missing = (uint32_t)fold->collectives,
		.buckets = calloc(COLLECTIVE_FOLD_BUCKETS, sizeof(*member.buckets)),
	};
	struct collective_fold_member *members =
		realloc(fold->members, (fold->nr_members + 1ul) * sizeof(*members));
	uint32_t at = fold->nr_members;

	if (members)
		fold->members = members;
	if (!members || !member.buckets) {
		free(member.buckets);
		return -ENOMEM;
	}
	for (; at > 0 && is_before(&member, &members[at - 1]); at--)
		members[at] = members[at - 1];
	members[at] = member;
	fold->nr_members++;
	fold->origin = end->origin;
	if (end->nr_ranks != COLLECTIVE_NOT_KNOWN)
		fold->nr_ranks = end->nr_ranks;
	return 0;
}

/* Each bucket takes in the next one, so that half of them are free. */
static void halve(struct collective_fold *fold)
{
	for (uint32_t i = 0; i < fold->nr_members; i++) {
		struct collective_fold_bucket *buckets = fold->members[i].buckets;

		for (uint32_t j = 0; j < COLLECTIVE_FOLD_BUCKETS / 2; j++) {
			const struct collective_fold_bucket *a = &buckets[2 * j], *b = a + 1;

			buckets[j] = (struct collective_fold_bucket){
				(int64_t)((uint64_t)a->late_twice_ns + (uint64_t)b->late_twice_ns),
				a->kept_ns + b->kept_ns};
		}
		memset(buckets + COLLECTIVE_FOLD_BUCKETS / 2, 0,
		       COLLECTIVE_FOLD_BUCKETS / 2 * sizeof(*buckets));
	}
	fold->shift++;
}

static int by_time(const void *a, const void *b, void *context)
{
	const uint64_t *times = context;
	uint64_t x = times[*(const uint32_t *)a], y = times[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

/* Returns twice the median time of all members but the one at this place of the order. */
static uint64_t twice_median_of_others(const uint64_t *times, const uint32_t *order, uint32_t count,
				       uint32_t place)
{
	uint32_t low = (count - 2) / 2, high = (count - 1) / 2;

	low += low >= place;
	high += high >= place;
	return times[order[low]] + times[order[high]];
}

void collective_fold_compare(struct collective_fold *fold, const uint64_t *times, uint32_t *order,
			     struct collective_fold_waits *waits)
{
	const uint32_t count = fold->nr_members;

	if (fold->used >> fold->shift >= COLLECTIVE_FOLD_BUCKETS)
		halve(fold);
	const uint32_t bucket = (uint32_t)(fold->used++ >> fold->shift);
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_time, (void *)times);
	*waits = (struct collective_fold_waits){.last = order[0], .least_ns = times[order[0]]};
	for (uint32_t i = 0; i < count; i++) {
		int64_t *late = &fold->members[order[i]].buckets[bucket].late_twice_ns;

		waits->waited_ns += times[order[i]] - waits->least_ns;
		*late = (int64_t)((uint64_t)*late +
				  twice_median_of_others(times, order, count, i) -
				  2 * times[order[i]]);
	}
	waits->behind_ns = times[order[1]] - waits->least_ns;
	if (waits->behind_ns)
		fold->members[waits->last].buckets[bucket].kept_ns += waits->waited_ns;
	else
		waits->last = COLLECTIVE_FOLD_NONE;
}

uint32_t collective_fold_buckets(const struct collective_fold *fold)
{
	return (uint32_t)((fold->used + (1ull << fold->shift) - 1) >> fold->shift);
}

uint32_t collective_fold_in_bucket(const struct collective_fold *fold, uint32_t bucket)
{
	uint64_t left = fold->used - ((uint64_t)bucket << fold->shift);

	return (uint32_t)(left >> fold->shift ? 1ull << fold->shift : left);
}
