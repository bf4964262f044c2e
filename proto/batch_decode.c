#include "proto/batch_decode.h"

#include <errno.h>
#include <msgpack.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/batch_reader.h"
#include "proto/event_fields.h"
#include "proto/frame_check.h"
#include "proto/statistics_fields.h"

/* A message has at most this many lists of structs. */
#define ROOMS 5u

struct room {
	void *memory;
	size_t capacity;
};

struct batch_decoder {
	struct room rooms[ROOMS]; /* of the decoded structs */
	struct batch_fault fault;
};

struct batch_decoder *batch_decoder_create(void)
{
	return calloc(1, sizeof(struct batch_decoder));
}

void batch_decoder_destroy(struct batch_decoder *decoder)
{
	if (!decoder)
		return;
	for (uint32_t i = 0; i < ROOMS; i++)
		free(decoder->rooms[i].memory);
	free(decoder);
}

const char *batch_decoder_error(const struct batch_decoder *decoder)
{
	return decoder->fault.text;
}

/* Memory for count structs, whose contents are undefined. NULL: none were asked for, or the decoder
 * has failed. */
static void *get_room(struct batch_decoder *decoder, uint32_t index, uint32_t count, size_t size)
{
	struct room *room = &decoder->rooms[index];

	if (decoder->fault.err || count == 0)
		return NULL;
	if (room->capacity < count * size) {
		free(room->memory);
		room->memory = malloc(count * size);
		room->capacity = room->memory ? count * size : 0;
		if (!room->memory)
			batch_fault_set(&decoder->fault, -ENOMEM, "out of memory for %u items",
					count);
	}
	return room->memory;
}

static uint32_t read_id(struct batch_reader *reader, const char *name)
{
	return batch_reader_limited(reader, name, WIRE_ID_MAX);
}

static uint32_t read_process_id(struct batch_reader *reader)
{
	uint32_t process_id = read_id(reader, "process_id");

	if (process_id == 0)
		batch_fault_set(reader->fault, -EBADMSG, "process_id is 0");
	return process_id;
}

static uint64_t read_seq(struct batch_reader *reader)
{
	return batch_reader_uint(reader, "seq", 1, UINT64_MAX);
}

static int32_t read_rank(struct batch_reader *reader, const char *name)
{
	return (int32_t)batch_reader_int(reader, name, -1, INT32_MAX);
}

/* first: the field in the first of count structs; NULL where there are none. */
static void read_u32s(struct batch_reader *reader, const char *name, void *first,
		      size_t stride_bytes, uint32_t count, uint32_t max)
{
	batch_reader_column(reader, name,
			    &(struct column_target){first, stride_bytes, 4, count, max});
}

static void read_u64s(struct batch_reader *reader, const char *name, void *first,
		      size_t stride_bytes, uint32_t count)
{
	batch_reader_column(reader, name,
			    &(struct column_target){first, stride_bytes, 8, count, UINT64_MAX});
}

static uint32_t read_count(struct batch_reader *reader, const char *name, uint32_t max)
{
	return batch_reader_limited(reader, name, max);
}

/* What `count` ids from base on need. */
static void check_base(struct batch_reader *reader, const char *name, uint32_t base, uint32_t count)
{
	if (count > 0 && base == 0)
		batch_fault_set(reader->fault, -EBADMSG, "%s is 0", name);
	if ((uint64_t)base + count > WIRE_ID_MAX + 1ull)
		batch_fault_set(reader->fault, -EMSGSIZE, "ids from %s on pass %u", name,
				WIRE_ID_MAX);
}

/* --- events --- */

/* Two passes: fields that are the same in all records are gathered in one record, which is then
 * copied to all; what differs is written over it. Fields that do not travel are 0. */
static void read_records(struct batch_reader *reader, const struct event_field *fields,
			 uint32_t nr_fields, uint8_t *records, size_t record_bytes, uint32_t count)
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
					    field->width_bytes, 1, field->max};

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
					       field->width_bytes, count, field->max};

		if (columns.next->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
			columns.next++;
		else
			batch_reader_column(&columns, field->name, &target);
	}
}

