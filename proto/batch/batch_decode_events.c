#include "batch_decode_events.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "event_fields.h"

/* This takes two passes. Fields that are the same in all records are gathered in one record, which is then copied to
 * all. Fields that differ are written over it. Fields that are not sent are 0. */
static void read_records(struct batch_reader *reader, bool wide_ids,
			 const struct event_field *fields, uint32_t nr_fields, uint8_t *records,
			 size_t record_bytes, uint32_t count)
{
	uint8_t template[sizeof(struct gpu_record)] = {0};
	struct batch_reader columns = *reader;

	if (!reader->fault->err && reader->nr_left < nr_fields)
		batch_fault_set(reader->fault, -EBADMSG, "%s is missing",
				fields[reader->nr_left].name);
	if (reader->fault->err)
		return;
	for (uint32_t i = 0; i < nr_fields && !reader->fault->err; i++) {
		const struct event_field *field = &fields[i];
		struct column_target one = {template + field->offset_bytes, record_bytes,
					    field->width_bytes, 1,
					    wide_ids ? event_field_wide(field) : field->max};

		if (reader->next[i].type == MSGPACK_OBJECT_POSITIVE_INTEGER)
			batch_reader_column(
				&(struct batch_reader){reader->fault, &reader->next[i], 1},
				field->name, &one);
	}
	for (uint32_t i = 0; i < count; i++)
		memcpy(records + i * record_bytes, template, record_bytes);
	for (uint32_t i = 0; i < nr_fields && !reader->fault->err; i++) {
		const struct event_field *field = &fields[i];
		struct column_target target = {records + field->offset_bytes, record_bytes,
					       field->width_bytes, count,
					       wide_ids ? event_field_wide(field) : field->max};

		if (columns.next->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
			columns.next++;
		else
			batch_reader_column(&columns, field->name, &target);
	}
}

static const struct launch_record *read_launches(struct batch_rooms *rooms,
						 struct batch_reader *reader, uint32_t count)
{
	struct batch_reader columns = batch_reader_array(reader, "launch columns");
	struct launch_record *records =
		batch_rooms_get(rooms, reader->fault, 0, count, sizeof(*records));

	if (records)
		read_records(&columns, rooms->wide_ids, event_fields_launch, EVENT_FIELDS_LAUNCH,
			     (uint8_t *)records, sizeof(*records), count);
	return records;
}

static const struct gpu_record *read_gpu(struct batch_rooms *rooms, struct batch_reader *reader,
					 uint32_t count)
{
	struct batch_reader columns = batch_reader_array(reader, "gpu columns");
	struct gpu_record *records =
		batch_rooms_get(rooms, reader->fault, 1, count, sizeof(*records));
	bool invalid = false;

	if (!records)
		return NULL;
	read_records(&columns, rooms->wide_ids, event_fields_gpu, EVENT_FIELDS_GPU,
		     (uint8_t *)records, sizeof(*records), count);
	if (reader->fault->err)
		return records;
	for (uint32_t i = 0; i < count; i++) {
		records[i].end_ns += records[i].start_ns;
		invalid |= records[i].start_ns - 1 >= records[i].end_ns; /* 0, or after the end */
	}
	if (invalid)
		batch_fault_set(reader->fault, -EBADMSG,
				"gpu start_ns is 0, or its end passes 64 bits");
	return records;
}

void batch_decode_events(struct batch_rooms *rooms, struct batch_reader *reader,
			 struct message_events *events)
{
	events->seq = batch_reader_seq(reader);
	events->process_id = batch_reader_process_id(reader);
	events->clock_offset_ns = batch_reader_int(reader, "clock_offset_ns", INT64_MIN, INT64_MAX);
	events->clock_valid = (uint32_t)batch_reader_uint(reader, "clock_valid", 0, 1);
	events->nr_launches = batch_reader_limited(reader, "nr_launches", WIRE_EVENTS_MAX);
	events->launches = read_launches(rooms, reader, events->nr_launches);
	events->nr_gpu = batch_reader_limited(reader, "nr_gpu", WIRE_EVENTS_MAX);
	events->gpu = read_gpu(rooms, reader, events->nr_gpu);
}
