/* The times in which streams and devices were busy, with names for readers. Used by one thread. */
#ifndef REPORT_BUSY_H
#define REPORT_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/counter_sampling.h"
#include "proto/device_telemetry.h"
#include "report/profile/profile.h"

#define REPORT_PRIORITY_NONE INT32_MIN

struct report_busy_row {
	const char *host;        /* clean text (clean_text.h) */
	const char *device_name; /* "": not known */
	int32_t gpu;             /* REPORT_GPU_NONE */
	/* nonzero: the row is of all streams and processes together; pid to stream_id are then 0 */
	int whole_device;
	uint32_t pid, context_id, stream_id;
	int32_t rank;             /* REPORT_RANK_NONE */
	const char *stream_name;  /* the program's; "": none */
	int32_t stream_priority;  /* REPORT_PRIORITY_NONE */
	int stream_default;       /* nonzero: the context's default stream */
	int green;                /* nonzero: the context is a green one */
	uint32_t multiprocessors; /* available to the context; 0: all, or not known */
	uint64_t records;
	uint64_t first_ns, last_ns; /* CUPTI's clock */
	uint32_t nr_parts; /* of a device: parts of a merged profile that have it; else 1 */
	/* Two parts of a merged profile have the device at the same time. Time in which work of both ran, or of
	 * neither, is in the sums twice. */
	bool is_inexact;
	uint64_t busy_ns; /* something ran */
	/* nothing ran, between the first start and the last end; in a merged profile, of each part; in a part of a
	 * profile without uncaptured_ns */
	uint64_t idle_ns;
	uint64_t uncaptured_ns; /* nothing is known: it was between capture windows */
	uint64_t overlap_ns;    /* sum of all durations beyond busy_ns */
	/* records that came too late to be sorted, and their time, which busy_ns lacks */
	uint64_t late, late_ns;
	struct device_telemetry telemetry; /* of a whole device; begin_ns 0: none */
	struct counter_state counters;     /* the same */
};

struct report_busy {
	struct report_busy_row *rows; /* by host, GPU; the whole device first, then its streams */
	uint32_t nr_rows;
	char **texts; /* owns the texts that the rows borrow */
	uint32_t nr_texts;
};

/* 0; -EPROTO: the profile names things that it does not hold; -ENOMEM. On error *busy is NULL. */
int report_busy_create(const struct profile *profile, struct report_busy **busy);
void report_busy_destroy(struct report_busy *busy); /* accepts NULL */

#endif