static const struct launch_record *read_launches(struct batch_decoder *decoder,
						 struct batch_reader *reader, uint32_t count)
{
	struct batch_reader columns = batch_reader_array(reader, "launch columns");
	struct launch_record *records = get_room(decoder, 0, count, sizeof(*records));

	if (records)
		read_records(&columns, event_fields_launch, EVENT_FIELDS_LAUNCH, (uint8_t *)records,
			     sizeof(*records), count);
	return records;
}

static const struct gpu_record *read_gpu(struct batch_decoder *decoder, struct batch_reader *reader,
					 uint32_t count)
{
	struct batch_reader columns = batch_reader_array(reader, "gpu columns");
	struct gpu_record *records = get_room(decoder, 1, count, sizeof(*records));
	bool invalid = false;

	if (!records)
		return NULL;
	read_records(&columns, event_fields_gpu, EVENT_FIELDS_GPU, (uint8_t *)records,
		     sizeof(*records), count);
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

static void read_events(struct batch_decoder *decoder, struct batch_reader *reader,
			struct message_events *events)
{
	events->seq = read_seq(reader);
	events->process_id = read_process_id(reader);
	events->clock_offset_ns = batch_reader_int(reader, "clock_offset_ns", INT64_MIN, INT64_MAX);
	events->clock_valid = (uint32_t)batch_reader_uint(reader, "clock_valid", 0, 1);
	events->nr_launches = read_count(reader, "nr_launches", WIRE_EVENTS_MAX);
	events->launches = read_launches(decoder, reader, events->nr_launches);
	events->nr_gpu = read_count(reader, "nr_gpu", WIRE_EVENTS_MAX);
	events->gpu = read_gpu(decoder, reader, events->nr_gpu);
}

/* --- the other messages --- */

static void read_hello(struct batch_reader *reader, struct message_hello *hello)
{
	hello->version_min = batch_reader_u32(reader, "version_min");
	hello->version_max =
		(uint32_t)batch_reader_uint(reader, "version_max", hello->version_min, UINT32_MAX);
	batch_reader_bytes(reader, "epoch", hello->epoch, sizeof(hello->epoch));
	hello->software = batch_reader_text(reader, "software");
	hello->node = batch_reader_text(reader, "node");
	hello->boot_id = batch_reader_text(reader, "boot_id");
}

static void read_welcome(struct batch_reader *reader, struct message_welcome *welcome)
{
	welcome->version = batch_reader_u32(reader, "version");
	welcome->window_frames = batch_reader_u32(reader, "window_frames");
	welcome->window_bytes = batch_reader_u64(reader, "window_bytes");
	welcome->durable_seq = batch_reader_u64(reader, "durable_seq");
}

static void read_refuse(struct batch_reader *reader, struct message_refuse *refuse)
{
	refuse->code = batch_reader_u32(reader, "code");
	refuse->reason = batch_reader_text(reader, "reason");
}

static void read_strings(struct batch_decoder *decoder, struct batch_reader *reader,
			 struct message_strings *strings)
{
	struct message_text *texts;
	struct batch_reader list;

	strings->seq = read_seq(reader);
	strings->base = batch_reader_u32(reader, "base");
	list = batch_reader_array(reader, "strings");
	strings->count = list.nr_left;
	check_base(reader, "base", strings->base, strings->count);
	texts = get_room(decoder, 0, strings->count, sizeof(*texts));
	for (uint32_t i = 0; texts && i < strings->count; i++)
		texts[i] = batch_reader_text(&list, "a string");
	strings->strings = texts;
}

static void read_modules(struct batch_decoder *decoder, struct batch_reader *parent,
			 struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "modules"), build_ids;
	struct message_module *modules;
	uint32_t count;

	stacks->module_base = batch_reader_u32(&reader, "module base");
	count = stacks->nr_modules = read_count(&reader, "nr_modules", WIRE_ITEMS_MAX);
	check_base(&reader, "module base", stacks->module_base, count);
	modules = get_room(decoder, 0, count, sizeof(*modules));
	stacks->modules = modules;
	if (modules)
		memset(modules, 0, count * sizeof(*modules));
	read_u32s(&reader, "module path", modules ? &modules->path : NULL, sizeof(*modules), count,
		  WIRE_ID_MAX);
	read_u32s(&reader, "module flags", modules ? &modules->flags : NULL, sizeof(*modules),
		  count, UINT32_MAX);
	build_ids = batch_reader_array(&reader, "module build ids");
	for (uint32_t i = 0; modules && i < count; i++)
		modules[i].build_id_size = batch_reader_bin(&build_ids, "a build id",
							    modules[i].build_id, WIRE_BUILD_ID_MAX);
}

