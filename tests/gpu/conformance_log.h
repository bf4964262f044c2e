/* What CUPTI told the conformance program: callbacks and records, kept until the checks read them.
 * Callbacks write from any thread without a lock; the checks read when all threads are joined and
 * everything is flushed. */
#ifndef CONFORMANCE_LOG_H
#define CONFORMANCE_LOG_H

#include <stdint.h>

#define NAME_BYTES 32

struct call_entry {
	uint32_t thread; /* from 1, in the order in which threads first called */
	uint32_t domain, cbid;
	int site, result;
	uint32_t correlation_id, context_id;
	char symbol[NAME_BYTES]; /* of a launch the kernel; of a load of code the function */
};

struct record_entry {
	uint32_t kind, copy_kind;
	uint32_t correlation_id, device_id, context_id, stream_id;
	uint64_t start_ns, end_ns, bytes;
	char name[NAME_BYTES];
	uint32_t graph_id;
	uint64_t graph_node_id;
	uint32_t grid[3], block[3], static_bytes, dynamic_bytes, local_bytes,
		registers; /* kernels */
	uint32_t operation,
		in_stream_order; /* allocations and frees: copy_kind is the memory's kind */
	uint64_t address;
};

/* A resource callback that tells of a graph. Ids are CUPTI's, 0: there was no such handle, or CUPTI
 * knows no id of it. */
struct graph_entry {
	uint32_t cbid, node_type;
	uint32_t graph_id, exec_id;
	uint64_t node_id, original_id;
	void *graph, *node, *exec;               /* handles: not to be followed */
	uint32_t call_cbid, call_correlation_id; /* of the driver call that this thread is in */
};

struct conformance_log {
	uint32_t nr_calls, nr_records, nr_graphs;
	const struct graph_entry *graphs;
	const struct call_entry *calls;
	const struct record_entry *records;
	uint32_t init_finished, contexts_created;
	uint32_t requested, completed;      /* buffers */
	uint32_t requested_while_launching; /* on a thread inside a driver call */
	uint32_t completed_by_flusher;      /* on the thread that called cuptiActivityFlushAll */
	uint32_t kernel_record_bytes;       /* as far as two neighbours tell; 0: unknown */
};

extern void *conformance_subscriber;

/* Subscribes and enables the driver and resource domains. Returns CUPTI's result. */
int conformance_log_subscribe(void);

/* Registers the buffer callbacks, enables kernels, copies and memsets. Returns the first result
 * that is not 0. */
int conformance_log_enable_activity(void);

/* Flushes by force on this thread. */
int conformance_log_flush(void);

/* From now on, finalize CUPTI at the next EXIT of cuCtxSynchronize. */
void conformance_log_finalize_at_exit(void);
/* What cuptiFinalize returned there; -1: it was not called. */
int conformance_log_finalize_result(void);

struct conformance_log conformance_log_read(void);
void conformance_log_clear(void); /* calls, records, graphs; the counters stay */

#endif
