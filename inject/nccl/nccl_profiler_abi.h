/* Declares the small part of NCCL's profiler plugin interface that the guest uses: the exported structs, and the fields
 * of events that a plugin reads. The facts are from NCCL's own headers (github.com/NVIDIA/nccl,
 * src/include/plugin/nccl_profiler.h and profiler/profiler_v1.h to profiler_v7.h), and from NCCL's calls of plugins
 * (src/plugin/profiler.cc).
 *
 * Version 1 came with NCCL 2.23, 2 with 2.24, 3 with 2.26, 4 with 2.27, 5 with 2.28, 6 with 2.29. NCCL looks first for
 * the newest version that it knows. */
#ifndef NCCL_PROFILER_ABI_H
#define NCCL_PROFILER_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NCCL_ABI_SUCCESS 0

/* Types of events, and bits of the activation mask. */
enum nccl_event_type {
	NCCL_EVENT_GROUP = 1 << 0, /* a plan: reported right after its launch, on the same thread */
	NCCL_EVENT_COLLECTIVE = 1 << 1,
	NCCL_EVENT_P2P = 1 << 2,
	NCCL_EVENT_COLLECTIVE_API = 1 << 9, /* version 5 on, as the next two */
	NCCL_EVENT_P2P_API = 1 << 10,
	NCCL_EVENT_KERNEL_LAUNCH = 1 << 11,
};

/* ncclFunc_t, by which version 1 names functions. */
enum nccl_function {
	NCCL_FUNCTION_BROADCAST = 0,
	NCCL_FUNCTION_REDUCE = 1,
	NCCL_FUNCTION_ALL_GATHER = 2,
	NCCL_FUNCTION_REDUCE_SCATTER = 3,
	NCCL_FUNCTION_ALL_REDUCE = 4,
	NCCL_FUNCTION_SEND = 6,
	NCCL_FUNCTION_RECV = 7,
};

/* ---- events, with the fields that are read */

struct nccl_collective_v1 {
	const char *communicator_name;
	uint64_t communicator_hash;
	uint64_t sequence; /* number of the function's call on the communicator, from 0 */
	uint8_t function;
	const void *send_buffer;
	void *receive_buffer;
	size_t count;
	int root;
	uint8_t data_type;  /* ncclDataType_t */
	uint32_t reduce_op; /* ncclRedOp_t */
};

struct nccl_p2p_v1 {
	const char *communicator_name;
	uint64_t communicator_hash;
	uint8_t function;
	void *buffer;
	uint8_t data_type;
	size_t count;
	int peer;
};

/* Versions 2 and 3. */
struct nccl_collective_v2 {
	const char *communicator_name;
	uint64_t communicator_hash;
	uint64_t sequence;
	const char *function; /* "AllReduce" */
	const void *send_buffer;
	void *receive_buffer;
	size_t count;
	int root;
	const char *data_type; /* "ncclFloat32" */
};

struct nccl_p2p_v2 {
	const char *communicator_name;
	uint64_t communicator_hash;
	const char *function;
	void *buffer;
	const char *data_type;
	size_t count;
	int peer;
};

/* Version 4 on. */
struct nccl_collective_v4 {
	uint64_t sequence;
	const char *function;
	const void *send_buffer;
	void *receive_buffer;
	size_t count;
	int root;
	const char *data_type;
};

struct nccl_p2p_v4 {
	const char *function;
	void *buffer;
	const char *data_type;
	size_t count;
	int peer;
};

/* Version 5 on. */
struct nccl_collective_api_v5 {
	const char *function;
	size_t count;
	const char *data_type;
	int root;
	void *stream;
	bool captured; /* into a graph */
};

struct nccl_p2p_api_v5 {
	const char *function;
	size_t count;
	const char *data_type;
	void *stream;
	bool captured;
};

struct nccl_kernel_launch_v5 {
	void *stream;
};

/* Versions 1 to 4. */
struct nccl_event_v1 {
	uint8_t type;
	void *parent; /* the handle from startEvent; up to version 4 the group's */
	int rank;
	union {
		struct nccl_collective_v1 collective_v1;
		struct nccl_p2p_v1 p2p_v1;
		struct nccl_collective_v2 collective_v2;
		struct nccl_p2p_v2 p2p_v2;
		struct nccl_collective_v4 collective_v4;
		struct nccl_p2p_v4 p2p_v4;
	};
};

/* Version 5 on. */
struct nccl_event_v5 {
	uint64_t type;
	void *parent; /* for a task: the API event's handle */
	int rank;
	union {
		struct nccl_collective_v4 collective;
		struct nccl_p2p_v4 p2p;
		struct nccl_collective_api_v5 collective_api;
		struct nccl_p2p_api_v5 p2p_api;
		struct nccl_kernel_launch_v5 kernel_launch;
	};
};

/* ---- the exports: ncclProfiler_vN. A context that is NULL is still passed to startEvent, but not to finalize. A
 * handle that is NULL is never stopped; up to version 4 a group whose handle is NULL has no tasks. */

typedef void nccl_logger(int level, unsigned long flags, const char *file, int line,
			 const char *format, ...);

/* Versions 1 to 3. */
struct nccl_profiler_v1 {
	const char *name;
	int (*init)(void **context, int *mask);
	int (*start_event)(void *context, void **handle, const struct nccl_event_v1 *event);
	int (*stop_event)(void *handle);
	int (*record_state)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

struct nccl_profiler_v4 {
	const char *name;
	int (*init)(void **context, int *mask, const char *communicator_name,
		    uint64_t communicator_hash, int nr_nodes, int nr_ranks, int rank,
		    nccl_logger *logger);
	int (*start_event)(void *context, void **handle, const struct nccl_event_v1 *event);
	int (*stop_event)(void *handle);
	int (*record_state)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

/* Version 5 on. */
struct nccl_profiler_v5 {
	const char *name;
	int (*init)(void **context, uint64_t communicator_hash, int *mask,
		    const char *communicator_name, int nr_nodes, int nr_ranks, int rank,
		    nccl_logger *logger);
	int (*start_event)(void *context, void **handle, const struct nccl_event_v5 *event);
	int (*stop_event)(void *handle);
	int (*record_state)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

#endif