static void read_frames(struct batch_decoder *decoder, struct batch_reader *parent,
			struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "frames");
	struct message_frame *frames;
	uint32_t count;

	stacks->frame_base = batch_reader_u32(&reader, "frame base");
	count = stacks->nr_frames = read_count(&reader, "nr_frames", WIRE_ITEMS_MAX);
	check_base(&reader, "frame base", stacks->frame_base, count);
	frames = get_room(decoder, 1, count, sizeof(*frames));
	stacks->frames = frames;
	read_u32s(&reader, "frame module", frames ? &frames->module : NULL, sizeof(*frames), count,
		  WIRE_ID_MAX);
	read_u64s(&reader, "frame offset", frames ? &frames->offset : NULL, sizeof(*frames), count);
	read_u32s(&reader, "frame code", frames ? &frames->code : NULL, sizeof(*frames), count,
		  WIRE_ID_MAX);
	for (uint32_t i = 0; !decoder->fault.err && i < count; i++)
		if (frames[i].module && frames[i].code)
			batch_fault_set(&decoder->fault, -EBADMSG,
					"frame %u has a module and a code", stacks->frame_base + i);
}

static void read_nodes(struct batch_decoder *decoder, struct batch_reader *parent,
		       struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "nodes");
	struct message_node *nodes;
	uint32_t count;

	stacks->node_base = batch_reader_u32(&reader, "node base");
	count = stacks->nr_nodes = read_count(&reader, "nr_nodes", WIRE_ITEMS_MAX);
	check_base(&reader, "node base", stacks->node_base, count);
	nodes = get_room(decoder, 2, count, sizeof(*nodes));
	stacks->nodes = nodes;
	read_u32s(&reader, "node parent", nodes ? &nodes->parent : NULL, sizeof(*nodes), count,
		  WIRE_ID_MAX);
	read_u32s(&reader, "node frame", nodes ? &nodes->frame : NULL, sizeof(*nodes), count,
		  WIRE_ID_MAX);
	for (uint32_t i = 0; !decoder->fault.err && i < count; i++) {
		if (nodes[i].parent >= stacks->node_base + i)
			batch_fault_set(&decoder->fault, -EBADMSG,
					"the parent of node %u is not below it",
					stacks->node_base + i);
		else if (nodes[i].frame == 0)
			batch_fault_set(&decoder->fault, -EBADMSG, "node %u has no frame",
					stacks->node_base + i);
	}
}

static void read_symbols(struct batch_decoder *decoder, struct batch_reader *parent,
			 struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "symbols");
	struct message_symbol *symbols;
	uint32_t count;

	count = stacks->nr_symbols = read_count(&reader, "nr_symbols", WIRE_ITEMS_MAX);
	symbols = get_room(decoder, 3, count, sizeof(*symbols));
	stacks->symbols = symbols;
	read_u32s(&reader, "symbol frame", symbols ? &symbols->frame : NULL, sizeof(*symbols),
		  count, WIRE_ID_MAX);
	read_u32s(&reader, "symbol name", symbols ? &symbols->name : NULL, sizeof(*symbols), count,
		  WIRE_ID_MAX);
	for (uint32_t i = 0; !decoder->fault.err && i < count; i++)
		if (symbols[i].frame == 0)
			batch_fault_set(&decoder->fault, -EBADMSG, "symbol %u has no frame", i);
}

static void read_codes(struct batch_decoder *decoder, struct batch_reader *parent,
		       struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "codes");
	struct message_code *codes;
	uint32_t count;

	stacks->code_base = batch_reader_u32(&reader, "code base");
	count = stacks->nr_codes = read_count(&reader, "nr_codes", WIRE_ITEMS_MAX);
	check_base(&reader, "code base", stacks->code_base, count);
	codes = get_room(decoder, 4, count, sizeof(*codes));
	stacks->codes = codes;
	read_u32s(&reader, "code file", codes ? &codes->file : NULL, sizeof(*codes), count,
		  WIRE_ID_MAX);
	read_u32s(&reader, "code name", codes ? &codes->name : NULL, sizeof(*codes), count,
		  WIRE_ID_MAX);
	for (uint32_t i = 0; !decoder->fault.err && i < count; i++)
		if (codes[i].name == 0)
			batch_fault_set(&decoder->fault, -EBADMSG, "code %u has no name",
					stacks->code_base + i);
}

