/* What NCCL told the plugin of nccl_conformance (nccl_conformance_plugin.c), in order. */
#ifndef NCCL_CONFORMANCE_H
#define NCCL_CONFORMANCE_H

#include <stdint.h>

#define CONFORMANCE_EVENTS_MAX 4096u

struct conformance_event {
	uint64_t hash; /* the communicator's */
	uint64_t sequence, count;
	uint64_t type; /* enum nccl_event_type; of init 0 */
	int64_t tid;
	int rank, peer, captured;
	char function[24], data_type[24];
};

struct conformance_events {
	uint32_t version; /* of the interface that is used; 0: none */
	uint32_t nr;      /* may exceed CONFORMANCE_EVENTS_MAX: what came beyond is missing */
	struct conformance_event list[CONFORMANCE_EVENTS_MAX];
};

#define CONFORMANCE_EVENTS_SYMBOL "nccl_conformance_events"

#endif
