/* How much of each resource the GPUs of a profile used (resource.h), and what that depended on. Telemetry gives the
 * amounts (device_telemetry.h). What work took of them is fitted (resource_rates.h) to the pieces of work between
 * readings (resource_work.h). Used by one thread. */
#ifndef RESOURCE_USAGE_H
#define RESOURCE_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "resource.h"
#include "resource_fit.h"

#include "aggregator/core/fold_table.h"
#include "report/profile/profile.h"

struct roster_process;

/* Why the rates of a GPU's work are not fitted; then all its time takes the same. */
enum resource_unfitted {
	RESOURCE_FITTED,
	RESOURCE_SEVERAL_GPUS, /* a process worked on several, and kept pieces do not name theirs */
	RESOURCE_NO_PIECES, /* of some process, or of some interval, too few single pieces of work are kept */
	RESOURCE_NO_INTERVAL, /* there was no interval of which work took a hundredth */
};

/* A kernel, or copies of one kind, or memsets. */
struct resource_usage_class {
	uint32_t kind, copy_kind; /* enum record_gpu_kind; of copies */
	uint32_t name_id;         /* of a kernel: string of the catalog */
};

/* One resource of a GPU. */
struct resource_usage_sum {
	uint64_t ns,
		amount; /* between readings; amount is exact, without resets. ns 0: it is not known */
	uint64_t lost_ns; /* observed time in which it was not known, or began anew */
	enum resource_unfitted unfitted;
	struct resource_fit fit;
	/* the mean length of the samples of counters (counter_sampling.h) over which it is fitted; 0: over telemetry */
	uint64_t sample_ns;
	double sample_mismatch; /* by how much those differ from telemetry (resource_samples_mismatch()) */
};

struct resource_usage_device {
	uint32_t device;  /* the roster's */
	uint32_t process; /* the first one that has it */
	/* Class 0 is all work without a class of its own; there are nr_classes, at least that one. */
	struct resource_usage_class classes[RESOURCE_CLASSES];
	uint32_t nr_classes;
	uint64_t work_ns[RESOURCE_CLASSES]; /* of all processes, in totals */
	struct resource_usage_sum resources[RESOURCES];
};

struct resource_usage {
	uint32_t resources; /* those that were asked for: a set */
	struct resource_usage_device
		*devices; /* owns; by device; those of which one of these resources is known */
	uint32_t nr_devices;
};

/* Makes the devices with their amounts, without classes of work and rates (resource_rates_make()). A profile without
 * readings has no device. 0 or -ENOMEM. Call fini() in either case. */
int resource_usage_init(struct resource_usage *usage, uint32_t resources,
			const struct profile *profile);
void resource_usage_fini(struct resource_usage *usage);

/* Finds the device of a row of GPU work; NULL: none of its resources is known. */
struct resource_usage_device *resource_usage_find(const struct resource_usage *usage,
						  const struct profile *profile,
						  const struct fold_key *key);

/* Finds a device by the roster's id; NULL: none of its resources is known. */
struct resource_usage_device *resource_usage_by_id(const struct resource_usage *usage,
						   uint32_t device);

/* Returns whether rows of a kind are work of GPUs. */
bool resource_usage_is_work(uint32_t kind);

/* Returns whether a process has one of the roster's devices. */
bool resource_usage_has(const struct roster_process *process, uint32_t device);

#endif
