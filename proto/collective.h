/* Calls of a collective library (NCCL) and the communicators on which they are made. A guest sees them through the
 * library's profiler interface; uprobes see them in processes that have no guest. The numbers of functions and data
 * types are part of the wire and of the store: append only. Plain data and pure functions; any thread.
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
	COMMUNICATOR_MIDDLE = 3,    /* made before recording began: its key is 0, not known */
	COMMUNICATOR_SHRINK = 4,    /* ncclCommShrink */
	COMMUNICATOR_PROFILER = 5,  /* known from the library's profiler interface */
	COMMUNICATOR_ORIGINS,
};

/* One rank's end of a communicator. Ends with the same key, in all processes, belong to the same communicator.
 *
 * A key is the 64-bit FNV-1a hash (collective_hash()) of the bytes below; a hash of 0 becomes 1. A communicator whose
 * parent has key 0 has key 0.
 *   - made with a unique id: its 128 bytes; with several (ncclCommInitRankScalable): the first one's;
 *   - a split or a shrink: 16 bytes, little-endian: the parent's key (8), the colour (4), the split's number on the
 *     parent (4);
 *   - ncclCommInitAll: bytes that no other process makes;
 *   - known from the library's profiler interface: the library's own hash (8 bytes, little-endian). Such a key never
 *     equals one of the other kinds. */
struct communicator {
	uint64_t key;             /* 0: not known */
	uint64_t parent_key;      /* 0: none, or not known */
	uint32_t communicator_id; /* the process's, from 1 */
	/* in the communicator; COLLECTIVE_NOT_KNOWN: for splits, and where its making was not seen */
	uint32_t rank, nr_ranks;
	int32_t color; /* of a split; else 0 */
	/* The number of the split or shrink on its parent, from 1. It counts those without this rank, too. Else 0. */
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
	/* an outermost group, without a communicator: from the entry of ncclGroupStart to the return of ncclGroupEnd */
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
	COLLECTIVE_TYPE_NONE = 255, /* groups, and types that this version does not know */
};

/* ncclRedOp_t's numbers: sum, product, maximum, minimum, average are 0 to 4. */
enum collective_op {
	COLLECTIVE_OP_AVG = 4,
	COLLECTIVE_OP_CUSTOM = 254, /* the application has made it */
	COLLECTIVE_OP_NONE = 255,   /* the function has no operation */
};

/* One call. The calls of a group come one by one, and the group itself comes after them. Calls that NCCL makes within
 * a call are not recorded. */
struct collective {
	uint64_t start_ns;    /* CLOCK_MONOTONIC, of the host call's entry */
	uint64_t duration_ns; /* until its return; above 0 */
	/* the call's number on the communicator, over all functions, from 1; 0: the call failed, or it is a group */
	uint64_t sequence;
	/* The same over this function alone. Sends and receives that the library's profiler interface told are counted
	 * for each peer: the n-th send to a rank is the n-th receive there. 0 also: not counted. */
	uint64_t function_sequence;
	uint64_t count;             /* elements, as in the call's argument; a group: the calls in it */
	/* collective_bytes(); a group: 0, so that the bytes of its calls count once */
	uint64_t bytes;
	uint64_t group;           /* number of the thread's outermost group, from 1; 0: none */
	uint64_t stream;          /* the handle; 0: the default stream, or a group */
	uint32_t communicator_id; /* 0: not known, or a group */
	uint32_t tid;             /* in the process's own pid namespace */
	uint32_t peer;     /* root or peer rank; COLLECTIVE_NOT_KNOWN: the function has none */
	uint32_t stack_id; /* stack node id; 0: none */
	/* of the launch, made by tid, of the kernel that does this call's work (perhaps that of its whole group); 0:
	 * not known, or a group */
	uint32_t correlation_id;
	int32_t result;         /* ncclResult_t: 0 success, 7 in progress */
	uint8_t function;       /* enum collective_function */
	uint8_t data_type;      /* enum collective_type */
	uint8_t reduce_op;      /* enum collective_op */
	uint8_t reserved;       /* 0 */
};

#define COLLECTIVE_SUCCESS     0
#define COLLECTIVE_IN_PROGRESS 7

/* FNV-1a, 64 bits: hash is COLLECTIVE_HASH_START, or the result for the bytes before. */
#define COLLECTIVE_HASH_START 0xcbf29ce484222325ull
#define COLLECTIVE_HASH_PRIME 0x100000001b3ull
uint64_t collective_hash(uint64_t hash, const void *bytes, size_t size);

/* The key of struct communicator. */
uint64_t collective_key(const void *unique_id);

#define COLLECTIVE_UNIQUE_ID_SIZE 128u /* bytes: NCCL_UNIQUE_ID_BYTES */

/* Bytes of an element; 0: not known. */
uint32_t collective_type_size(uint32_t data_type);

/* Bytes of count elements of the type. It is the same on all ranks, and does not depend on their number. It stands for
 *   - the bytes that one rank sends: all_reduce, broadcast, reduce, all_gather, gather, send (all of sendbuff);
 *   - the bytes that one rank receives: reduce_scatter, recv (all of recvbuff);
 *   - the bytes that a rank exchanges with each other rank: all_to_all, scatter.
 * 0: the type is not known, or it is a group. */
uint64_t collective_bytes(uint32_t function, uint32_t data_type, uint64_t count);

/* "all_reduce", "float32", "sum", "unique id". Static storage. "unknown": no such number. "": COLLECTIVE_TYPE_NONE,
 * COLLECTIVE_OP_NONE. */
const char *collective_function_name(uint32_t function);
const char *collective_type_name(uint32_t data_type);
const char *collective_op_name(uint32_t reduce_op);
const char *communicator_origin_name(uint32_t origin);

#endif
