/* Distributes the idle time of a device over the activities of a host thread in that time. Pure. */
#ifndef IDLE_FOLD_H
#define IDLE_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/fold_table.h"
#include "proto/host_sample.h"

/* The fold_key.kind of a row of idle time. */
enum idle_cause {
	IDLE_CPU = HOST_SAMPLE_CPU,
	IDLE_OFF_CPU = HOST_SAMPLE_OFF_CPU,
	IDLE_UNKNOWN = HOST_SAMPLE_KINDS, /* the thread's activity is not known */
	IDLE_SHORT,                       /* gaps below IDLE_GAP_MIN_NS (idle_work.h) */
	IDLE_NOT_ON_CPU,                  /* the thread had no recorded wait, and no tick saw it */
	IDLE_CAUSES,
};

/* Beside the cause: the time was in a pause. */
#define IDLE_PAUSE 0x80u

/* A time without work on a device. A launch of that thread ended it. */
struct idle_gap {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint32_t tid;              /* 0: not known */
	bool is_pause;             /* long for the run, as its start (docs/planes.md) */
};

/* Adds the gaps of one process on one device to the table, with exactly their whole time and with process and device
 * in the keys. A row's count is the number of gaps in which it has a part.
 *   - A wait of the thread counts by how much of it lies in the gap.
 *   - The rest goes to the thread's samples on the CPU. A sample in the gap gets at most the period that it stands
 *     for. The next sample after the gap gets at most the part of its period that lies in the gap.
 *   - Time that these leave is IDLE_NOT_ON_CPU if a tick would have come in it, and otherwise IDLE_UNKNOWN. A tick
 *     would have come if the gap's rest is no shorter than a period, it lies between the first and the last sample
 *     on the CPU, and all samples are there.
 * samples are those of the process, of any threads; they are brought into order, and waits that overlap are cut.
 * all_samples: no sample of the process is lost or left out. 0 or -ENOMEM. */
int idle_fold(struct fold_table *table, uint32_t process, uint32_t device,
	      const struct idle_gap *gaps, uint32_t nr_gaps, struct host_sample *samples,
	      uint32_t nr_samples, bool all_samples);

#endif
