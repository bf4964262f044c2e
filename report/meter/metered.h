/* The energy of a profile's GPUs, and what their power depended on. The board's counter gives the energy
 * (device_telemetry.h). Single pieces of work tell what ran between its readings: all of them, if the profile's
 * timeline is here (event_reader.h), else those that the store keeps (kept_log.h). Used by one thread. */
#ifndef METERED_H
#define METERED_H

#include <stdbool.h>
#include <stdint.h>

#include "meter_fit.h"

#include "aggregator/core/fold_table.h"
#include "report/profile/profile.h"

/* Why the power of a GPU's work is not fitted; then all its time takes the same. */
enum meter_unfitted {
	METER_FITTED,
	METER_SEVERAL_GPUS, /* a process worked on several, and kept pieces do not name theirs */
	METER_NO_PIECES,    /* of some process no single pieces of work are kept */
	METER_NO_INTERVAL,  /* there was no interval with work between two readings */
};

struct metered_device {
	uint32_t device;  /* the roster's */
	uint32_t process; /* the first one that has it */
	uint64_t ns,
		mj; /* between readings of the counter; mj is its exact difference, without resets */
	uint64_t lost_ns; /* observed time in which the counter was not known, or began anew */
	enum meter_unfitted unfitted;
	/* Class 0 is all work without a class of its own. The others are kernels: strings of the catalog; 0: none. */
	uint32_t names[METER_CLASSES];
	uint64_t work_ns[METER_CLASSES]; /* of all processes, in totals */
	struct meter_fit fit;
};

struct metered {
	struct metered_device *devices; /* owns; by device; those whose counter is known */
	uint32_t nr_devices;
};

/* Reads what the store of a loaded profile has. A profile without readings of the counter has no device. 0; -EPROTO,
 * -EIO, -ENOMEM: *energy is empty. Call fini() in either case. */
int metered_init(struct metered *energy, const struct profile *profile, const char *store_path);
void metered_fini(struct metered *energy);

/* Finds the device of a row of GPU work; NULL: its energy is not known. */
struct metered_device *metered_find(const struct metered *energy, const struct profile *profile,
				  const struct fold_key *key);

/* Returns the class of a row of GPU work, below METER_CLASSES. */
uint32_t metered_class(const struct metered_device *device, const struct fold_key *key);

#endif
