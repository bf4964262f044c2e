#include "batch_placement.h"

#include <stddef.h>

#define DEVICE_FIELDS 3u
#define THREAD_FIELDS 3u

static const struct event_field device_fields[DEVICE_FIELDS] = {
	{"placed device_id", offsetof(struct message_placed_device, device_id), 4, UINT32_MAX,
	 false},
	{"device's numa_node", offsetof(struct message_placed_device, numa_node), 4, UINT32_MAX,
	 false},
	{"device's cpus", offsetof(struct message_placed_device, cpus), 4, WIRE_ID_MAX, false},
};

static const struct event_field thread_fields[THREAD_FIELDS] = {
	{"placed tid", offsetof(struct message_placed_thread, tid), 4, UINT32_MAX, false},
	{"thread's numa_node", offsetof(struct message_placed_thread, numa_node), 4, UINT32_MAX,
	 false},
	{"thread's count", offsetof(struct message_placed_thread, count), 8, UINT64_MAX, false},
};

void batch_encode_placement(struct batch_writer *writer, const struct message_placement *placement)
{
	batch_writer_seq(writer, placement->seq);
	batch_writer_require(writer, placement->process_id > 0);
	batch_writer_id(writer, placement->process_id);
	batch_writer_count(writer, placement->nr_devices, WIRE_ITEMS_MAX);
	if (writer->err)
		return;
	batch_writer_array(writer, DEVICE_FIELDS);
	batch_writer_rows(writer, device_fields, DEVICE_FIELDS, placement->devices,
			  sizeof(*placement->devices), placement->nr_devices);
	batch_writer_count(writer, placement->nr_threads, WIRE_ITEMS_MAX);
	if (writer->err)
		return;
	batch_writer_array(writer, THREAD_FIELDS);
	batch_writer_rows(writer, thread_fields, THREAD_FIELDS, placement->threads,
			  sizeof(*placement->threads), placement->nr_threads);
}

void batch_decode_placement(struct batch_rooms *rooms, struct batch_reader *reader,
			    struct message_placement *placement)
{
	struct message_placed_device *devices;
	struct message_placed_thread *threads;
	struct batch_reader columns;
	uint32_t count;

	placement->seq = batch_reader_seq(reader);
	placement->process_id = batch_reader_process_id(reader);
	count = placement->nr_devices = batch_reader_limited(reader, "nr_devices", WIRE_ITEMS_MAX);
	columns = batch_reader_array(reader, "device columns");
	devices = batch_rooms_get(rooms, reader->fault, 0, count, sizeof(*devices));
	placement->devices = devices;
	batch_reader_rows(&columns, device_fields, DEVICE_FIELDS, devices, sizeof(*devices), count);
	count = placement->nr_threads = batch_reader_limited(reader, "nr_threads", WIRE_ITEMS_MAX);
	columns = batch_reader_array(reader, "thread columns");
	threads = batch_rooms_get(rooms, reader->fault, 1, count, sizeof(*threads));
	placement->threads = threads;
	batch_reader_rows(&columns, thread_fields, THREAD_FIELDS, threads, sizeof(*threads), count);
}
