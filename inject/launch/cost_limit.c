#include "cost_limit.h"

#include <string.h>

#include "inject/base/launch_word.h"
#include "proto/options/cost_option.h"

LAUNCH_WORD atomic_uint cost_limit_word;

/* Returns ns as a share of of_ns, at most UINT32_MAX. */
static uint32_t share(uint64_t ns, uint64_t of_ns)
{
	unsigned __int128 part = (unsigned __int128)ns * COST_OPTION_ALL / of_ns;

	return part > UINT32_MAX ? UINT32_MAX : (uint32_t)part;
}

bool cost_limit_judge(struct cost_limit *limit, const uint64_t sums[RECORD_METER_WORDS])
{
	uint64_t more[RECORD_METER_WORDS], ns = 0;

	for (uint32_t word = 0; word < RECORD_METER_WORDS; word++)
		more[word] = sums[word] - limit->seen[word];
	if (more[RECORD_METER_METERED] < COST_LIMIT_METERED || more[RECORD_METER_THREAD_NS] == 0)
		return false;
	memcpy(limit->seen, sums, sizeof(limit->seen));
	for (uint32_t word = RECORD_METER_ENTRY_NS; word <= RECORD_METER_EXIT_NS; word++)
		ns += more[word];
	ns += more[RECORD_METER_STACK_NS];
	limit->share = share(ns, more[RECORD_METER_THREAD_NS]);
	limit->each_ns[limit->level] = ns / more[RECORD_METER_CALLS];
	if (limit->share > limit->allowed) {
		if (limit->level == COST_LEVEL_NONE)
			return false;
		limit->level++;
		return true;
	}
	if (limit->level == COST_LEVEL_WHOLE)
		return false;
	uint64_t *each_ns = &limit->each_ns[limit->level - 1];
	if (share(*each_ns * more[RECORD_METER_CALLS], more[RECORD_METER_THREAD_NS]) <=
	    limit->allowed / 4 * 3) {
		limit->level--;
		return true;
	}
	*each_ns -= *each_ns / 16;
	return false;
}

const char *cost_limit_text(enum cost_level level)
{
	static const char *const texts[COST_LEVELS] = {"whole stacks", "Python frames alone",
						       "one frame", "no stack"};

	return texts[level];
}
