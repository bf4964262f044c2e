#include "batch_decode_collectives.h"

#include <errno.h>
#include <string.h>

#include "collective_fields.h"

/* Reads the records; fields that are not sent are 0. NULL: there are none, or a fault. */
static void *read_rows(struct batch_rooms *rooms, uint32_t room, struct batch_reader *columns,
		       const struct event_field *fields, uint32_t nr_fields, size_t row_bytes,
		       uint32_t count)
{
	void *rows = batch_rooms_get(rooms, columns->fault, room, count, row_bytes);

	if (!rows)
		return NULL;
	memset(rows, 0, count * row_bytes);
	batch_reader_rows(columns, fields, nr_fields, rows, row_bytes, count);
	return rows;
}

void batch_decode_collectives(struct batch_rooms *rooms, struct batch_reader *reader,
			      struct message_collectives *message)
{
	struct batch_reader columns;

	message->seq = batch_reader_seq(reader);
	message->process_id = batch_reader_process_id(reader);
	message->nr_communicators =
		batch_reader_limited(reader, "nr_communicators", WIRE_ITEMS_MAX);
	columns = batch_reader_array(reader, "communicator columns");
	message->communicators = read_rows(
		rooms, 0, &columns, collective_fields_communicator, COLLECTIVE_FIELDS_COMMUNICATOR,
		sizeof(*message->communicators), message->nr_communicators);
	message->nr_collectives = batch_reader_limited(reader, "nr_collectives", WIRE_EVENTS_MAX);
	columns = batch_reader_array(reader, "collective columns");
	message->collectives =
		read_rows(rooms, 1, &columns, collective_fields_call, COLLECTIVE_FIELDS_CALL,
			  sizeof(*message->collectives), message->nr_collectives);
	for (uint32_t i = 0; i < message->nr_communicators && !reader->fault->err; i++)
		if (message->communicators[i].communicator_id == 0)
			batch_fault_set(reader->fault, -EBADMSG, "communicator_id is 0");
	for (uint32_t i = 0; i < message->nr_collectives && !reader->fault->err; i++)
		if (message->collectives[i].duration_ns == 0)
			batch_fault_set(reader->fault, -EBADMSG, "collective duration_ns is 0");
}
