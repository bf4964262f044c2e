#include "watch_identity.h"

#include <string.h>

#include "proto/collective.h"

/* The bytes of a text and its end. */
static uint64_t hash_text(const char *text)
{
	return collective_hash(COLLECTIVE_HASH_START, text, strlen(text) + 1);
}

static uint64_t hash_numbers(uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t numbers[] = {a, b, c};

	return collective_hash(COLLECTIVE_HASH_START, numbers, sizeof(numbers));
}

static uint64_t of_rank(const struct report_straggler_rank *rank)
{
	if (rank->rank >= 0)
		return hash_numbers(1, hash_text(rank->job), (uint64_t)rank->rank);
	return hash_numbers(2, hash_text(rank->host), rank->pid);
}

uint64_t watch_identity_ranks(const struct report_straggler *straggler,
			      const struct report_straggler_communicator *on,
			      const uint32_t *members, uint32_t nr_members)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr_members; i++)
		sum += of_rank(&straggler->ranks[on->members[members[i]].of_rank]);
	return sum;
}

uint64_t watch_identity_link(uint64_t key)
{
	return hash_numbers(3, key, 0);
}
