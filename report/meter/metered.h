/* What the meters of a profile's GPUs counted (meter.h), and what that depended on. Telemetry gives the amounts
 * (device_telemetry.h). The rates of work come from samples of counters (meter_samples.h) where there are more of
 * them than rows of telemetry. Single pieces of work tell what ran between its readings: all of them, if the profile's
 * timeline is here (event_reader.h), else those that the store keeps (kept_log.h). Used by one thread. */
#ifndef METERED_H
#define METERED_H

#include <stdbool.h>
#include <stdint.h>

#include "meter.h"
#include "meter_fit.h"

#include "aggregator/core/fold_table.h"
#include "report/profile/profile.h"

/* Why the rates of a GPU's work are not fitted; then all its time takes the same. */
enum meter_unfitted {
	METER_FITTED,
	METER_SEVERAL_GPUS, /* a process worked on several, and kept pieces do not name theirs */
	METER_NO_PIECES,    /* of some process no single pieces of work are kept */
	METER_NO_INTERVAL,  /* there was no interval with work between two readings */
};

/* A kernel, or copies of one kind, or memsets. */
struct metered_class {
	uint32_t kind, copy_kind; /* enum record_gpu_kind; of copies */
	uint32_t name_id;         /* of a kernel: string of the catalog */
};

/* One meter of a GPU. */
struct metered_meter {
	uint64_t ns,
		amount; /* between readings; amount is exact, without resets. ns 0: it is not known */
	uint64_t lost_ns; /* observed time in which it was not known, or began anew */
	enum meter_unfitted unfitted;
	struct meter_fit fit;
	/* the mean length of the samples of counters (device_counters.h) over which it is fitted; 0: over telemetry */
	uint64_t sample_ns;
};

struct metered_device {
	uint32_t device;  /* the roster's */
	uint32_t process; /* the first one that has it */
	/* Class 0 is all work without a class of its own; there are nr_classes, at least that one. */
	struct metered_class classes[METER_CLASSES];
	uint32_t nr_classes;
	uint64_t work_ns[METER_CLASSES]; /* of all processes, in totals */
	struct metered_meter meters[METERS];
};

struct metered {
	uint32_t meters; /* those that were asked for: a set */
	struct metered_device
		*devices; /* owns; by device; those of which one of these meters is known */
	uint32_t nr_devices;
};

/* Reads what the store of a loaded profile has of meters, a set. A profile without readings has no device. 0; -EPROTO,
 * -EIO, -ENOMEM: *metered is empty. Call fini() in either case. */
int metered_init(struct metered *metered, uint32_t meters, const struct profile *profile,
		 const char *store_path);
void metered_fini(struct metered *metered);

/* Finds the device of a row of GPU work; NULL: none of its meters is known. */
struct metered_device *metered_find(const struct metered *metered, const struct profile *profile,
				    const struct fold_key *key);

/* Returns the class of a row of GPU work, below METER_CLASSES. */
uint32_t metered_class(const struct metered_device *device, const struct fold_key *key);

#endif
