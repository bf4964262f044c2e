/* The single pieces of GPU work of a short time, for readers that have come that near. Used by one thread. */
#ifndef TIME_BOXES_H
#define TIME_BOXES_H

#include "strip_devices.h"

#include "timeline/trace/nccl_names.h"
#include "timeline/trace/nccl_waits.h"
#include "timeline/trace/timeline_events.h"

#define TIME_BOXES_MOST 2000u /* of a longer time there are none */

struct time_box { /* a piece of GPU work, as a whole */
	struct fold_key key;
	uint64_t start_ns, end_ns;
	uint64_t wait_ns;   /* as of strip_part_of() */
	uint64_t launch_ns; /* 0: its launch is not known */
	uint32_t device;    /* index of strip_devices */
	uint8_t part;       /* enum strip_part */
};

struct time_boxes {
	struct time_box *boxes; /* owns; by device, then in the order of their starts */
	uint32_t nr_boxes, room;
	bool are_too_many; /* then there is none */
};

/* Whether work has a part in [from_ns, to_ns). */
static inline bool time_boxes_has_part(const struct timeline_work *work, uint64_t from_ns,
				       uint64_t to_ns)
{
	return work->start_ns < to_ns && (work->end_ns > from_ns || work->start_ns >= from_ns);
}

/* Takes the work with a part in [from_ns, to_ns) of the first devices_most devices. 0 or -ENOMEM. Call
 * time_boxes_fini() in any case. */
int time_boxes_init(struct time_boxes *boxes, const struct timeline_events *events,
		    uint64_t from_ns, uint64_t to_ns, const struct strip_devices *devices,
		    uint32_t devices_most, struct nccl_names *names, const struct nccl_waits *nccl);
void time_boxes_fini(struct time_boxes *boxes);

#endif
