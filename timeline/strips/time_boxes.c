#include "time_boxes.h"

#include <errno.h>
#include <stdlib.h>

#include "strip_part.h"

#include "base/array.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_device(const void *a, const void *b)
{
	const struct time_box *left = a, *right = b;
	int order = COMPARE(left->device, right->device);

	order = order ? order : COMPARE(left->start_ns, right->start_ns);
	order = order ? order : COMPARE(left->end_ns, right->end_ns);
	order = order ? order : COMPARE(left->key.process_id, right->key.process_id);
	return order ? order : COMPARE(left->key.stream_id, right->key.stream_id);
}

static struct time_box box_of(const struct timeline_events *events,
			      const struct timeline_work *work, uint32_t device,
			      struct nccl_names *names, const struct nccl_waits *nccl)
{
	struct time_box box = {
		.key = timeline_events_key(events, work),
		.start_ns = work->start_ns,
		.end_ns = work->end_ns,
		.launch_ns = work->launch == TIMELINE_SOURCE_NONE
				     ? 0
				     : events->launches[work->launch].time_ns,
		.device = device,
	};

	box.part = (uint8_t)strip_part_of(names, nccl, work, &box.wait_ns);
	return box;
}

int time_boxes_init(struct time_boxes *boxes, const struct timeline_events *events,
		    uint64_t from_ns, uint64_t to_ns, const struct strip_devices *devices,
		    uint32_t devices_most, struct nccl_names *names, const struct nccl_waits *nccl)
{
	*boxes = (struct time_boxes){0};
	for (uint32_t i = 0; i < events->nr_work; i++) {
		const struct timeline_work *work = &events->work[i];

		if (work->kind == RECORD_GPU_SYNC || !time_boxes_has_part(work, from_ns, to_ns))
			continue;
		const uint32_t device =
			strip_devices_find(devices, work->process_id, work->device_id);
		if (device >= devices_most)
			continue;
		if (boxes->nr_boxes >= TIME_BOXES_MOST) {
			time_boxes_fini(boxes);
			boxes->are_too_many = true;
			return 0;
		}
		if (array_reserve(&boxes->boxes, &boxes->room, boxes->nr_boxes + 1ull,
				  sizeof(*boxes->boxes)))
			return -ENOMEM;
		boxes->boxes[boxes->nr_boxes++] = box_of(events, work, device, names, nccl);
	}
	if (boxes->nr_boxes)
		qsort(boxes->boxes, boxes->nr_boxes, sizeof(*boxes->boxes), by_device);
	return 0;
}

void time_boxes_fini(struct time_boxes *boxes)
{
	free(boxes->boxes);
	*boxes = (struct time_boxes){0};
}