static void read_stacks(struct batch_decoder *decoder, struct batch_reader *reader,
			struct message_stacks *stacks)
{
	stacks->seq = read_seq(reader);
	read_modules(decoder, reader, stacks);
	read_frames(decoder, reader, stacks);
	read_nodes(decoder, reader, stacks);
	read_symbols(decoder, reader, stacks);
	read_codes(decoder, reader, stacks);
}

static void read_device(struct batch_reader *parent, struct message_device *device)
{
	struct batch_reader reader = batch_reader_array(parent, "a device");

	device->device_id = batch_reader_u32(&reader, "device_id");
	device->index = read_rank(&reader, "device index");
	batch_reader_bytes(&reader, "device uuid", device->uuid, sizeof(device->uuid));
	device->name = read_id(&reader, "device name");
	device->pci = read_id(&reader, "device pci");
	read_u32s(&reader, "device limits", &device->limits, sizeof(uint32_t), DEVICE_LIMITS,
		  UINT32_MAX);
}

static void read_process_lists(struct batch_decoder *decoder, struct batch_reader *reader,
			       struct message_process *process)
{
	struct batch_reader list = batch_reader_array(reader, "devices");
	struct message_device *devices;
	uint32_t *notices;

	process->nr_devices = list.nr_left;
	devices = get_room(decoder, 0, process->nr_devices, sizeof(*devices));
	for (uint32_t i = 0; devices && i < process->nr_devices; i++)
		read_device(&list, &devices[i]);
	process->devices = devices;
	list = batch_reader_array(reader, "notices");
	process->nr_notices = list.nr_left;
	notices = get_room(decoder, 1, process->nr_notices, sizeof(*notices));
	for (uint32_t i = 0; notices && i < process->nr_notices; i++)
		notices[i] = read_id(&list, "a notice");
	process->notices = notices;
}

static void read_process(struct batch_decoder *decoder, struct batch_reader *reader,
			 struct message_process *process)
{
	process->seq = read_seq(reader);
	process->process_id = read_process_id(reader);
	process->pid = batch_reader_u32(reader, "pid");
	process->start_ticks = batch_reader_u64(reader, "start_ticks");
	process->pid_namespace = batch_reader_u64(reader, "pid_namespace");
	batch_reader_bytes(reader, "instance", process->instance, sizeof(process->instance));
	process->state = (uint32_t)batch_reader_uint(reader, "state", 0, PROCESS_UNCLEAN);
	process->rank = read_rank(reader, "rank");
	process->local_rank = read_rank(reader, "local_rank");
	process->world_size = read_rank(reader, "world_size");
	process->job = read_id(reader, "job");
	process->command = read_id(reader, "command");
	read_process_lists(decoder, reader, process);
}

static void read_ledger(struct batch_decoder *decoder, struct batch_reader *reader,
			struct message_ledger *ledger)
{
	struct ledger_entry *entries;
	struct batch_reader columns;
	uint32_t count;

	ledger->seq = read_seq(reader);
	ledger->process_id = read_id(reader, "process_id");
	count = ledger->nr_entries = read_count(reader, "nr_entries", WIRE_ITEMS_MAX);
	columns = batch_reader_array(reader, "ledger columns");
	entries = get_room(decoder, 0, count, sizeof(*entries));
	ledger->entries = entries;
	read_u32s(&columns, "ledger device_id", entries ? &entries->device_id : NULL,
		  sizeof(*entries), count, UINT32_MAX);
	read_u32s(&columns, "ledger reason", entries ? &entries->reason : NULL, sizeof(*entries),
		  count, UINT32_MAX);
	read_u64s(&columns, "ledger count", entries ? &entries->count : NULL, sizeof(*entries),
		  count);
	read_u64s(&columns, "ledger ns", entries ? &entries->ns : NULL, sizeof(*entries), count);
}

