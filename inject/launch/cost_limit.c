#include "cost_limit.h"

#include <assert.h>

#include "launch_meter.h"

#include "inject/base/launch_word.h"
#include "proto/options/cost_option.h"

static_assert(RECORD_METER_WORDS - RECORD_METER_LESS == COST_LEVELS - COST_LEVEL_PYTHON,
	      "each level that takes less has a count");

LAUNCH_WORD atomic_uint cost_limit_word;

void cost_limit_set(enum cost_level level)
{
	atomic_store_explicit(&cost_limit_word, level, memory_order_relaxed);
}

static struct cost_limit_sums sum(const uint64_t sums[RECORD_METER_WORDS])
{
	const uint64_t most_ns = sums[RECORD_METER_STACKS] * LAUNCH_METER_OUTLIER_NS;
	const uint64_t stack_ns = sums[RECORD_METER_STACK_NS];
	struct cost_limit_sums sum = {.cost_ns = stack_ns < most_ns ? stack_ns : most_ns,
				      .thread_ns = sums[RECORD_METER_THREAD_NS]};

	for (uint32_t word = RECORD_METER_ENTRY_NS; word <= RECORD_METER_EXIT_NS; word++)
		sum.cost_ns += sums[word];
	return sum;
}

static int64_t allowed_ns(const struct cost_limit *limit, uint64_t thread_ns)
{
	return (int64_t)((unsigned __int128)thread_ns * limit->allowed / COST_OPTION_ALL);
}

/* Remembers what launches cost since the level changed last, at most UINT32_MAX. */
static void set_share(struct cost_limit *limit)
{
	uint64_t thread_ns = limit->seen.thread_ns - limit->changed.thread_ns;
	unsigned __int128 share =
		(unsigned __int128)(limit->seen.cost_ns - limit->changed.cost_ns) *
		COST_OPTION_ALL / (thread_ns ? thread_ns : 1);

	limit->share = share > UINT32_MAX ? UINT32_MAX : (uint32_t)share;
}

static enum cost_verdict change(struct cost_limit *limit, bool less)
{
	do
		limit->level = less ? limit->level + 1 : limit->level - 1;
	while (limit->level == COST_LEVEL_PYTHON && !limit->has_python);
	limit->changed = limit->seen;
	limit->excess_ns = 0;
	limit->exceeded = false;
	return COST_VERDICT_CHANGED;
}

enum cost_verdict cost_limit_judge(struct cost_limit *limit,
				   const uint64_t sums[RECORD_METER_WORDS])
{
	const int64_t burst_ns = allowed_ns(limit, COST_LIMIT_THREAD_NS) + COST_LIMIT_FIXED_NS;
	const struct cost_limit_sums now = sum(sums);
	const int64_t saved_ns = allowed_ns(limit, now.thread_ns - limit->seen.thread_ns) -
				 (int64_t)(now.cost_ns - limit->seen.cost_ns);

	limit->seen = now;
	limit->balance_ns += saved_ns;
	if (limit->balance_ns > burst_ns)
		limit->balance_ns = burst_ns;
	if (limit->balance_ns < -2 * burst_ns)
		limit->balance_ns = -2 * burst_ns;
	limit->excess_ns = limit->excess_ns > saved_ns ? limit->excess_ns - saved_ns : 0;
	set_share(limit);
	if (limit->balance_ns == burst_ns && limit->level != COST_LEVEL_WHOLE)
		return change(limit, false);
	if (limit->balance_ns > -burst_ns || limit->excess_ns < burst_ns / 4)
		return COST_VERDICT_SAME;
	if (limit->level != COST_LEVEL_NONE)
		return change(limit, true);
	if (limit->exceeded)
		return COST_VERDICT_SAME;
	limit->exceeded = true;
	return COST_VERDICT_EXCEEDED;
}

const char *cost_limit_text(enum cost_level level)
{
	static const char *const texts[COST_LEVELS] = {"whole stacks", "Python frames alone",
						       "one frame", "no stack"};

	return texts[level];
}
