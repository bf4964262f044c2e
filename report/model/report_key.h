/* What the key of a row of totals names in its collection. Pure; used by one thread. */
#ifndef REPORT_KEY_H
#define REPORT_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "report_kind.h"
#include "report_tree.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"

/* Returns whether the collection holds everything that the key names. */
static inline bool report_key_is_held(const struct collection *collection,
				      const struct fold_key *key)
{
	const struct catalog_size size = catalog_size(collection->catalog);

	return roster_process(collection->roster, key->process_id) && key->stack_id <= size.nodes &&
	       key->capture_stack_id <= size.nodes && key->name_id <= size.strings &&
	       key->kind < REPORT_KINDS;
}

/* Returns the physical index of its GPU on its host; REPORT_GPU_NONE: not known. The process is the key's. */
static inline int32_t report_key_gpu(const struct roster *roster,
				     const struct roster_process *process,
				     const struct fold_key *key)
{
	const struct roster_device *device = roster_device(
		roster, key->kind == REPORT_KIND_IDLE || report_kind_is_resource(key->kind)
				? key->device_id
				: roster_process_device(process, key->device_id));

	return device && device->index >= 0 ? device->index : REPORT_GPU_NONE;
}

#endif
