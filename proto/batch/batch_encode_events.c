#include "batch_encode_events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "event_fields.h"

void batch_durations_fini(struct batch_durations *durations)
{
	free(durations->ns);
	*durations = (struct batch_durations){0};
}

/* The bits in which any record differs from the first. Most fields of most batches do not differ at all, and one pass
 * over whole words finds them. */
union varying {
	uint64_t words[sizeof(struct gpu_record) / sizeof(uint64_t)];
	uint8_t bytes[sizeof(struct gpu_record)];
};

static inline __attribute__((always_inline)) void
survey_records(const uint8_t *at, uint32_t count, size_t record_bytes, union varying *varying)
{
	union varying first, record;

	*varying = (union varying){0};
	memcpy(first.bytes, at, record_bytes);
	for (uint32_t i = 1; i < count; i++) {
		memcpy(record.bytes, at + i * record_bytes, record_bytes);
		for (uint32_t w = 0; w < record_bytes / sizeof(uint64_t); w++)
			varying->words[w] |= record.words[w] ^ first.words[w];
	}
}

static void put_field(struct batch_writer *writer, const struct event_field *field,
		      const struct column_source *source, const union varying *varying)
{
	uint64_t differs = column_load(varying->bytes + field->offset_bytes, field->width_bytes);
	uint64_t first = column_load(source->values, field->width_bytes);
	const uint64_t max = writer->wide_ids ? event_field_wide(field) : field->max;

	/* Every bit of every value is in the first value or differs from it. Mostly that bounds all values. */
	if ((first | differs) > max && column_exceeds(source, max))
		batch_writer_fail_field(writer, field);
	if (differs)
		batch_writer_column(writer, source);
	else
		batch_writer_uint(writer, first);
}

static void put_launches(struct batch_writer *writer, const struct launch_record *records,
			 uint32_t count)
{
	union varying varying;

	batch_writer_count(writer, count, WIRE_EVENTS_MAX);
	batch_writer_array(writer, count ? EVENT_FIELDS_LAUNCH : 0);
	if (writer->err || count == 0)
		return;
	survey_records((const uint8_t *)records, count, sizeof(*records), &varying);
	for (uint32_t i = 0; i < EVENT_FIELDS_LAUNCH; i++) {
		const struct event_field *field = &event_fields_launch[i];
		struct column_source source = {(const uint8_t *)records + field->offset_bytes,
					       sizeof(*records), field->width_bytes, count};

		put_field(writer, field, &source, &varying);
	}
}

static int fill_durations(struct batch_durations *durations, const struct gpu_record *records,
			  uint32_t count)
{
	void *memory = durations->ns;
	bool invalid = false;

	if (!batch_writer_grow(&memory, &durations->size, count * sizeof(uint64_t)))
		return -ENOMEM;
	durations->ns = memory;
	for (uint32_t i = 0; i < count; i++) {
		durations->ns[i] = records[i].end_ns - records[i].start_ns;
		invalid |= records[i].start_ns - 1 >= records[i].end_ns; /* 0, or after the end */
	}
	return invalid ? -EINVAL : 0;
}

static void put_gpu(struct batch_writer *writer, struct batch_durations *durations,
		    const struct gpu_record *records, uint32_t count)
{
	union varying varying;
	int err;

	batch_writer_count(writer, count, WIRE_EVENTS_MAX);
	batch_writer_array(writer, count ? EVENT_FIELDS_GPU : 0);
	if (writer->err || count == 0)
		return;
	err = fill_durations(durations, records, count);
	if (err) {
		batch_writer_fail(writer, err);
		return;
	}
	survey_records((const uint8_t *)records, count, sizeof(*records), &varying);
	for (uint32_t i = 0; i < EVENT_FIELDS_GPU; i++) {
		const struct event_field *field = &event_fields_gpu[i];
		struct column_source source = {(const uint8_t *)records + field->offset_bytes,
					       sizeof(*records), field->width_bytes, count};

		if (field->from_start) {
			source.values = durations->ns;
			source.stride_bytes = sizeof(*durations->ns);
			batch_writer_column(writer, &source);
		} else {
			put_field(writer, field, &source, &varying);
		}
	}
}

void batch_encode_events(struct batch_writer *writer, struct batch_durations *durations,
			 const struct message_events *events)
{
	batch_writer_seq(writer, events->seq);
	batch_writer_require(writer, events->process_id > 0);
	batch_writer_id(writer, events->process_id);
	batch_writer_int(writer, events->clock_offset_ns);
	batch_writer_require(writer, events->clock_valid <= 1);
	batch_writer_uint(writer, events->clock_valid);
	put_launches(writer, events->launches, events->nr_launches);
	put_gpu(writer, durations, events->gpu, events->nr_gpu);
}
