/* CUPTI's records of contexts and streams: at their creation, and of those that there are on request.
 * Any thread. */
#ifndef ACTIVITY_RESOURCE_H
#define ACTIVITY_RESOURCE_H

#include <stdint.h>

struct sim_context;
struct sim_stream;

/* CUPTI_ACTIVITY_KIND_GREEN_CONTEXT, which the headers of 13.0 don't have. */
#define ACTIVITY_KIND_GREEN_CONTEXT 59u

struct activity_green {
	uint32_t kind;
	uint32_t context_id, parent_id, device_id;
	uint32_t tpcs;
	uint16_t multiprocessors;
	uint8_t tpc_mask_size, padding;
	uint32_t tpc_mask[32];
};

/* The record of what was created, if its kind is enabled. cbid: of CUPTI's resource domain. */
void activity_resource_created(uint32_t cbid, struct sim_context *context,
			       struct sim_stream *stream);

/* Records of what there is of this kind and no program made; of a kind that is no resource, none. */
void activity_resource_dump(uint32_t kind);

#endif
