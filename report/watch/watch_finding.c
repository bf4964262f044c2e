#include "watch_finding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void watch_finding_fini(struct watch_finding *finding)
{
	free(finding->name);
	free(finding->text);
	free(finding->communicator);
	free(finding->cause);
	free(finding->ranks);
	*finding = (struct watch_finding){.name = NULL};
}

bool watch_finding_has_rank(const struct watch_finding *finding, int32_t rank)
{
	for (uint32_t i = 0; i < finding->nr_ranks; i++)
		if (finding->ranks[i] == rank)
			return true;
	return false;
}

int watch_finding_copy(const struct watch_finding *from, struct watch_finding *to)
{
	*to = *from;
	to->name = strdup(from->name);
	to->text = strdup(from->text);
	to->communicator = strdup(from->communicator);
	to->cause = from->cause ? strdup(from->cause) : NULL;
	to->ranks = calloc(from->nr_ranks + 1ul, sizeof(*to->ranks));
	if (!to->name || !to->text || !to->communicator || !to->ranks ||
	    (from->cause && !to->cause)) {
		watch_finding_fini(to);
		return -ENOMEM;
	}
	if (from->nr_ranks)
		memcpy(to->ranks, from->ranks, from->nr_ranks * sizeof(*to->ranks));
	return 0;
}
