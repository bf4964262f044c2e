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
	FIELD(struct fold_row, key.device_id), FIELD(struct fold_row, key.context_id),
	FIELD(struct fold_row, key.stream_id), FIELD(struct fold_row, key.tid),
	FIELD(struct fold_row, key.stack_id),  FIELD(struct fold_row, key.capture_stack_id),
	FIELD(struct fold_row, key.name_id),   FIELD(struct fold_row, key.kind),
	FIELD(struct fold_row, key.copy_kind), FIELD(struct fold_row, key.matched),
	FIELD(struct fold_row, count),         FIELD(struct fold_row, ns),
	FIELD(struct fold_row, bytes),
};

static const struct field sum_fields[] = {
	FIELD(struct fold_row, key.tid),      FIELD(struct fold_row, key.kind),
	FIELD(struct fold_row, key.stack_id), FIELD(struct fold_row, key.name_id),
	FIELD(struct fold_row, count),        FIELD(struct fold_row, ns),
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

static int append(struct block_code *code, const struct field *fields, size_t nr_fields,
		  const void *array, size_t stride_bytes, uint32_t count)
{
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

static int encode(struct block_code *code, const struct field *fields, size_t nr_fields,
		  const void *array, size_t stride_bytes, uint32_t count)
{
	code->size = 0;
	return append(code, fields, nr_fields, array, stride_bytes, count);
}

/* Decodes the first fields of what *bytes and *size are left with, and moves them behind these. */
static int take(const uint8_t **bytes, size_t *size, const struct field *fields, size_t nr_fields,
		void *array, size_t stride_bytes, uint32_t count)
{
	for (size_t i = 0; i < nr_fields && count; i++) {
		const uint8_t *at = *bytes;

		if (*size < LENGTH_BYTES)
			return -EBADMSG;
		size_t length = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 |
				(size_t)at[3] << 24;
		if (length > *size - LENGTH_BYTES)
			return -EBADMSG;
		struct column_target target = {
			.values = (uint8_t *)array + fields[i].offset,
			.stride_bytes = stride_bytes,
			.width_bytes = fields[i].width_bytes,
			.count = count,
			.max = UINT64_MAX >> (64 - 8 * fields[i].width_bytes),
		};
		if (column_decode_deltas(at + LENGTH_BYTES, length, &target))
			return -EBADMSG;
		*bytes += LENGTH_BYTES + length;
		*size -= LENGTH_BYTES + length;
	}
	return 0;
}

static int decode(const uint8_t *bytes, size_t size, const struct field *fields, size_t nr_fields,
		  void *array, size_t stride_bytes, uint32_t count)
{
	if (count)
		memset(array, 0, count * stride_bytes);
	int error = take(&bytes, &size, fields, nr_fields, array, stride_bytes, count);
	return error || size == 0 ? error : -EBADMSG;
}

/* ---- histograms of totals */

/* All bins of all rows, in the rows' order. Of each row the last bin has no place in counts: it has what the others
 * leave of the row's count, so that they always are the row's count together. */
struct bin_lists {
	uint32_t *
		numbers; /* of each row, its number of bins; 0: its histogram is not known; or as follows */
	uint32_t *buckets;
	uint64_t *counts;
	uint32_t nr_buckets, nr_counts;
};

#define NUMBER_DAMAGED FOLD_NEAR_DAMAGED /* no bins: the histogram was damaged */

static const struct field count_fields[] = {{0, sizeof(uint64_t)}};

static void bin_lists_fini(struct bin_lists *lists)
{
	free(lists->numbers);
	free(lists->buckets);
	free(lists->counts);
}

/* Makes room for so many bins of so many rows. 0 or -ENOMEM: call bin_lists_fini() also then. */
static int bin_lists_init(struct bin_lists *lists, uint32_t nr_rows, uint64_t nr_bins)
{
	*lists = (struct bin_lists){
		.numbers = calloc(nr_rows + 1ull, sizeof(*lists->numbers)),
	};
	if (nr_bins > UINT32_MAX)
		return -ENOMEM;
	lists->buckets = malloc((nr_bins + 1) * sizeof(*lists->buckets));
	lists->counts = malloc((nr_bins + 1) * sizeof(*lists->counts));
	return lists->numbers && lists->buckets && lists->counts ? 0 : -ENOMEM;
}

static int fill_lists(struct bin_lists *lists, const struct fold_row *rows, uint32_t nr_rows)
{
	struct duration_bin list[DURATION_BUCKETS];
	uint64_t nr_bins = 0;

	for (uint32_t i = 0; i < nr_rows; i++)
		nr_bins += fold_row_list(&rows[i], list);
	int error = bin_lists_init(lists, nr_rows, nr_bins);
	for (uint32_t i = 0; i < nr_rows && !error; i++) {
		const uint32_t nr = fold_row_list(&rows[i], list);

		lists->numbers[i] = rows[i].near_first == FOLD_NEAR_DAMAGED ? NUMBER_DAMAGED : nr;
		for (uint32_t j = 0; j < nr; j++) {
			lists->buckets[lists->nr_buckets++] = list[j].bucket;
			if (j + 1 < nr)
				lists->counts[lists->nr_counts++] = list[j].count;
		}
	}
	return error;
}

int block_code_totals(struct block_code *code, const struct fold_row *rows, uint32_t nr_rows)
{
	struct bin_lists lists;
	int error = fill_lists(&lists, rows, nr_rows);

	if (!error)
		error = encode(code, total_fields, COUNT(total_fields), rows, sizeof(*rows),
			       nr_rows);
	if (!error)
		error = append(code, id_fields, 1, lists.numbers, sizeof(*lists.numbers), nr_rows);
	if (!error)
		error = append(code, id_fields, 1, lists.buckets, sizeof(*lists.buckets),
			       lists.nr_buckets);
	if (!error)
		error = append(code, count_fields, 1, lists.counts, sizeof(*lists.counts),
			       lists.nr_counts);
	bin_lists_fini(&lists);
	return error;
}

/* Gives a row its nr bins: these buckets, and these counts of all but the last one. The histogram is damaged if they
 * are not in order, or not the row's count. 0 or -ENOMEM. */
static int give_bins(struct fold_row *row, uint32_t nr, const uint32_t *buckets,
		     const uint64_t *counts)
{
	struct duration_bin list[DURATION_BUCKETS];
	uint64_t left = row->count;

	for (uint32_t i = 0; i < nr; i++) {
		list[i].bucket = buckets[i];
		list[i].count = i + 1 < nr ? counts[i] : left;
		if (list[i].count == 0 || list[i].count > left ||
		    list[i].bucket >= DURATION_BUCKETS ||
		    (i && list[i].bucket <= list[i - 1].bucket))
			return fold_row_set(row, list, 0);
		left -= list[i].count;
	}
	return fold_row_set(row, list, nr);
}

/* Decodes all numbers, buckets and counts. 0; -EBADMSG: it is not known which bins are of which row; -ENOMEM. */
static int take_lists(const uint8_t *bytes, size_t size, struct bin_lists *lists, uint32_t nr_rows)
{
	const size_t most = size;
	int error =
		take(&bytes, &size, id_fields, 1, lists->numbers, sizeof(*lists->numbers), nr_rows);

	for (uint32_t i = 0; i < nr_rows && !error; i++) {
		const uint32_t nr = lists->numbers[i];

		if (nr == NUMBER_DAMAGED || nr == 0)
			continue;
		/* Each bin takes a byte or more. */
		if (nr > DURATION_BUCKETS || lists->nr_buckets + nr > most)
			error = -EBADMSG;
		lists->nr_buckets += nr;
		lists->nr_counts += nr - 1;
	}
	if (!error)
		error = take(&bytes, &size, id_fields, 1, lists->buckets, sizeof(*lists->buckets),
			     lists->nr_buckets);
	if (!error)
		error = take(&bytes, &size, count_fields, 1, lists->counts, sizeof(*lists->counts),
			     lists->nr_counts);
	return error || size == 0 ? error : -EBADMSG;
}

/* Damage to what follows the sums costs histograms, and no more. 0 or -ENOMEM. */
static int take_bins(const uint8_t *bytes, size_t size, struct fold_row *rows, uint32_t nr_rows)
{
	struct bin_lists lists;
	uint32_t bucket = 0, count = 0;
	/* A damaged number cannot cause a large allocation. */
	int error = bin_lists_init(&lists, nr_rows, size);
	const bool is_damaged = !error && take_lists(bytes, size, &lists, nr_rows);

	for (uint32_t i = 0; i < nr_rows && !error; i++) {
		const uint32_t nr = lists.numbers[i];

		if (is_damaged || nr == NUMBER_DAMAGED) {
			error = give_bins(&rows[i], 0, NULL, NULL);
		} else if (nr) {
			error = give_bins(&rows[i], nr, lists.buckets + bucket,
					  lists.counts + count);
			bucket += nr;
			count += nr - 1;
		}
	}
	bin_lists_fini(&lists);
	return error;
}

int block_decode_totals(const uint8_t *bytes, size_t size, struct fold_row *rows, uint32_t nr_rows)
{
	if (nr_rows)
		memset(rows, 0, nr_rows * sizeof(*rows));
	for (uint32_t i = 0; i < nr_rows; i++)
		rows[i].near_first = FOLD_NEAR_NONE;
	int error = take(&bytes, &size, total_fields, COUNT(total_fields), rows, sizeof(*rows),
			 nr_rows);
	/* Version 11 of the store had no histograms. */
	return error || size == 0 ? error : take_bins(bytes, size, rows, nr_rows);
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
BLOCK_CODE(sums, struct fold_row, sum_fields)
BLOCK_CODE(buckets, struct collective_fold_bucket, bucket_fields)
BLOCK_CODE(bins, struct collective_bin, bin_fields)
