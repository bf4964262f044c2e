#include "job_end.h"

#include "base/log.h"

#define LAST_WORDS_NS 200000000u  /* for agents to read the last acknowledgement */
#define SETTLE_NS     2000000000u /* for ranks that have not come yet */

/* Returns the time when an agent of the job was last heard, but at least its start. */
static uint64_t last_heard_ns(const struct job_end *end, struct profile_agents agents)
{
	uint64_t last_ns = profile_agents_last_ns(agents);

	return last_ns > end->since_ns ? last_ns : end->since_ns;
}

uint64_t job_end_count_open(const struct job_end *end, struct profile_agents agents,
			    uint64_t now_ns)
{
	const uint64_t wait_ns = end->wait_silent_ns;
	const uint64_t since_ns = now_ns > wait_ns ? now_ns - wait_ns : 0;
	uint64_t open, heard = profile_agents_heard(agents, since_ns, since_ns, &open);

	return now_ns < end->since_ns + wait_ns ? open : heard;
}

/* Returns whether no further agent is expected. Ranks that never use CUDA are not known. A rank that ends at once may
 * be alone on its node, and the next rank there brings the node's agent again. So every rank must have come. */
static bool has_all_agents(const struct job_end *end, struct profile_agents agents,
			   uint64_t quiet_ns)
{
	bool knows_nodes = end->mark->nr_nodes > 0;

	if (knows_nodes && profile_agents_nodes(agents) < end->mark->nr_nodes)
		return false;
	if (end->mark->world_size <= 0)
		return knows_nodes;
	return profile_agents_have_ranks(agents, end->mark->world_size) ||
	       (knows_nodes && quiet_ns >= SETTLE_NS);
}

bool job_end_is_complete(const struct job_end *end, struct profile_agents agents, uint64_t now_ns)
{
	uint64_t quiet_ns = now_ns - last_heard_ns(end, agents);

	if (quiet_ns < LAST_WORDS_NS || job_end_count_open(end, agents, now_ns))
		return false;
	return quiet_ns >= end->wait_nodes_ns || has_all_agents(end, agents, quiet_ns);
}

void job_end_say_missing(const struct job_end *end, struct profile_agents agents, const char *path)
{
	const int64_t nr_nodes = profile_agents_nodes(agents);
	uint64_t silent;

	profile_agents_heard(agents, 0, 0, &silent);
	if (nr_nodes >= 0 && nr_nodes < end->mark->nr_nodes)
		log_warning("%s: %lld of %d nodes did not join", path,
			    (long long)end->mark->nr_nodes - nr_nodes, (int)end->mark->nr_nodes);
	if (silent)
		log_warning("%s: %llu agents did not say goodbye: the end of their work may be "
			    "missing",
			    path, (unsigned long long)silent);
}
