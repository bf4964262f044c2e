/* The sums of GPUs, one entry for each UUID: jobs that had the same GPU share it. Pure; one thread at a time uses a
 * table. */
#ifndef DEVICE_TOTALS_H
#define DEVICE_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "idle_reasons.h"

#include "base/hash_index.h"
#include "proto/batch/message.h"

struct metrics_text;

#define DEVICE_TOTALS_MAX      4096u /* entries; the work of further GPUs goes to left_out */
#define DEVICE_TOTALS_TEXT_MAX 64u   /* bytes of a host's name, with the NUL; it is cut */

/* Which GPU it is. The rest is as it was said first. */
struct device_identity {
	uint8_t uuid
		[WIRE_UUID_SIZE]; /* zeroes: not known; then host and index tell it from others */
	int32_t index;            /* physical; MESSAGE_INDEX_NONE: not known */
	bool is_part;             /* a MIG instance, with a UUID of its own */
	char host[DEVICE_TOTALS_TEXT_MAX];
};

/* None of these falls while records are added. */
struct device_sums {
	uint64_t activities;       /* a count */
	uint64_t work_ns;          /* of all durations, also of those at the same time */
	uint64_t busy_ns;          /* the union of activities */
	uint64_t observed_ns;      /* from the first begin to the last end */
	uint64_t late_ns;          /* of work that came too late for busy_ns */
	uint64_t kernels_ns;       /* the union for each process, as the next two */
	uint64_t communication_ns; /* of kernels of NCCL */
	uint64_t computation_ns;   /* of other kernels */
	uint64_t waiting_ns; /* of NCCL's kernels for other ranks, as far as calls are folded */
	struct idle_reason_sums idle;
};

struct device_total {
	struct device_identity identity;
	struct device_sums sums;
};

struct device_totals {                /* zeroed: empty */
	struct device_total *devices; /* owns; in the order of their first appearance */
	uint32_t nr_devices, room;
	struct hash_index index;
	uint64_t left_out; /* activities of GPUs beyond the limit */
};

void device_totals_fini(struct device_totals *totals);

/* Adds to the GPU's sums. 0 or -ENOMEM: unchanged. */
int device_totals_add(struct device_totals *totals, const struct device_identity *identity,
		      const struct device_sums *sums);

/* The same for all GPUs of another table. 0 or -ENOMEM. */
int device_totals_add_all(struct device_totals *totals, const struct device_totals *more);

/* Writes the families of flamegrid_gpu_. */
void device_totals_write(const struct device_totals *totals, struct metrics_text *text);

#endif
