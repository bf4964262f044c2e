#include "nvtx_payload.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define PLACES "Source locations" /* openxla/xla, KernelAnnotation::NvtxSchemaId() */

struct schema {
	_Atomic uint64_t id; /* 0: free, or being written */
	uint64_t offset;     /* bytes from the payload's begin to the handle */
};

static struct schema schemas[NVTX_PAYLOAD_SCHEMAS_MAX];
static _Atomic uint64_t nr_ids;
static _Atomic uint32_t nr_schemas;

static bool has(const struct nvtx_schema *schema, unsigned int field)
{
	return schema->field_mask >> field & 1;
}

static bool find_places(const struct nvtx_schema *schema, uint64_t *offset)
{
	if (!has(schema, NVTX_ABI_SCHEMA_ENTRIES) || !has(schema, NVTX_ABI_SCHEMA_NR_ENTRIES))
		return false;
	for (size_t i = 0; i < schema->nr_entries; i++) {
		const struct nvtx_schema_entry *entry = &schema->entries[i];

		if (entry->type != NVTX_ABI_ENTRY_STRING_HANDLE || entry->flags || !entry->name ||
		    strcmp(entry->name, PLACES) != 0)
			continue;
		*offset = entry->offset;
		return true;
	}
	return false;
}

static uint64_t register_schema(const void *domain, const struct nvtx_schema *schema)
{
	uint64_t id, offset;
	uint32_t place;

	(void)domain;
	if (!schema)
		return 0;
	id = has(schema, NVTX_ABI_SCHEMA_ID) && schema->schema_id
		     ? schema->schema_id
		     : NVTX_ABI_SCHEMA_DYNAMIC + atomic_fetch_add(&nr_ids, 1);
	if (!find_places(schema, &offset))
		return id;
	place = atomic_fetch_add(&nr_schemas, 1);
	if (place < NVTX_PAYLOAD_SCHEMAS_MAX) {
		schemas[place].offset = offset;
		atomic_store(&schemas[place].id, id);
	}
	return id;
}

int nvtx_payload_take_over(const struct nvtx_extension *extension)
{
	if (extension->module_id != NVTX_ABI_EXTENSION_PAYLOAD || extension->nr_segments == 0 ||
	    extension->segments[0].nr_slots == 0)
		return 0;
	extension->segments[0].slots[NVTX_ABI_REGISTER_SCHEMA] = (intptr_t)register_schema;
	return 1;
}

static const void *places_of(const struct nvtx_payload *payload)
{
	const void *handle;

	if (!payload->data)
		return NULL;
	for (uint32_t i = 0; i < NVTX_PAYLOAD_SCHEMAS_MAX; i++) {
		uint64_t id = atomic_load_explicit(&schemas[i].id, memory_order_acquire);

		if (id == 0 || id != payload->schema_id)
			continue;
		if (payload->size < sizeof(handle) ||
		    payload->size - sizeof(handle) < schemas[i].offset)
			return NULL;
		memcpy(&handle, (const char *)payload->data + schemas[i].offset, sizeof(handle));
		return handle;
	}
	return NULL;
}

const void *nvtx_payload_places(const struct nvtx_attributes *attributes)
{
	const struct nvtx_payload *payloads;

	if (attributes->payload_type != NVTX_ABI_PAYLOAD_EXTENDED || !attributes->payload)
		return NULL;
	payloads = (const struct nvtx_payload *)(uintptr_t)attributes->payload;
	/* The number of payloads, in a field that was reserved. */
	for (int32_t i = 0; i < attributes->reserved; i++) {
		const void *handle = places_of(&payloads[i]);

		if (handle)
			return handle;
	}
	return NULL;
}
