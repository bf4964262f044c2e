/* Samples of a GPU's counters as stretches of its time (resource_stretches.h): short ones, by which the kernels of a
 * loop are told apart. Used by one thread. */
#ifndef RESOURCE_SAMPLES_H
#define RESOURCE_SAMPLES_H

#include "resource_stretches.h"

#include "aggregator/store/database.h"

/* Of one GPU; of more, those of windows that are kept longest. */
#define RESOURCE_SAMPLES_MAX 32768u

/* Makes a stretch without work of each sample that the store has of a device. 0; -EPROTO, -EIO, -ENOMEM. Call
 * resource_stretches_fini() in either case. */
int resource_samples_init(struct resource_stretches *stretches, struct database *database,
			  uint32_t device);

/* Marks stretches as thin at whose time work may run that is not kept at a level: work is kept by its start
 * (kept_log.h), so the begin of a window lacks what runs on from the one before, unless that is kept, too. */
void resource_samples_mark(struct resource_stretches *stretches, uint32_t level);

/* Returns by how much samples and rows of telemetry (resource_stretches_init()) of one GPU differ in a resource, as a
 * share of what the rows have, or of resource_little() if that is more. Compares rows from the first sample to the last
 * one: each with the mean of the samples in it. 0, too: there is nothing to compare. */
double resource_samples_mismatch(const struct resource_stretches *samples,
				 const struct resource_stretches *rows, enum resource resource);

#endif
