/* Defines the events of the probes on a collective library's functions: a sample_event of one of these kinds, whose
 * addresses begin with a struct collective_call. Plain C for both compilers. */
#ifndef COLLECTIVE_EVENT_H
#define COLLECTIVE_EVENT_H

#include <linux/types.h>

/* Values of sample_event.kind, distinct from enum host_sample_kind. */
#define SAMPLE_EVENT_COLLECTIVE   64u /* a call */
#define SAMPLE_EVENT_COMMUNICATOR 65u /* a communicator was made: the call's own fields are 0 */

/* The function that a probe is on, by the number that the probe is given. */
enum collective_site {
	COLLECTIVE_SITE_NONE = 0,
	COLLECTIVE_SITE_ALL_REDUCE,
	COLLECTIVE_SITE_BROADCAST,
	COLLECTIVE_SITE_BCAST,
	COLLECTIVE_SITE_REDUCE,
	COLLECTIVE_SITE_ALL_GATHER,
	COLLECTIVE_SITE_REDUCE_SCATTER,
	COLLECTIVE_SITE_SEND,
	COLLECTIVE_SITE_RECV,
	COLLECTIVE_SITE_ALL_TO_ALL,
	COLLECTIVE_SITE_GATHER,
	COLLECTIVE_SITE_SCATTER,
	COLLECTIVE_SITE_LAST_CALL = COLLECTIVE_SITE_SCATTER,
	COLLECTIVE_SITE_GROUP_START,
	COLLECTIVE_SITE_GROUP_END, /* and ncclGroupSimulateEnd */
	COLLECTIVE_SITE_INIT_RANK, /* and ncclCommInitRankConfig: the same up to the configuration */
	COLLECTIVE_SITE_INIT_SCALABLE,
	COLLECTIVE_SITE_INIT_ALL,
	COLLECTIVE_SITE_SPLIT,
	COLLECTIVE_SITE_SHRINK,
	COLLECTIVE_SITE_DESTROY, /* and ncclCommAbort */
};

struct collective_call {
	/* The communicator: its handle, and the time when it was made or first seen. The time distinguishes it from
	 * earlier ones with the same handle. 0, 0: a group. */
	__u64 handle, made_ns;
	__u64 key, parent_key;
	__u64 sequence, function_sequence, count, group, stream;
	__u32 rank, nr_ranks;
	__s32 color;
	__u32 split;
	__u32 peer;
	__s32 result;
	__u32 data_type; /* the call's argument, as is the next member */
	__u32 reduce_op;
	__u8 origin;
	__u8 function; /* enum collective_function */
	__u8 reserved[6];
};

#define COLLECTIVE_CALL_WORDS 14u /* words of sample_event.addresses */

_Static_assert(sizeof(struct collective_call) == 8 * COLLECTIVE_CALL_WORDS, "collective_call");

#endif
