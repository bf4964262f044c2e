#include "link_lag.h"

#include "base/log.h"
#include "node-agent/publish/lag_time.h"

#define NS_PER_S 1e9

enum slow_spell_news link_lag_look(struct link_lag *lag, uint64_t since_ns, uint64_t now_ns)
{
	const uint64_t delay_ns = since_ns && since_ns < now_ns ? now_ns - since_ns : 0;

	return slow_spell_look(&lag->spell, LINK_LAG_LIMIT_NS, delay_ns, now_ns);
}

void link_lag_say(const struct link_lag *lag, enum slow_spell_news news, const char *endpoint,
		  bool is_connected)
{
	const struct slow_spell *spell = &lag->spell;
	char since[LAG_TIME_SIZE];

	if (news == SLOW_SPELL_BEGAN)
		log_warning(
			"the job's aggregator at %s is %.1f s behind since %s: %s; this node keeps "
			"its profile, and nothing is lost by it",
			endpoint, (double)spell->longest_ns / NS_PER_S,
			lag_time_text(spell->since_ns, since),
			is_connected ? "it or the link is slower than this node"
				     : "there is no connection to it");
	else if (news == SLOW_SPELL_ENDED)
		log_notice("the job's aggregator at %s has caught up: it was behind for %.1f s, "
			   "and at most by %.1f s; nothing was lost by it",
			   endpoint, (double)(spell->last_ns - spell->since_ns) / NS_PER_S,
			   (double)spell->longest_ns / NS_PER_S);
}

bool link_lag_take(struct link_lag *lag, uint64_t *count, uint64_t *most_ns)
{
	const struct slow_spell *spell = &lag->spell;

	*count = spell->count;
	*most_ns = spell->most_ns;
	if (spell->count == lag->told_count &&
	    (spell->most_ns == lag->told_ns ||
	     (spell->is_late && spell->most_ns < 2 * lag->told_ns)))
		return false;
	lag->told_count = spell->count;
	lag->told_ns = spell->most_ns;
	return true;
}
