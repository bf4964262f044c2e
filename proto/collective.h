/* Calls of a collective library (NCCL) and the communicators that they are made on, as the kernel's probes see them in
 * processes that can't be entered, or a guest through the library's own profiler interface. Numbers of functions and
 * data types are part of the wire and of the store: append only. Plain data and pure functions; any thread.
 *
 * Facts of NCCL's interface are those of its public header (nccl.h, 2.28) and documentation ("Collective Communication
 * Functions", "Communicator Creation and Management Functions"). */
#ifndef COLLECTIVE_H
#define COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

#define COLLECTIVE_COMMUNICATORS_MAX 65536u /* of one process */
#define COLLECTIVE_NOT_KNOWN         UINT32_MAX

enum communicator_origin {
	COMMUNICATOR_UNIQUE_ID = 0, /* ncclCommInitRank and its relatives */
	COMMUNICATOR_SPLIT = 1,     /* ncclCommSplit */
	COMMUNICATOR_INIT_ALL = 2,  /* ncclCommInitAll: all of its ranks are in this process */
	COMMUNICATOR_MIDDLE = 3,    /* made before anybody looked: its key is 0, not known */
	COMMUNICATOR_SHRINK = 4,    /* ncclCommShrink */
	COMMUNICATOR_PROFILER = 5,  /* as the library's profiler interface tells it */
	COMMUNICATOR_ORIGINS,
};

/* One rank's end of a communicator. What has the same key is the same communicator, in whichever process.
 *
 * Keys are FNV-1a hashes of 64 bits (collective_hash()), 1 in place of 0:
 *	of a unique id: its 128 bytes (of several, ncclCommInitRankScalable: the first);
 *	of a split or a shrink: 16 bytes, little-endian: the parent's key (8), the colour (4), the split's number
 *	  on the parent (4);
 *	of ncclCommInitAll: whatever no other process makes;
 *	of one that the library's profiler interface tells of: its hash there (8 bytes, little-endian). Such a key
 *	  never equals one of the others.
 * What comes from a parent whose key is 0 has key 0. */
struct communicator {
	uint64_t key;             /* 0: not known */
	uint64_t parent_key;      /* 0: none, or not known */
	uint32_t communicator_id; /* the process's, from 1 */
	uint32_t rank,
		nr_ranks; /* in it; COLLECTIVE_NOT_KNOWN: of splits, and where it was not seen being made */
	int32_t color; /* of a split; else 0 */
	/* of a split or shrink: the parent's n-th, from 1, those that this rank is no part of included; else 0 */
	uint32_t split;
	uint8_t origin;      /* enum communicator_origin */
	uint8_t reserved[3]; /* 0 */
};

enum collective_function {
	COLLECTIVE_ALL_REDUCE = 0,
	COLLECTIVE_BROADCAST = 1, /* ncclBroadcast, ncclBcast */
	COLLECTIVE_REDUCE = 2,
	COLLECTIVE_ALL_GATHER = 3,
	COLLECTIVE_REDUCE_SCATTER = 4,
	COLLECTIVE_SEND = 5,
	COLLECTIVE_RECV = 6,
	COLLECTIVE_ALL_TO_ALL = 7,
	COLLECTIVE_GATHER = 8,
	COLLECTIVE_SCATTER = 9,
	/* an outermost group, of no communicator: from its first start's entry to its last end's return */
	COLLECTIVE_GROUP = 10,
	COLLECTIVE_FUNCTIONS,
};

/* ncclDataType_t's numbers. */
enum collective_type {
	COLLECTIVE_INT8 = 0,
	COLLECTIVE_UINT8 = 1,
	COLLECTIVE_INT32 = 2,
	COLLECTIVE_UINT32 = 3,
	COLLECTIVE_INT64 = 4,
	COLLECTIVE_UINT64 = 5,
	COLLECTIVE_FLOAT16 = 6,
	COLLECTIVE_FLOAT32 = 7,
	COLLECTIVE_FLOAT64 = 8,
	COLLECTIVE_BFLOAT16 = 9,
	COLLECTIVE_FLOAT8_E4M3 = 10,
	COLLECTIVE_FLOAT8_E5M2 = 11,
	COLLECTIVE_TYPES,
	COLLECTIVE_TYPE_NONE = 255, /* of groups, and of what this version does not know */
};

