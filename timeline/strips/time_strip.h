/* The strips of a time (time_strips.h). Plain data. */
#ifndef TIME_STRIP_H
#define TIME_STRIP_H

#include <stdbool.h>
#include <stdint.h>

#include "step_ticks.h"
#include "strip_bins.h"
#include "strip_devices.h"
#include "time_boxes.h"

#include "timeline/trace/timeline_source.h"

#define TIME_STRIPS_MOST 512u    /* devices; further ones are counted */
#define TIME_STRIPS_BINS 1000u   /* of a device at most */
#define TIME_STRIPS_ALL  128000u /* bins of all devices, so that many devices have fewer bins each */

struct time_strip {
	struct strip_device device;
	char *host; /* owns; clean text (clean_text.h) */
	struct strip_bins bins;
};

struct time_strips {
	uint64_t origin_ns;        /* the first event of the log, from which readers count */
	uint64_t first_ns, end_ns; /* of all events, or of the part; on the source's clock */
	bool is_part;
	bool by_launch;         /* readers take the part for that of launches */
	struct strip_axis axis; /* of a part, its first bin may begin before it */
	/* owns; those with GPU work, by rank, host and GPU; of a part also those of processes that have none in it and
	 * were not captured in some of it */
	struct time_strip *strips;
	uint32_t nr_strips;
	/* Devices with GPU work. Of the whole time they are those of the profile's sums: events of processes that have
	 * no strip are not read. */
	uint32_t nr_left_out;
	uint32_t nr_missing; /* nodes whose events are not here, as the profile notes */
	/* Of the processes whose events are read. Of a part, also of the step that runs when it begins, within
	 * TIMELINE_EVENTS_MARKS_NS. */
	struct step_ticks ticks;
	/* of a part: its pieces of work, if they are few; their devices are indexes of strips */
	struct time_boxes boxes;
	struct timeline_counts counts; /* timeline_stretches_count() */
};

#endif