/* The columns of rows that are structs of row_bytes each. */
static void *read_rows(struct batch_decoder *decoder, struct batch_reader *parent,
		       const struct event_field *fields, uint32_t nr_fields, size_t row_bytes,
		       uint32_t room, uint32_t *count)
{
	*count = read_count(parent, "number of rows", WIRE_ITEMS_MAX);
	struct batch_reader reader = batch_reader_array(parent, "columns of rows");
	uint8_t *rows = get_room(decoder, room, *count, row_bytes);

	for (uint32_t i = 0; i < nr_fields; i++)
		batch_reader_column(&reader, fields[i].name,
				    &(struct column_target){
					    rows ? rows + fields[i].offset_bytes : NULL, row_bytes,
					    fields[i].width_bytes, *count, fields[i].max});
	return rows;
}

static void read_statistics(struct batch_decoder *decoder, struct batch_reader *reader,
			    struct message_statistics *statistics)
{
	statistics->seq = read_seq(reader);
	statistics->process_id = read_process_id(reader);
	statistics->calls =
		read_rows(decoder, reader, statistics_fields_call, STATISTICS_FIELDS_CALL,
			  sizeof(*statistics->calls), 0, &statistics->nr_calls);
	for (uint32_t i = 0; !decoder->fault.err && i < statistics->nr_calls; i++)
		if (statistics->calls[i].domain == 0)
			batch_fault_set(&decoder->fault, -EBADMSG, "call %u has no domain", i);
	statistics->configs =
		read_rows(decoder, reader, statistics_fields_config, STATISTICS_FIELDS_CONFIG,
			  sizeof(*statistics->configs), 1, &statistics->nr_configs);
}

static void read_streams(struct batch_decoder *decoder, struct batch_reader *reader,
			 struct message_streams *message)
{
	struct message_stream *streams;
	struct batch_reader columns;
	uint32_t count;

	message->seq = read_seq(reader);
	message->process_id = read_process_id(reader);
	count = message->nr_streams = read_count(reader, "nr_streams", WIRE_ITEMS_MAX);
	columns = batch_reader_array(reader, "stream columns");
	streams = get_room(decoder, 0, count, sizeof(*streams));
	message->streams = streams;
	read_u32s(&columns, "stream context_id", streams ? &streams->context_id : NULL,
		  sizeof(*streams), count, UINT32_MAX);
	read_u32s(&columns, "stream stream_id", streams ? &streams->stream_id : NULL,
		  sizeof(*streams), count, UINT32_MAX);
	read_u32s(&columns, "stream name", streams ? &streams->name : NULL, sizeof(*streams), count,
		  WIRE_ID_MAX);
	read_u32s(&columns, "stream priority", streams ? (uint32_t *)&streams->priority : NULL,
		  sizeof(*streams), count, UINT32_MAX);
	read_u32s(&columns, "stream flags", streams ? &streams->flags : NULL, sizeof(*streams),
		  count, UINT32_MAX);
}

static void read_ack(struct batch_reader *reader, struct message_ack *ack)
{
	ack->seq = batch_reader_u64(reader, "seq");
	ack->window_frames = batch_reader_u32(reader, "window_frames");
	ack->window_bytes = batch_reader_u64(reader, "window_bytes");
}

/* --- whole messages --- */