/* ncclRedOp_t's numbers: sum, product, maximum, minimum, average are 0 to 4. */
enum collective_op {
	COLLECTIVE_OP_AVG = 4,
	COLLECTIVE_OP_CUSTOM = 254, /* one that the application has made */
	COLLECTIVE_OP_NONE = 255,   /* the function has none */
};

/* One call. Calls within calls are not seen; calls within a group are, and the group itself after them. */
struct collective {
	uint64_t start_ns;    /* CLOCK_MONOTONIC, of the host call's entry */
	uint64_t duration_ns; /* until its return; above 0 */
	/* of the communicator, over all functions, from 1; 0: the call failed and does not count, or it is a group */
	uint64_t sequence;
	uint64_t function_sequence; /* likewise, of this function on the communicator */
	uint64_t count;             /* elements, as the call was given; of a group: calls in it */
	/* collective_bytes(); of a group 0: those of its calls are not counted twice */
	uint64_t bytes;
	uint64_t group;           /* the thread's n-th outermost group, from 1; 0: none */
	uint64_t stream;          /* the handle; 0: the default stream, or a group */
	uint32_t communicator_id; /* 0: not known, or a group */
	uint32_t tid;             /* in the process's own pid namespace */
	uint32_t peer;     /* root or peer rank; COLLECTIVE_NOT_KNOWN: the function has none */
	uint32_t stack_id; /* stack node id; 0: none */
	/* of the launch that carries it, alone or with others of its group, on tid; 0: not known, or a group */
	uint32_t correlation_id;
	int32_t result;         /* ncclResult_t: 0 success, 7 in progress */
	uint8_t function;       /* enum collective_function */
	uint8_t data_type;      /* enum collective_type */
	uint8_t reduce_op;      /* enum collective_op */
	uint8_t reserved;       /* 0 */
};

#define COLLECTIVE_SUCCESS     0
#define COLLECTIVE_IN_PROGRESS 7

/* FNV-1a, 64 bits: hash is COLLECTIVE_HASH_START, or what came of the bytes before. */
#define COLLECTIVE_HASH_START 0xcbf29ce484222325ull
#define COLLECTIVE_HASH_PRIME 0x100000001b3ull
uint64_t collective_hash(uint64_t hash, const void *bytes, size_t size);

/* The keys of struct communicator. */
uint64_t collective_key(const void *unique_id);
uint64_t collective_split_key(uint64_t parent_key, int32_t color, uint32_t split);

#define COLLECTIVE_UNIQUE_ID_SIZE 128u /* bytes: NCCL_UNIQUE_ID_BYTES */

/* Bytes of an element; 0: not known. */
uint32_t collective_type_size(uint32_t data_type);

/* count elements of the type: what one rank puts in (all_reduce, broadcast, reduce, all_gather, gather, send: all of
 * sendbuff), gets out (reduce_scatter, recv: all of recvbuff), or exchanges with each one (all_to_all, scatter:
 * sendbuff holds as many for each rank). It does not depend on the number of ranks, and is the same on all of them. 0:
 * the type is not known, or it is a group. */
uint64_t collective_bytes(uint32_t function, uint32_t data_type, uint64_t count);

/* "all_reduce", "float32", "sum", "unique id". Static storage; "unknown" where the number is. "": the function has no
 * type, no operation. */
const char *collective_function_name(uint32_t function);
const char *collective_type_name(uint32_t data_type);
const char *collective_op_name(uint32_t reduce_op);
const char *communicator_origin_name(uint32_t origin);

#endif
