#include "merge_block.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/store/store_schema.h"

static int map_node(const struct merge_map *map, uint32_t *id)
{
	return merge_map_replace(map, MERGE_KIND_NODE, id);
}

static int map_string(const struct merge_map *map, uint32_t *id)
{
	return merge_map_replace(map, MERGE_KIND_STRING, id);
}

/* Room for what a block of size bytes may hold. Each element takes a byte at least. *elements: NULL without room. */
static int reserve(void **elements, size_t element_size, uint32_t count, uint32_t size)
{
	*elements = NULL;
	if (count > size)
		return -EPROTO;
	*elements = calloc(count + 1ull, element_size);
	return *elements ? 0 : -ENOMEM;
}

static int map_launches(const uint8_t *bytes, uint32_t size, uint32_t count,
			const struct merge_map *map, struct block_code *code)
{
	void *elements;
	int error = reserve(&elements, sizeof(struct launch), count, size);
	struct launch *launches = elements;

	if (!error && block_decode_launches(bytes, size, launches, count))
		error = -EPROTO;
	for (uint32_t i = 0; i < count && !error; i++)
		error = map_node(map, &launches[i].stack_id);
	if (!error)
		error = block_code_launches(code, launches, count);
	free(elements);
	return error;
}

static int map_records(const uint8_t *bytes, uint32_t size, uint32_t count,
		       const struct merge_map *map, struct block_code *code)
{
	void *elements;
	int error = reserve(&elements, sizeof(struct waiting_records_entry), count, size);
	struct waiting_records_entry *records = elements;

	if (!error && block_decode_records(bytes, size, records, count))
		error = -EPROTO;
	for (uint32_t i = 0; i < count && !error; i++) {
		struct gpu_record *record = &records[i].record;

		error = map_string(map, &record->name_id);
		if (!error)
			error = map_node(map, &record->capture_stack_id);
	}
	if (!error)
		error = block_code_records(code, records, count);
	free(elements);
	return error;
}

static int map_slots(const uint8_t *bytes, uint32_t size, uint32_t count,
		     const struct merge_map *map, struct block_code *code)
{
	void *elements;
	int error = reserve(&elements, sizeof(struct memory_slot), count, size);
	struct memory_slot *slots = elements;

	if (!error && block_decode_slots(bytes, size, slots, count))
		error = -EPROTO;
	for (uint32_t i = 0; i < count && !error; i++)
		error = map_node(map, &slots[i].event.stack_id);
	if (!error)
		error = block_code_slots(code, slots, count);
	free(elements);
	return error;
}

int merge_block_pending(const uint8_t *bytes, uint32_t size, uint32_t count, uint32_t kind,
			const struct merge_map *map, struct block_code *code)
{
	switch (kind) {
	case CORRELATOR_BLOCK_LAUNCHES:
		return map_launches(bytes, size, count, map, code);
	case CORRELATOR_BLOCK_RECORDS:
		return map_records(bytes, size, count, map, code);
	case STORE_PENDING_MEMORY:
		return map_slots(bytes, size, count, map, code);
	default:
		return -EPROTO;
	}
}

int merge_block_samples(const uint8_t *bytes, uint32_t size, uint32_t count,
			const struct merge_map *map, struct block_code *code)
{
	void *elements;
	int error = reserve(&elements, sizeof(struct host_sample), count, size);
	struct host_sample *samples = elements;

	if (!error && block_decode_samples(bytes, size, samples, count))
		error = -EPROTO;
	for (uint32_t i = 0; i < count && !error; i++) {
		error = map_node(map, &samples[i].stack_id);
		if (!error)
			error = map_string(map, &samples[i].name_id);
	}
	if (!error)
		error = block_code_samples(code, samples, count);
	free(elements);
	return error;
}

int merge_block_work(const uint8_t *bytes, uint32_t size, uint32_t count,
		     const struct merge_map *map, struct block_code *code)
{
	void *elements;
	int error = reserve(&elements, sizeof(struct idle_work), count, size);
	struct idle_work *work = elements;

	if (!error && block_decode_work(bytes, size, work, count))
		error = -EPROTO;
	for (uint32_t i = 0; i < count && !error; i++)
		error = merge_map_replace(map, MERGE_KIND_PROCESS, &work[i].process_id);
	if (!error)
		error = block_code_work(code, work, count);
	free(elements);
	return error;
}

int merge_block_processes(const uint8_t *bytes, uint32_t size, uint32_t count,
			  const struct merge_map *map, struct block_code *code)
{
	void *elements;
	int error = reserve(&elements, sizeof(uint32_t), count, size);
	uint32_t *ids = elements;

	if (!error && block_decode_ids(bytes, size, ids, count))
		error = -EPROTO;
	for (uint32_t i = 0; i < count && !error; i++)
		error = merge_map_replace(map, MERGE_KIND_PROCESS, &ids[i]);
	if (!error)
		error = block_code_ids(code, ids, count);
	free(elements);
	return error;
}
