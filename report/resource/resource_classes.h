/* Which work of a GPU has a class of its own: the kernels and kinds of copies that take the most time. Class 0 is all
 * other work. Used by one thread. */
#ifndef RESOURCE_CLASSES_H
#define RESOURCE_CLASSES_H

#include <stdint.h>

#include "resource_usage.h"

#include "aggregator/core/fold_table.h"
#include "report/profile/profile.h"

#define RESOURCE_CLASSES_SEVERAL UINT32_MAX

/* Chooses the classes of each device from the profile's totals, and adds up their time. (*device_of)[process], from 1
 * on, is the roster's device on which a process worked: 0: on none; RESOURCE_CLASSES_SEVERAL. The caller owns it
 * (free()). 0; -EPROTO, -ENOMEM: *device_of is NULL. */
int resource_classes_choose(struct resource_usage *usage, const struct profile *profile,
			    uint32_t **device_of);

/* Returns the class of a row of GPU work, below RESOURCE_CLASSES. */
uint32_t resource_classes_find(const struct resource_usage_device *device,
			       const struct fold_key *key);

#endif
