#include "batch_encode_collectives.h"

#include "collective_fields.h"

void batch_encode_collectives(struct batch_writer *writer,
			      const struct message_collectives *message)
{
	uint32_t nr_communicators = message->nr_communicators, nr_calls = message->nr_collectives;

	batch_writer_seq(writer, message->seq);
	batch_writer_require(writer, message->process_id > 0);
	batch_writer_id(writer, message->process_id);
	batch_writer_count(writer, nr_communicators, WIRE_ITEMS_MAX);
	if (writer->err)
		return;
	for (uint32_t i = 0; i < nr_communicators; i++)
		batch_writer_require(writer, message->communicators[i].communicator_id > 0);
	batch_writer_array(writer, nr_communicators ? COLLECTIVE_FIELDS_COMMUNICATOR : 0);
	if (nr_communicators)
		batch_writer_rows(writer, collective_fields_communicator,
				  COLLECTIVE_FIELDS_COMMUNICATOR, message->communicators,
				  sizeof(*message->communicators), nr_communicators);
	batch_writer_count(writer, nr_calls, WIRE_EVENTS_MAX);
	if (writer->err)
		return;
	for (uint32_t i = 0; i < nr_calls; i++)
		batch_writer_require(writer, message->collectives[i].duration_ns > 0);
	batch_writer_array(writer, nr_calls ? COLLECTIVE_FIELDS_CALL : 0);
	if (nr_calls)
		batch_writer_rows(writer, collective_fields_call, COLLECTIVE_FIELDS_CALL,
				  message->collectives, sizeof(*message->collectives), nr_calls);
}
