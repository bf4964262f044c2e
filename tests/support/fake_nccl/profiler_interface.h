/* NCCL's interface to profiler plugins, versions 1 to 7, as far as fake NCCL speaks it: what NCCL 2.23 to 2.30 hand to
 * a plugin (NVIDIA/nccl, src/include/plugin/profiler). Written out here on its own, so that a plugin's idea of it is
 * held against another one. */
#ifndef PROFILER_INTERFACE_H
#define PROFILER_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum told_type {
	TOLD_GROUP = 1,
	TOLD_COLLECTIVE = 2,
	TOLD_P2P = 4,
	TOLD_PROXY_OP = 8,
	TOLD_PROXY_STEP = 16,
	TOLD_PROXY_CONTROL = 32,
	TOLD_KERNEL_CHANNEL = 64,
	TOLD_NET_PLUGIN = 128,
	TOLD_GROUP_API = 256,
	TOLD_COLLECTIVE_API = 512,
	TOLD_P2P_API = 1024,
	TOLD_KERNEL_LAUNCH = 2048,
};

/* Versions 1 to 4 begin with a byte, later ones with eight. */
struct told_head_1 {
	uint8_t type;
	void *parent;
	int rank;
};

struct told_head_5 {
	uint64_t type;
	void *parent;
	int rank;
};

struct told_collective_1 {
	const char *name;
	uint64_t hash, sequence;
	uint8_t function;
	const void *from;
	void *to;
	size_t count;
	int root;
	uint8_t type;
	uint32_t op;
	size_t traffic;
	uint8_t channels, warps, algorithm, protocol;
	int collnet, nvls;
};

struct told_p2p_1 {
	const char *name;
	uint64_t hash;
	uint8_t function;
	void *buffer;
	uint8_t type;
	size_t count;
	int peer;
};

/* Of version 3; version 2 has eight bytes more after the type. */
struct told_collective_2 {
	const char *name;
	uint64_t hash, sequence;
	const char *function;
	const void *from;
	void *to;
	size_t count;
	int root;
	const char *type;
	size_t traffic[3]; /* and what nobody reads */
};

struct told_p2p_2 {
	const char *name;
	uint64_t hash;
	const char *function;
	void *buffer;
	const char *type;
	size_t count;
	int peer;
};

struct told_collective_4 {
	uint64_t sequence;
	const char *function;
	const void *from;
	void *to;
	size_t count;
	int root;
	const char *type;
	uint8_t channels, warps;
	const char *algorithm, *protocol;
	void *group; /* version 5 on */
};

struct told_p2p_4 {
	const char *function;
	void *buffer;
	const char *type;
	size_t count;
	int peer;
	uint8_t channels;
	void *group; /* version 5 on */
};

struct told_collective_api {
	const char *function;
	size_t count;
	const char *type;
	int root;
	void *stream;
	bool captured;
};

struct told_p2p_api {
	const char *function;
	size_t count;
	const char *type;
	void *stream;
	bool captured;
};

struct told_group_api {
	bool captured;
	int depth;
};

union told_body {
	struct told_collective_1 collective_1;
	struct told_p2p_1 p2p_1;
	struct told_collective_2 collective_2;
	struct told_p2p_2 p2p_2;
	struct told_collective_4 collective_4;
	struct told_p2p_4 p2p_4;
	struct told_group_api group_api;
	struct told_collective_api collective_api;
	struct told_p2p_api p2p_api;
	void *launch_stream;
};

struct told_event_1 {
	struct told_head_1 head;
	union told_body body;
};

struct told_event_5 {
	struct told_head_5 head;
	union told_body body;
};

typedef void told_logger(int level, unsigned long flags, const char *file, int line,
			 const char *format, ...);

/* ncclProfiler_vN. init differs: versions 1 to 3, 4, and from 5 on. */
struct told_plugin {
	const char *name;
	union {
		int (*init_1)(void **context, int *mask);
		int (*init_4)(void **context, int *mask, const char *name, uint64_t hash, int nodes,
			      int ranks, int rank, told_logger *logger);
		int (*init_5)(void **context, uint64_t hash, int *mask, const char *name, int nodes,
			      int ranks, int rank, told_logger *logger);
	};
	int (*start)(void *context, void **handle, void *event);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

#endif