/* NULL: a type that this version does not read. */
static const char *message_name(uint64_t type)
{
	static const char *const names[] = {
		[MESSAGE_HELLO] = "HELLO",
		[MESSAGE_WELCOME] = "WELCOME",
		[MESSAGE_REFUSE] = "REFUSE",
		[MESSAGE_STRINGS] = "STRINGS",
		[MESSAGE_STACKS] = "STACKS",
		[MESSAGE_EVENTS] = "EVENTS",
		[MESSAGE_LEDGER] = "LEDGER",
		[MESSAGE_ACK] = "ACK",
		[MESSAGE_PROCESS] = "PROCESS",
		[MESSAGE_PING] = "PING",
		[MESSAGE_PONG] = "PONG",
		[MESSAGE_BYE] = "BYE",
		[MESSAGE_STATISTICS] = "STATISTICS",
		[MESSAGE_STREAM] = "STREAM",
	};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

static void read_body(struct batch_decoder *decoder, struct batch_reader *reader,
		      struct message *message)
{
	switch (message->type) {
	case MESSAGE_HELLO:
		read_hello(reader, &message->hello);
		break;
	case MESSAGE_WELCOME:
		read_welcome(reader, &message->welcome);
		break;
	case MESSAGE_REFUSE:
		read_refuse(reader, &message->refuse);
		break;
	case MESSAGE_STRINGS:
		read_strings(decoder, reader, &message->strings);
		break;
	case MESSAGE_STACKS:
		read_stacks(decoder, reader, &message->stacks);
		break;
	case MESSAGE_EVENTS:
		read_events(decoder, reader, &message->events);
		break;
	case MESSAGE_LEDGER:
		read_ledger(decoder, reader, &message->ledger);
		break;
	case MESSAGE_ACK:
		read_ack(reader, &message->ack);
		break;
	case MESSAGE_PROCESS:
		read_process(decoder, reader, &message->process);
		break;
	case MESSAGE_PING:
	case MESSAGE_PONG:
		message->ping.token = batch_reader_u64(reader, "token");
		break;
	case MESSAGE_BYE:
		message->bye.seq = read_seq(reader);
		break;
	case MESSAGE_STATISTICS:
		read_statistics(decoder, reader, &message->statistics);
		break;
	case MESSAGE_STREAM:
		read_streams(decoder, reader, &message->streams);
		break;
	case MESSAGE_FOLD:
	case MESSAGE_CLOCK:
		break;
	}
}

static void read_message(struct batch_decoder *decoder, struct batch_reader *reader,
			 struct message *message)
{
	uint64_t type = batch_reader_uint(reader, "type", 0, WIRE_TYPE_MAX);
	uint64_t version;

	if (decoder->fault.err)
		return;
	message->type = (enum message_type)type;
	if (!message_name(type)) {
		batch_fault_set(&decoder->fault, -EPROTONOSUPPORT, "type %u is not known",
				(unsigned int)type);
		return;
	}
	decoder->fault.message_name = message_name(type);
	version = batch_reader_u64(reader, "version");
	if (version != WIRE_VERSION)
		batch_fault_set(&decoder->fault, -EPROTONOSUPPORT, "version %llu is not known",
				(unsigned long long)version);
	read_body(decoder, reader, message);
}

/* msgpack-c only borrows strings and bins from the frame, and its tree of objects is freed here:
 * the message refers to the frame and to the rooms. */
static void decode_checked(struct batch_decoder *decoder, const uint8_t *frame, size_t size,
			   struct message *message)
{
	msgpack_unpacked unpacked;
	msgpack_unpack_return result;
	size_t offset = 0;

	msgpack_unpacked_init(&unpacked);
	result = msgpack_unpack_next(&unpacked, (const char *)frame, size, &offset);
	if (result == MSGPACK_UNPACK_NOMEM_ERROR)
		batch_fault_set(&decoder->fault, -ENOMEM, "out of memory");
	else if (result != MSGPACK_UNPACK_SUCCESS || unpacked.data.type != MSGPACK_OBJECT_ARRAY)
		batch_fault_set(&decoder->fault, -EBADMSG, "not MessagePack");
	else
		read_message(decoder,
			     &(struct batch_reader){&decoder->fault, unpacked.data.via.array.ptr,
						    unpacked.data.via.array.size},
			     message);
	msgpack_unpacked_destroy(&unpacked);
}

int batch_decode(struct batch_decoder *decoder, const uint8_t *frame, size_t size,
		 struct message *message)
{
	enum message_type type;
	size_t at;
	int err;

	memset(message, 0, sizeof(*message));
	decoder->fault.err = 0;
	decoder->fault.text[0] = '\0';
	decoder->fault.message_name = "frame";
	err = frame_check(frame, size, &at);
	if (err)
		batch_fault_set(&decoder->fault, err,
				err == -EMSGSIZE ? "over a limit at byte %zu"
						 : "malformed at byte %zu",
				at);
	else
		decode_checked(decoder, frame, size, message);
	if (decoder->fault.err) {
		type = message->type;
		memset(message, 0, sizeof(*message));
		message->type = type;
	}
	return decoder->fault.err;
}
