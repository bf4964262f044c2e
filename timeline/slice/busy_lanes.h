/* The busy times of some processes' GPU work: the same timelines as session_events_busy() makes, without a look-up for
 * each. Processes that use one device are in one object. Part of the slice; one thread. */
#ifndef BUSY_LANES_H
#define BUSY_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/roster.h"
#include "timeline/trace/timeline_source.h"

/* Streams of a process, and CUDA ordinals. Of more, busy_lanes_add() says -E2BIG. */
#define BUSY_LANES_STREAMS 1024u
#define BUSY_LANES_DEVICES RECORD_DEVICES_MAX

struct busy_device { /* of a process */
	uint32_t device_id;
	uint32_t shared; /* the store's id, if several processes describe the device; else 0 */
	/* owns, until they are in a table; NULL: no work of the kind began in the time */
	struct stream_timeline *work, *computation, *communication, *kernels;
};

struct busy_stream {
	uint32_t device_id, context_id, stream_id;
	uint32_t device;                  /* index of the process's devices */
	struct stream_timeline *timeline; /* owns, until it is in a table */
};

struct busy_process {
	struct busy_device *devices; /* owns, as the next one */
	struct busy_stream *streams;
	uint32_t nr_devices, room_devices, nr_streams, room_streams;
	uint32_t last; /* stream */
};

struct busy_lanes {
	const struct roster *roster;        /* borrowed */
	uint32_t intervals_max;             /* of each timeline */
	struct busy_process *processes;     /* owns; [id - 1] */
	struct stream_timeline **timelines; /* owns; [device - 1]: of those of several processes */
	uint32_t *users;                    /* owns; [device - 1]: processes that describe it */
	uint32_t nr_processes, nr_devices;
};

/* intervals_max: as that of stream_timeline_create(). Few intervals are quick to add to, but records that are out of
 * order by more are late. roster is borrowed until fini. 0 or -ENOMEM. Call busy_lanes_fini() in either case. */
int busy_lanes_init(struct busy_lanes *lanes, const struct roster *roster, uint32_t intervals_max);
void busy_lanes_fini(struct busy_lanes *lanes);

/* work: of a known process. Waits count nowhere. 0; -E2BIG; -ERANGE: the order of the records matters,
 * as one is late (stream_timeline.h); -ENOMEM. */
int busy_lanes_add(struct busy_lanes *lanes, const struct timeline_work *work, bool is_nccl);

/* Fetches the timelines of work that is added soon into the processor's cache, and with `ends`, once these are there,
 * the places of their next intervals. Changes nothing. */
void busy_lanes_prefetch(const struct busy_lanes *lanes, const struct timeline_work *work,
			 bool ends);

/* Notes that work of an earlier time runs on in this one. 0; -E2BIG; -ENOMEM. */
int busy_lanes_note(struct busy_lanes *lanes, const struct timeline_work *work);

/* The timelines of a device, in this order. */
enum busy_kind { BUSY_WORK, BUSY_COMPUTATION, BUSY_COMMUNICATION, BUSY_KERNELS, BUSY_KINDS };

/* Returns where the device has its timeline of the kind. */
struct stream_timeline **busy_device_timeline(struct busy_device *device, enum busy_kind kind);

/* Begins a cell of time (stream_timeline.h) in all timelines. */
void busy_lanes_begin_cell(struct busy_lanes *lanes, uint64_t at_ns);

/* Where and when sums of a cell are. */
struct busy_place {
	uint32_t process_id, device_id, context_id, stream_id;
	uint64_t at_ns, to_ns; /* the cell's begin and end */
};

/* Add a cell in place of its records: to a stream's timeline; to those of a device, where kinds without records have
 * none; to that of a device that several processes use, by the store's id. Errors as busy_lanes_add() and
 * stream_timeline_add_cell(); then the sums are not whole. */
int busy_lanes_add_stream_cell(struct busy_lanes *lanes, const struct busy_place *place,
			       const struct timeline_cell *cell);
int busy_lanes_add_device_cell(struct busy_lanes *lanes, const struct busy_place *place,
			       const struct timeline_cell cells[static BUSY_KINDS]);
int busy_lanes_add_shared_cell(struct busy_lanes *lanes, const struct busy_place *place,
			       const struct timeline_cell *cell);

/* Closes all timelines, because nothing more comes. */
void busy_lanes_close(struct busy_lanes *lanes);

/* Moves all timelines into a table that has none of them. 0 or -ENOMEM. */
int busy_lanes_put(struct busy_lanes *lanes, struct timeline_table *table);

#endif
