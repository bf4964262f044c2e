/* What happens besides the work of devices: the host waits, loads code, moves managed memory, and pays for being
 * traced. Counted in the truth by kind, name and device, and reported to the tracer. Any thread. */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include "sim_trace.h"

#define SIM_NO_ORDINAL (-1)

/* CUPTI's numbers. */
enum sim_sync {
	SIM_SYNC_EVENT = 1,
	SIM_SYNC_WAIT_EVENT = 2,
	SIM_SYNC_STREAM = 3,
	SIM_SYNC_CONTEXT = 4
};
enum sim_unified {
	SIM_UNIFIED_HTOD = 1,
	SIM_UNIFIED_DTOH = 2,
	SIM_UNIFIED_CPU_FAULT = 3,
	SIM_UNIFIED_GPU_FAULT = 4,
	SIM_UNIFIED_DTOD = 8
};
enum sim_overhead { SIM_OVERHEAD_FLUSH = 1 << 16, SIM_OVERHEAD_LAZY = 5 << 16 };

#define SIM_ID_NONE 0xffffffffu /* a stream or device that does not apply */

/* A wait on the current context, or another one, that began at start_ns and ends now. stream_id: SIM_ID_NONE: none. */
void sim_host_waited(const struct sim_context *context, enum sim_sync type, uint32_t stream_id,
		     uint64_t start_ns);

/* A question whether a stream or event is done, asked at start_ns. Of one that is not, only while all are wanted. */
void sim_host_asked(const struct sim_context *context, enum sim_sync type, uint32_t stream_id,
		    uint64_t start_ns, bool done);
void sim_host_want_all(bool all);

/* Counts and reports the operation, whose kind, detail and times are set; name is copied. ordinal: SIM_NO_ORDINAL: of
 * no one device. */
void sim_host_note(struct sim_operation *operation, const char *name, int ordinal);

/* Counts a load of code, which no record tells of. */
void sim_host_loaded(const char *function);

#endif
