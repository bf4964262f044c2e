#include "kind_name.h"

#include <stddef.h>

#include "report_tree.h"

static const char *const copies[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
				     "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
static const char *const waits[] = {"unknown", "event", "stream wait event", "stream", "context"};
static const char *const overheads[] = {
	[0] = "unknown",
	[1] = "driver compiler",
	[RECORD_OVERHEAD_CUPTI + 1] = "activity buffer flush",
	[RECORD_OVERHEAD_CUPTI + 2] = "instrumentation",
	[RECORD_OVERHEAD_CUPTI + 3] = "CUPTI resource",
	[RECORD_OVERHEAD_CUPTI + 4] = "module loading by the runtime",
	[RECORD_OVERHEAD_CUPTI + 5] = "lazy function loading",
	[RECORD_OVERHEAD_CUPTI + 6] = "command buffer full",
	[RECORD_OVERHEAD_CUPTI + 7] = "activity buffer request",
	[RECORD_OVERHEAD_CUPTI + 8] = "unified memory tracing",
};
static const char *const unified[] = {"unknown",        "migration HtoD", "migration DtoH",
				      "CPU page fault", "GPU page fault", "thrashing",
				      "throttling",     "remote map",     "migration DtoD"};

static const char *const energies[] = {"not explained"};

#define DETAILS(table) (table), sizeof(table) / sizeof((table)[0])

static const struct {
	const char *leaf, *column;
	const char *const *details; /* NULL: none; [0] stands for unknown ones */
	size_t nr_details;
} kinds[REPORT_KINDS] = {
	[RECORD_GPU_KERNEL] = {"Kernel", "kernel", NULL, 0},
	[RECORD_GPU_MEMCPY] = {"Memcpy", "memcpy", DETAILS(copies)},
	[RECORD_GPU_MEMSET] = {"Memset", "memset", NULL, 0},
	[RECORD_GPU_GRAPH] = {"Graph", "graph", NULL, 0},
	[RECORD_GPU_SYNC] = {"Sync", "sync", DETAILS(waits)},
	[RECORD_GPU_OVERHEAD] = {"Overhead", "overhead", DETAILS(overheads)},
	[RECORD_GPU_UNIFIED] = {"UM", "um", DETAILS(unified)},
	[RECORD_GPU_MODULE] = {"Module", "module", NULL, 0},
	[RECORD_GPU_ALLOC] = {"Alloc", "alloc", NULL, 0},
	[RECORD_GPU_FREE] = {"Free", "free", NULL, 0},
	[REPORT_KIND_CPU] = {"CPU", "cpu", NULL, 0},
	[REPORT_KIND_OFF_CPU] = {"Off-CPU", "off-cpu", NULL, 0},
	[REPORT_KIND_CALL] = {"GPU_Launch", "call", NULL, 0},
	[REPORT_KIND_STALL] = {"stall", "stall", NULL, 0},
	[REPORT_KIND_IDLE] = {"Idle", "idle", NULL, 0},
	[REPORT_KIND_ENERGY] = {"Energy", "energy", DETAILS(energies)},
	[REPORT_KIND_USE] = {"Use", "use", DETAILS(energies)},
};

const char *kind_name_leaf(uint32_t kind)
{
	return kind < REPORT_KINDS ? kinds[kind].leaf : "Unknown";
}

const char *kind_name_column(uint32_t kind)
{
	return kind < REPORT_KINDS ? kinds[kind].column : "unknown";
}

const char *kind_name_detail(uint32_t kind, uint32_t copy_kind)
{
	if (kind >= REPORT_KINDS || !kinds[kind].details)
		return "";
	if (copy_kind >= kinds[kind].nr_details || !kinds[kind].details[copy_kind])
		return kinds[kind].details[0];
	return kinds[kind].details[copy_kind];
}
