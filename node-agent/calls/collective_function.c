#include "collective_function.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/collective_event.h"

struct entry {
	const char *name;
	uint32_t site;
};

/* Functions of NCCL 2.28 that older versions have, too, in the order of strcmp(). The library exports each a second
 * time as "pnccl...", at one address with the first or at another one, to which the first then jumps. */
static const struct entry entries[] = {
	{"ncclAllGather", COLLECTIVE_SITE_ALL_GATHER},
	{"ncclAllReduce", COLLECTIVE_SITE_ALL_REDUCE},
	{"ncclAlltoAll", COLLECTIVE_SITE_ALL_TO_ALL},
	{"ncclBcast", COLLECTIVE_SITE_BCAST},
	{"ncclBroadcast", COLLECTIVE_SITE_BROADCAST},
	{"ncclCommAbort", COLLECTIVE_SITE_DESTROY},
	{"ncclCommDestroy", COLLECTIVE_SITE_DESTROY},
	{"ncclCommInitAll", COLLECTIVE_SITE_INIT_ALL},
	{"ncclCommInitRank", COLLECTIVE_SITE_INIT_RANK},
	{"ncclCommInitRankConfig", COLLECTIVE_SITE_INIT_RANK},
	{"ncclCommInitRankScalable", COLLECTIVE_SITE_INIT_SCALABLE},
	{"ncclCommShrink", COLLECTIVE_SITE_SHRINK},
	{"ncclCommSplit", COLLECTIVE_SITE_SPLIT},
	{"ncclGather", COLLECTIVE_SITE_GATHER},
	{"ncclGroupEnd", COLLECTIVE_SITE_GROUP_END},
	{"ncclGroupSimulateEnd", COLLECTIVE_SITE_GROUP_END},
	{"ncclGroupStart", COLLECTIVE_SITE_GROUP_START},
	{"ncclRecv", COLLECTIVE_SITE_RECV},
	{"ncclReduce", COLLECTIVE_SITE_REDUCE},
	{"ncclReduceScatter", COLLECTIVE_SITE_REDUCE_SCATTER},
	{"ncclScatter", COLLECTIVE_SITE_SCATTER},
	{"ncclSend", COLLECTIVE_SITE_SEND},
};

static int compare(const void *name, const void *element)
{
	return strcmp(name, ((const struct entry *)element)->name);
}

uint32_t collective_function_find(const char *symbol)
{
	const char *name = *symbol == 'p' ? symbol + 1 : symbol;

	if (strncmp(name, "nccl", 4) != 0)
		return COLLECTIVE_SITE_NONE;
	const struct entry *found = bsearch(name, entries, sizeof(entries) / sizeof(entries[0]),
					    sizeof(entries[0]), compare);

	return found ? found->site : COLLECTIVE_SITE_NONE;
}
