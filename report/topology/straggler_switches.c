#include "straggler_switches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "straggler_topology.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "proto/topology_notice.h"
#include "report/names/clean_text.h"

void straggler_switches_fini(struct straggler_switches *switches)
{
	for (uint32_t i = 0; switches->names && i <= switches->nr_hosts; i++)
		free(switches->names[i]);
	free(switches->names);
	*switches = (struct straggler_switches){0};
}

const char *straggler_switches_of(const struct straggler_switches *switches, uint32_t host)
{
	return host <= switches->nr_hosts ? switches->names[host] : NULL;
}

static const char *node_of(const struct profile *profile, uint32_t host, uint32_t *size)
{
	return catalog_string(profile->collection->catalog,
			      roster_host(profile->collection->roster, host)->node, size);
}

uint32_t straggler_switches_missing(const struct profile *profile,
				    const struct straggler_topology *topology, const char **first,
				    uint32_t *first_size)
{
	const uint32_t nr_hosts = roster_size(profile->collection->roster).hosts;
	uint32_t nr = 0, size;

	for (uint32_t i = 1; i <= nr_hosts; i++) {
		const char *node = node_of(profile, i, &size);

		if (straggler_topology_find(topology, node, size) || nr++)
			continue;
		*first = node;
		*first_size = size;
	}
	return nr;
}

int straggler_switches_check(const struct profile *profile,
			     const struct straggler_topology *topology, const char *path,
			     char **error)
{
	const uint32_t nr_hosts = roster_size(profile->collection->roster).hosts;
	int result = 0;

	for (uint32_t i = 1; i <= nr_hosts && !result; i++) {
		uint32_t size;
		const char *node = node_of(profile, i, &size);

		result = straggler_topology_check(topology, path, node, size, error);
	}
	return result;
}

static int find_in_file(const struct profile *profile, const struct straggler_topology *topology,
			struct straggler_switches *switches, uint32_t host)
{
	uint32_t size;
	const char *node = node_of(profile, host, &size);
	const char *name = straggler_topology_find(topology, node, size);

	if (name)
		switches->names[host] = strdup(name);
	return name && !switches->names[host] ? -ENOMEM : 0;
}

/* The first notice of a host's processes counts. */
static int find_in_notices(const struct profile *profile, const struct roster_process *process,
			   struct straggler_switches *switches)
{
	const size_t words = strlen(TOPOLOGY_NOTICE);
	const uint32_t host = process->identity.host;

	for (uint32_t i = 0; i < process->nr_notices; i++) {
		uint32_t size;
		const char *text =
			catalog_string(profile->collection->catalog, process->notices[i], &size);

		if (host > switches->nr_hosts || switches->names[host] || size <= words ||
		    memcmp(text, TOPOLOGY_NOTICE, words) != 0)
			continue;
		switches->names[host] = clean_text_of(text + words, size - (uint32_t)words);
		if (!switches->names[host])
			return -ENOMEM;
	}
	return 0;
}

int straggler_switches_find(const struct profile *profile,
			    const struct straggler_topology *topology,
			    struct straggler_switches *switches)
{
	const struct roster *roster = profile->collection->roster;
	const struct roster_size size = roster_size(roster);
	int error = 0;

	*switches = (struct straggler_switches){
		.names = calloc(size.hosts + 1ul, sizeof(*switches->names)),
		.nr_hosts = size.hosts};
	if (!switches->names)
		return -ENOMEM;
	for (uint32_t i = 1; i <= size.hosts && topology && !error; i++)
		error = find_in_file(profile, topology, switches, i);
	for (uint32_t i = 1; i <= size.processes && !error; i++)
		error = find_in_notices(profile, roster_process(roster, i), switches);
	return error;
}
