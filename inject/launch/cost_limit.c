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

static struct cost_limit_sums sum(const uint64_t words[RECORD_METER_WORDS])
{
	const uint64_t most_ns = words[RECORD_METER_STACKS] * LAUNCH_METER_OUTLIER_NS;
	const uint64_t stack_ns = words[RECORD_METER_STACK_NS];
	struct cost_limit_sums sum = {.cost_ns = stack_ns < most_ns ? stack_ns : most_ns,
				      .thread_ns = words[RECORD_METER_THREAD_NS]};

	for (uint32_t word = RECORD_METER_ENTRY_NS; word <= RECORD_METER_EXIT_NS; word++)
		sum.cost_ns += words[word];
	return sum;
}

static int64_t allowed_ns(const struct cost_limit *limit, uint64_t thread_ns)
{
	return (int64_t)((unsigned __int128)thread_ns * limit->allowed / COST_OPTION_ALL);
}

static int64_t burst_ns(const struct cost_limit *limit)
{
	return allowed_ns(limit, COST_LIMIT_THREAD_NS) + COST_LIMIT_FIXED_NS;
}

void cost_limit_take(struct cost_limit *limit, uint32_t number,
		     const uint64_t words[RECORD_METER_WORDS], uint64_t now_ns)
{
	struct cost_limit_lane *lane = &limit->lanes[number];
	const struct cost_limit_sums now = sum(words);
	const int64_t burst = burst_ns(limit);

	if (number >= limit->nr_lanes)
		limit->nr_lanes = number + 1;
	if (now.thread_ns == lane->seen.thread_ns)
		return;
	const int64_t saved_ns = allowed_ns(limit, now.thread_ns - lane->seen.thread_ns) -
				 (int64_t)(now.cost_ns - lane->seen.cost_ns);
	lane->seen = now;
	lane->seen_ns = now_ns;
	lane->balance_ns += saved_ns;
	if (lane->balance_ns > burst)
		lane->balance_ns = burst;
	if (lane->balance_ns < -2 * burst)
		lane->balance_ns = -2 * burst;
	lane->excess_ns = lane->excess_ns > saved_ns ? lane->excess_ns - saved_ns : 0;
	if (lane->excess_ns == 0)
		lane->began = now;
}

/* Returns what a lane cost since then, in thousandths of a percent, at most UINT32_MAX. */
static uint32_t share_since(const struct cost_limit_lane *lane, const struct cost_limit_sums *then)
{
	const uint64_t thread_ns = lane->seen.thread_ns - then->thread_ns;
	unsigned __int128 share = (unsigned __int128)(lane->seen.cost_ns - then->cost_ns) *
				  COST_OPTION_ALL / (thread_ns ? thread_ns : 1);

	return share > UINT32_MAX ? UINT32_MAX : (uint32_t)share;
}

/* Returns the lane that paid most since the level changed. */
static const struct cost_limit_lane *busiest(const struct cost_limit *limit)
{
	const struct cost_limit_lane *most = &limit->lanes[0];

	for (uint32_t i = 1; i < limit->nr_lanes; i++) {
		const struct cost_limit_lane *lane = &limit->lanes[i];

		if (lane->seen.cost_ns - lane->changed.cost_ns >
		    most->seen.cost_ns - most->changed.cost_ns)
			most = lane;
	}
	return most;
}

static enum cost_verdict change(struct cost_limit *limit, bool less)
{
	do
		limit->level = less ? limit->level + 1 : limit->level - 1;
	while (limit->level == COST_LEVEL_PYTHON && !limit->has_python);
	for (uint32_t i = 0; i < limit->nr_lanes; i++) {
		struct cost_limit_lane *lane = &limit->lanes[i];

		lane->changed = lane->began = lane->seen;
		lane->excess_ns = 0;
	}
	limit->exceeded = false;
	return COST_VERDICT_CHANGED;
}

/* Returns the lane that owes a burst, and that the present level costs most too much. NULL: none owes. */
static const struct cost_limit_lane *debtor(const struct cost_limit *limit)
{
	const struct cost_limit_lane *worst = NULL;
	const int64_t burst = burst_ns(limit);

	for (uint32_t i = 0; i < limit->nr_lanes; i++) {
		const struct cost_limit_lane *lane = &limit->lanes[i];

		if (lane->balance_ns <= -burst && lane->excess_ns >= burst / 4 &&
		    (!worst || lane->excess_ns > worst->excess_ns))
			worst = lane;
	}
	return worst;
}

static bool all_have_saved(const struct cost_limit *limit, uint64_t now_ns)
{
	const int64_t burst = burst_ns(limit);

	for (uint32_t i = 0; i < limit->nr_lanes; i++) {
		const struct cost_limit_lane *lane = &limit->lanes[i];

		if (lane->seen_ns &&
		    lane->balance_ns + allowed_ns(limit, now_ns - lane->seen_ns) < burst)
			return false;
	}
	return true;
}

enum cost_verdict cost_limit_judge(struct cost_limit *limit, uint64_t now_ns)
{
	const struct cost_limit_lane *worst = debtor(limit);

	if (!worst && limit->level != COST_LEVEL_WHOLE && all_have_saved(limit, now_ns)) {
		const struct cost_limit_lane *most = busiest(limit);

		limit->share = share_since(most, &most->changed);
		return change(limit, false);
	}
	if (!worst || limit->exceeded)
		return COST_VERDICT_SAME;
	limit->share = share_since(worst, &worst->began);
	if (limit->level != COST_LEVEL_NONE)
		return change(limit, true);
	limit->exceeded = true;
	return COST_VERDICT_EXCEEDED;
}

const char *cost_limit_text(enum cost_level level)
{
	static const char *const texts[COST_LEVELS] = {"whole stacks", "Python frames alone",
						       "one frame", "no stack"};

	return texts[level];
}
