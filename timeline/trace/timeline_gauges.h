/* What NVML told of the GPUs of processes (device_telemetry.h) within a time, as values of counters on the clock of a
 * timeline. A row of telemetry is a second, or more in a long run, and gives one value of each kind. Where samples of
 * counters are kept (counter_sampling.h), each gives a value of the last three kinds in place of the row's. Used by one
 * thread. */
#ifndef TIMELINE_GAUGES_H
#define TIMELINE_GAUGES_H

#include "timeline_source.h"

enum timeline_gauge_kind {
	TIMELINE_SM_CLOCK,     /* MHz, while the GPU was not idle */
	TIMELINE_MEMORY_CLOCK, /* the same */
	TIMELINE_POWER,        /* W */
	TIMELINE_SM_ACTIVE,    /* %, as gpm_use_mean() says; so are the next two */
	TIMELINE_TENSOR,
	TIMELINE_DRAM,
	TIMELINE_GAUGE_KINDS,
};

struct timeline_gauge {
	uint64_t time_ns;               /* the begin of its row, or of the time */
	uint32_t process_id, device_id; /* device_id: CUDA ordinal */
	enum timeline_gauge_kind kind;
	double value;
};

struct timeline_gauges {
	struct timeline_gauge *gauges; /* owns; by process, device, kind and time */
	uint32_t nr_gauges, room_gauges;
};

/* Takes the telemetry of the processes whose events were read from source last, with a part in [from_ns, to_ns), from
 * the store at this path. 0; -EPROTO: the profile is damaged; an error of database.h; -ENOMEM. Call
 * timeline_gauges_fini() in any case. */
int timeline_gauges_init(struct timeline_gauges *gauges, struct timeline_source *source,
			 const char *store_path, uint64_t from_ns, uint64_t to_ns);
void timeline_gauges_fini(struct timeline_gauges *gauges);

/* Return "SM clock" and "MHz". Static storage. */
const char *timeline_gauge_name(enum timeline_gauge_kind kind);
const char *timeline_gauge_unit(enum timeline_gauge_kind kind);

#endif
