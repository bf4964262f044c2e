#include "job_agents.h"

#include <stdlib.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"

uint32_t job_agents_nodes(const struct collection *collection)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < collection->nr_sessions; i++) {
		uint32_t host = collection->sessions[i]->host;
		bool is_first = host != 0;

		for (uint32_t j = 0; j < i && is_first; j++)
			is_first = collection->sessions[j]->host != host;
		count += is_first;
	}
	return count;
}

bool job_agents_have_ranks(const struct collection *collection, int32_t world_size)
{
	uint32_t nr_processes = roster_size(collection->roster).processes, count = 0;

	if (world_size <= 0 || nr_processes < (uint32_t)world_size)
		return false;
	uint8_t *seen = calloc((size_t)world_size, 1);
	for (uint32_t id = 1; seen && id <= nr_processes; id++) {
		int32_t rank = roster_process(collection->roster, id)->rank;

		if (rank < 0 || rank >= world_size || seen[rank])
			continue;
		seen[rank] = 1;
		count++;
	}
	free(seen);
	return count == (uint32_t)world_size;
}
