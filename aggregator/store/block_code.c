#include "block_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proto/batch/column.h"

#define LENGTH_BYTES 4u

/* One member of an array of structs. */
struct field {
	size_t offset;
	uint32_t width_bytes;
};

#define FIELD(type, member)                                                                        \
	{                                                                                          \
		offsetof(type, member), sizeof(((type *)0)->member)                                \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct field launch_fields[] = {
	FIELD(struct launch, correlation_id),
	FIELD(struct launch, window),
	FIELD(struct launch, flags),
	FIELD(struct launch, stack_id),
	FIELD(struct launch, tid),
	FIELD(struct launch, order),
	FIELD(struct launch, time_ns),
};

static const struct field record_fields[] = {
	FIELD(struct waiting_records_entry, record.start_ns),
	FIELD(struct waiting_records_entry, record.end_ns),
	FIELD(struct waiting_records_entry, record.bytes),
	FIELD(struct waiting_records_entry, record.graph_node_id),
	FIELD(struct waiting_records_entry, record.correlation_id),
	FIELD(struct waiting_records_entry, record.device_id),
	FIELD(struct waiting_records_entry, record.context_id),
	FIELD(struct waiting_records_entry, record.stream_id),
	FIELD(struct waiting_records_entry, record.name_id),
	FIELD(struct waiting_records_entry, record.graph_id),
	FIELD(struct waiting_records_entry, record.kind),
	FIELD(struct waiting_records_entry, record.copy_kind),
	FIELD(struct waiting_records_entry, record.window),
	FIELD(struct waiting_records_entry, record.capture_stack_id),
	FIELD(struct waiting_records_entry, order),
};

static const struct field id_fields[] = {{0, sizeof(uint32_t)}};

static const struct field slot_fields[] = {
	FIELD(struct memory_slot, index),
	FIELD(struct memory_slot, state),
	FIELD(struct memory_slot, owed),
	FIELD(struct memory_slot, order),
	FIELD(struct memory_slot, event.time_ns),
	FIELD(struct memory_slot, event.address),
	FIELD(struct memory_slot, event.bytes),
	FIELD(struct memory_slot, event.correlation_id),
	FIELD(struct memory_slot, event.device_id),
	FIELD(struct memory_slot, event.stack_id),
	FIELD(struct memory_slot, event.tid),
	FIELD(struct memory_slot, event.kind),
	FIELD(struct memory_slot, event.is_free),
	FIELD(struct memory_slot, event.matched),
};

static const struct field interval_fields[] = {
	FIELD(struct timeline_interval, start_ns),
	FIELD(struct timeline_interval, end_ns),
};

static const struct field sample_fields[] = {
	FIELD(struct host_sample, time_ns), FIELD(struct host_sample, duration_ns),
	FIELD(struct host_sample, tid),     FIELD(struct host_sample, stack_id),
	FIELD(struct host_sample, name_id), FIELD(struct host_sample, kind),
};

static const struct field work_fields[] = {
	FIELD(struct idle_work, start_ns),
	FIELD(struct idle_work, end_ns),
	FIELD(struct idle_work, clock_offset_ns),
	FIELD(struct idle_work, process_id),
	FIELD(struct idle_work, tid),
};

static const struct field total_fields[] = {
	FIELD(struct fold_row, key.device_id),
	FIELD(struct fold_row, key.context_id),
	FIELD(struct fold_row, key.stream_id),
	FIELD(struct fold_row, key.tid),
	FIELD(struct fold_row, key.stack_id),
	FIELD(struct fold_row, key.capture_stack_id),
	FIELD(struct fold_row, key.name_id),
	FIELD(struct fold_row, key.kind),
	FIELD(struct fold_row, key.copy_kind),
	FIELD(struct fold_row, key.matched),
	FIELD(struct fold_row, count),
	FIELD(struct fold_row, ns),
	FIELD(struct fold_row, bytes),
};

static const struct field sum_fields[] = {
	FIELD(struct fold_row, key.tid),
	FIELD(struct fold_row, key.kind),
	FIELD(struct fold_row, key.stack_id),
	FIELD(struct fold_row, key.name_id),
	FIELD(struct fold_row, count),
	FIELD(struct fold_row, ns),
};

static const struct field bucket_fields[] = {
	FIELD(struct collective_fold_bucket, late_twice_ns),
	FIELD(struct collective_fold_bucket, kept_ns),
};

static const struct field bin_fields[] = {
	FIELD(struct collective_bin, bin),
	FIELD(struct collective_bin, count),
	FIELD(struct collective_bin, ns),
};

void block_code_fini(struct block_code *code)
{
	free(code->bytes);
	*code = (struct block_code){0};
}

static int encode(struct block_code *code, const struct field *fields, size_t nr_fields,
		  const void *array, size_t stride_bytes, uint32_t count)
{
	code->size = 0;
	for (size_t i = 0; i < nr_fields && count; i++) {
		const size_t most = LENGTH_BYTES + (size_t)count * COLUMN_VALUE_BYTES_MAX;

		if (array_reserve(&code->bytes, &code->room, code->size + most, 1))
			return -ENOMEM;
		uint8_t *out = code->bytes + code->size;
		struct column_source source = {
			.values = (const uint8_t *)array + fields[i].offset,
			.stride_bytes = stride_bytes,
			.width_bytes = fields[i].width_bytes,
			.count = count,
		};
		size_t size = column_encode_deltas(&source, out + LENGTH_BYTES);

		for (size_t byte = 0; byte < LENGTH_BYTES; byte++)
			out[byte] = (uint8_t)(size >> (8 * byte));
		code->size += LENGTH_BYTES + size;
	}
	return 0;
}

static int decode(const uint8_t *bytes, size_t size, const struct field *fields, size_t nr_fields,
		  void *array, size_t stride_bytes, uint32_t count)
{
	if (count)
		memset(array, 0, count * stride_bytes);
	for (size_t i = 0; i < nr_fields && count; i++) {
		if (size < LENGTH_BYTES)
			return -EBADMSG;
		size_t length = (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 |
				(size_t)bytes[3] << 24;
		bytes += LENGTH_BYTES;
		size -= LENGTH_BYTES;
		if (length > size)
			return -EBADMSG;
		struct column_target target = {
			.values = (uint8_t *)array + fields[i].offset,
			.stride_bytes = stride_bytes,
			.width_bytes = fields[i].width_bytes,
			.count = count,
			.max = UINT64_MAX >> (64 - 8 * fields[i].width_bytes),
		};
		if (column_decode_deltas(bytes, length, &target))
			return -EBADMSG;
		bytes += length;
		size -= length;
	}
	return size ? -EBADMSG : 0;
}

#define BLOCK_CODE(items, type, fields)                                                            \
	int block_code_##items(struct block_code *code, const type *items, uint32_t count)         \
	{                                                                                          \
		return encode(code, fields, COUNT(fields), items, sizeof(*items), count);          \
	}                                                                                          \
	int block_decode_##items(const uint8_t *bytes, size_t size, type *items, uint32_t count)   \
	{                                                                                          \
		return decode(bytes, size, fields, COUNT(fields), items, sizeof(*items), count);   \
	}

BLOCK_CODE(launches, struct launch, launch_fields)
BLOCK_CODE(records, struct waiting_records_entry, record_fields)
BLOCK_CODE(ids, uint32_t, id_fields)
BLOCK_CODE(slots, struct memory_slot, slot_fields)
BLOCK_CODE(intervals, struct timeline_interval, interval_fields)
BLOCK_CODE(samples, struct host_sample, sample_fields)
BLOCK_CODE(work, struct idle_work, work_fields)
BLOCK_CODE(totals, struct fold_row, total_fields)
BLOCK_CODE(sums, struct fold_row, sum_fields)
BLOCK_CODE(buckets, struct collective_fold_bucket, bucket_fields)
BLOCK_CODE(bins, struct collective_bin, bin_fields)
