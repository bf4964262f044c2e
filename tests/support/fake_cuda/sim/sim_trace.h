/* The seam between the driver and CUPTI: API calls, resources and operations are reported to the
 * tracer that libcupti plugs in. Without one a call costs a load and a branch. Any thread. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim_truth.h"

struct sim_allocation;
struct sim_context;
struct sim_stream;

enum sim_domain { SIM_DOMAIN_DRIVER = 1, SIM_DOMAIN_RUNTIME = 2 }; /* CUPTI's numbers */

/* One API call in progress; lives in the API function's frame. */
struct sim_call {
	enum sim_domain domain;
	uint32_t cbid;
	const char *name;
	const void *params;
	const char *symbol;      /* the kernel of a launch, else NULL */
	uint32_t correlation_id; /* 0: not traced */
	uint64_t correlation_data;
	bool told;           /* the subscriber heard of its entry */
	uint32_t generation; /* of correlation ids, at its entry */
};

/* One thing that a device ran, or still runs. */
struct sim_operation {
	enum sim_kind kind;
	const char *name;
	struct sim_truth_row *row;
	uint32_t device_ordinal, context_id, stream_id;
	uint32_t correlation_id;
	uint64_t start_ns, end_ns;
	uint64_t sequence; /* kernels of the process, from 1; 0: no kernel */
	uint64_t bytes;
	uint64_t graph_node_id;
	uint32_t graph_id; /* of the executable graph whose launch this is part of; 0: none */
	uint32_t grid[3], block[3], shared_bytes; /* dynamic */
	uint32_t static_shared_bytes, registers;
	uint32_t memset_value;
	uint8_t copy_kind, source_kind, destination_kind; /* CUPTI's numbers */
	bool asynchronous, cooperative;
	/* Of what is no work of a device (sim_host.h): */
	uint64_t address, value;
	uint32_t source, destination; /* ordinals, or SIM_ID_NONE for the host */
	uint32_t overhead;            /* CUPTI's number */
	bool uncorrelated;            /* no call is behind it */
};

struct sim_tracer {
	bool (*call_site)(struct sim_call *call, bool at_exit,
			  void *result); /* whether callbacks of it are on */
	void (*resource)(uint32_t cbid, struct sim_context *context, struct sim_stream *stream,
			 void *descriptor);
	void (*operation)(const struct sim_operation *operation);
	bool (*wants_graphs)(void);
	bool (*wants_kind)(uint32_t kind);
	void (*allocation)(const struct sim_allocation *allocation);
};

/* NULL: nobody traces. Borrowed for ever. */
void sim_trace_set_tracer(const struct sim_tracer *tracer);

/* Around each API function. The outermost call of a thread draws a correlation id while somebody traces; calls nested
 * in it share it. As seen of CUPTI 13.0 (one thread that launched on two GPUs), a thread whose callback is switched off
 * within a call keeps that call's id for all that follows, until ids begin anew. result: CUresult or cudaError_t, shown
 * to the callback. */
void sim_trace_enter(struct sim_call *call);
void sim_trace_exit(struct sim_call *call, void *result);

/* The next id is 1 again. */
void sim_trace_restart_ids(void);

/* Of the call that this thread is in; 0: not traced. */
uint32_t sim_trace_correlation_id(void);

void sim_trace_resource(uint32_t cbid, struct sim_context *context, struct sim_stream *stream,
			void *descriptor);
void sim_trace_operation(const struct sim_operation *operation);

void sim_trace_allocation(const struct sim_allocation *allocation);

/* Whether a graph launch is to be reported as one operation. */
bool sim_trace_wants_graphs(void);

#endif
