#include "profile_agents.h"

#include <errno.h>
#include <stdlib.h>

#include "node_profiles.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"

uint32_t profile_agents_count(struct profile_agents agents)
{
	return agents.collection->nr_sessions +
	       (agents.nodes ? node_profiles_count(agents.nodes) : 0);
}

struct agent_session *profile_agents_at(struct profile_agents agents, uint32_t i)
{
	const struct collection *collection = agents.collection;

	return i < collection->nr_sessions
		       ? collection->sessions[i]
		       : node_profiles_at(agents.nodes, i - collection->nr_sessions);
}

uint64_t profile_agents_heard(struct profile_agents agents, uint64_t since_ns,
			      uint64_t links_since_ns, uint64_t *open)
{
	uint64_t heard = collection_heard(agents.collection, since_ns, open), open_links;

	if (agents.nodes) {
		heard += node_profiles_heard(agents.nodes, links_since_ns, &open_links);
		*open += open_links;
	}
	return heard;
}

uint64_t profile_agents_last_ns(struct profile_agents agents)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < profile_agents_count(agents); i++) {
		const struct agent_session *session = profile_agents_at(agents, i);

		if (session && session->heard_ns > last_ns)
			last_ns = session->heard_ns;
	}
	return last_ns;
}

uint64_t profile_agents_ranks_ns(struct profile_agents agents)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < profile_agents_count(agents); i++) {
		const struct agent_session *session = profile_agents_at(agents, i);

		if (!session)
			continue;
		const uint64_t ran_ns =
			session->ranks_ended_ns ? session->ranks_ended_ns : session->heard_ns;
		last_ns = ran_ns > last_ns ? ran_ns : last_ns;
	}
	return last_ns;
}

static int compare_hosts(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int64_t profile_agents_nodes(struct profile_agents agents)
{
	const uint32_t nr_sessions = profile_agents_count(agents);
	uint32_t *hosts = calloc(nr_sessions + 1ull, sizeof(*hosts)), nr_hosts = 0;
	/* A link of an earlier aggregator has no session, and is one of a node each. */
	int64_t count = agents.nodes ? (int64_t)node_profiles_links(agents.nodes) : 0;

	if (!hosts)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_sessions; i++) {
		const struct agent_session *session = profile_agents_at(agents, i);

		count -= session && session->folds;
		if (session && session->host)
			hosts[nr_hosts++] = session->host;
	}
	qsort(hosts, nr_hosts, sizeof(*hosts), compare_hosts);
	for (uint32_t i = 0; i < nr_hosts; i++)
		count += i == 0 || hosts[i] != hosts[i - 1];
	free(hosts);
	return count;
}

bool profile_agents_have_ranks(struct profile_agents agents, int32_t world_size)
{
	const struct roster *roster = agents.collection->roster;
	uint32_t nr_processes = roster_size(roster).processes, count = 0;

	if (world_size <= 0 || nr_processes < (uint32_t)world_size)
		return false;
	uint8_t *seen = calloc((size_t)world_size, 1);
	for (uint32_t id = 1; seen && id <= nr_processes; id++) {
		int32_t rank = roster_process(roster, id)->rank;

		if (rank < 0 || rank >= world_size || seen[rank])
			continue;
		seen[rank] = 1;
		count++;
	}
	free(seen);
	return count == (uint32_t)world_size;
}
