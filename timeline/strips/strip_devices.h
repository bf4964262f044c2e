/* Numbers the devices of a profile in the order in which readers look for them: by rank, then by host and GPU. A device
 * that is not described counts as one of its host. Used by one thread. */
#ifndef STRIP_DEVICES_H
#define STRIP_DEVICES_H

#include <stdint.h>

struct profile;
struct roster;

#define STRIP_DEVICES_NO_RANK (-1)
#define STRIP_DEVICES_NO_GPU  (-1)

struct strip_device {
	uint32_t node; /* its host's name: id of a string */
	int32_t gpu;   /* physical index; STRIP_DEVICES_NO_GPU */
	int32_t rank;  /* STRIP_DEVICES_NO_RANK: none, or several */
	int32_t first_rank;
};

struct strip_devices {
	const struct roster *roster;  /* borrowed */
	struct strip_device *devices; /* owns; in order */
	uint32_t *places;             /* owns; by device id, then by host id: index of devices */
	uint32_t nr_devices, nr_known;
};

/* The profile is borrowed until fini. 0 or -ENOMEM. Call strip_devices_fini() in any case. */
int strip_devices_init(struct strip_devices *devices, const struct profile *profile);
void strip_devices_fini(struct strip_devices *devices);

/* Returns the index of the device that a known process calls device_id. */
uint32_t strip_devices_find(const struct strip_devices *devices, uint32_t process_id,
			    uint32_t device_id);

#endif
