#include "straggler_others.h"

#include <stdbool.h>

#include "aggregator/profile/collective_fold.h"
#include "aggregator/profile/roster.h"
#include "report/profile/straggler_rank.h"

/* Its multiples lie apart in any range (Knuth, The Art of Computer Programming, 6.4). */
#define GOLDEN 0.618

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Returns a stride that comes to each of n members once, and to all parts of them early. */
static uint32_t stride_of(uint32_t n)
{
	uint32_t stride = (uint32_t)(GOLDEN * n) + 1;

	while (common_divisor(stride, n) != 1)
		stride++;
	return stride;
}

static bool is_in(const uint32_t *members, uint32_t count, uint32_t member)
{
	for (uint32_t i = 0; i < count; i++)
		if (members[i] == member)
			return true;
	return false;
}

/* Returns whether one of the members is the same rank. */
static bool has_rank(const struct roster *roster, const struct collective_fold *fold,
		     const uint32_t *members, uint32_t count, uint32_t member)
{
	const uint32_t process = fold->members[member].process;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t other = fold->members[members[i]].process;

		if (process == other || straggler_rank_same(roster_process(roster, process),
							    roster_process(roster, other)))
			return true;
	}
	return false;
}

uint32_t straggler_others_choose(const struct roster *roster, const struct collective_fold *fold,
				 uint32_t late, const uint32_t *left_out, uint32_t nr_left_out,
				 uint32_t members[static 1 + STRAGGLER_OTHERS_MAX])
{
	const uint32_t stride = stride_of(fold->nr_members);
	uint32_t count = 1;

	members[0] = late;
	for (uint32_t k = 0; k < fold->nr_members && count <= STRAGGLER_OTHERS_MAX; k++) {
		const uint32_t i = (uint32_t)((uint64_t)k * stride % fold->nr_members);

		if (!is_in(left_out, nr_left_out, i) && !has_rank(roster, fold, members, count, i))
			members[count++] = i;
	}
	return count;
}
