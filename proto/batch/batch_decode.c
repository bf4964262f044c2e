#include "batch_decode.h"

#include <errno.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "batch_control.h"
#include "batch_decode_events.h"
#include "batch_fetch.h"
#include "batch_list.h"
#include "batch_pages.h"
#include "batch_reader.h"
#include "batch_rooms.h"
#include "batch_stacks.h"
#include "frame_check.h"

struct batch_decoder {
	struct batch_rooms rooms; /* of the decoded structs */
	msgpack_zone zone;        /* of msgpack-c's objects; empty between messages */
	struct batch_fault fault;
};

struct batch_decoder *batch_decoder_create(void)
{
	struct batch_decoder *decoder = calloc(1, sizeof(*decoder));

	if (decoder && !msgpack_zone_init(&decoder->zone, MSGPACK_ZONE_CHUNK_SIZE)) {
		free(decoder);
		return NULL;
	}
	return decoder;
}

void batch_decoder_widen(struct batch_decoder *decoder)
{
	decoder->rooms.wide_ids = true;
}

void batch_decoder_destroy(struct batch_decoder *decoder)
{
	if (!decoder)
		return;
	batch_rooms_fini(&decoder->rooms);
	msgpack_zone_destroy(&decoder->zone);
	free(decoder);
}

const char *batch_decoder_error(const struct batch_decoder *decoder)
{
	return decoder->fault.text;
}

static void read_job(struct batch_reader *reader, struct message_job *job)
{
	job->key = batch_reader_text(reader, "key");
	job->user = batch_reader_text(reader, "user");
	job->title = batch_reader_text(reader, "title");
	job->nr_nodes = batch_reader_rank(reader, "nr_nodes");
	job->world_size = batch_reader_rank(reader, "world_size");
	job->flags = batch_reader_u32(reader, "flags");
}

static void read_hello(struct batch_reader *reader, struct message_hello *hello)
{
	hello->version_min = batch_reader_u32(reader, "version_min");
	hello->version_max =
		(uint32_t)batch_reader_uint(reader, "version_max", hello->version_min, UINT32_MAX);
	batch_reader_bytes(reader, "epoch", hello->epoch, sizeof(hello->epoch));
	hello->software = batch_reader_text(reader, "software");
	hello->node = batch_reader_text(reader, "node");
	hello->boot_id = batch_reader_text(reader, "boot_id");
	hello->job = (struct message_job){.nr_nodes = -1, .world_size = -1};
	hello->asks = hello->folds = hello->offers = false;
	if (reader->nr_left) {
		read_job(reader, &hello->job);
		hello->asks = hello->job.flags & MESSAGE_HELLO_ASKS;
		hello->folds = hello->job.flags & MESSAGE_HELLO_FOLDS;
		hello->offers = hello->job.flags & MESSAGE_HELLO_OFFERS;
		hello->job.flags &=
			~(MESSAGE_HELLO_ASKS | MESSAGE_HELLO_FOLDS | MESSAGE_HELLO_OFFERS);
	}
}

static void read_welcome(struct batch_reader *reader, struct message_welcome *welcome)
{
	welcome->version = batch_reader_u32(reader, "version");
	welcome->window_frames = batch_reader_u32(reader, "window_frames");
	welcome->window_bytes = batch_reader_u64(reader, "window_bytes");
	welcome->durable_seq = batch_reader_u64(reader, "durable_seq");
	welcome->profile =
		reader->nr_left ? batch_reader_text(reader, "profile") : (struct message_text){0};
	welcome->folds = reader->nr_left && batch_reader_uint(reader, "folds", 0, 1);
}

static void read_refuse(struct batch_reader *reader, struct message_refuse *refuse)
{
	refuse->code = batch_reader_u32(reader, "code");
	refuse->reason = batch_reader_text(reader, "reason");
}

static void read_proof(struct batch_reader *reader, struct message_proof *proof)
{
	proof->text = batch_reader_text(reader, "text");
	if (proof->text.size == 0)
		batch_fault_set(reader->fault, -EBADMSG, "text is empty");
	else if (proof->text.size > WIRE_PROOF_MAX)
		batch_fault_set(reader->fault, -EMSGSIZE, "text is too long");
}

static void read_strings(struct batch_decoder *decoder, struct batch_reader *reader,
			 struct message_strings *strings)
{
	struct message_text *texts;
	struct batch_reader list;
	uint32_t *owners = NULL;

	strings->seq = batch_reader_seq(reader);
	strings->base = batch_reader_u32(reader, "base");
	list = batch_reader_array(reader, "strings");
	strings->count = list.nr_left;
	batch_reader_check_base(reader, "base", strings->base, strings->count);
	texts = batch_rooms_get(&decoder->rooms, reader->fault, 0, strings->count, sizeof(*texts));
	for (uint32_t i = 0; texts && i < strings->count; i++)
		texts[i] = batch_reader_text(&list, "a string");
	strings->strings = texts;
	if (reader->nr_left) {
		owners = batch_rooms_get(&decoder->rooms, reader->fault, 1, strings->count,
					 sizeof(*owners));
		batch_reader_column(reader, "owners",
				    &(struct column_target){owners, sizeof(*owners), 4,
							    strings->count, UINT32_MAX});
	}
	strings->owners = owners;
}

static void read_device(struct batch_reader *parent, struct message_device *device)
{
	struct batch_reader reader = batch_reader_array(parent, "a device");

	device->device_id = batch_reader_u32(&reader, "device_id");
	device->index = batch_reader_rank(&reader, "device index");
	batch_reader_bytes(&reader, "device uuid", device->uuid, sizeof(device->uuid));
	device->name = batch_reader_id(&reader, "device name");
	device->pci = batch_reader_id(&reader, "device pci");
	batch_reader_column(&reader, "device limits",
			    &(struct column_target){&device->limits, sizeof(uint32_t), 4,
						    DEVICE_LIMITS, UINT32_MAX});
}

static void read_process_lists(struct batch_decoder *decoder, struct batch_reader *reader,
			       struct message_process *process)
{
	struct batch_reader list = batch_reader_array(reader, "devices");
	struct message_device *devices;
	uint32_t *notices;

	process->nr_devices = list.nr_left;
	devices = batch_rooms_get(&decoder->rooms, reader->fault, 0, process->nr_devices,
				  sizeof(*devices));
	for (uint32_t i = 0; devices && i < process->nr_devices; i++)
		read_device(&list, &devices[i]);
	process->devices = devices;
	list = batch_reader_array(reader, "notices");
	process->nr_notices = list.nr_left;
	notices = batch_rooms_get(&decoder->rooms, reader->fault, 1, process->nr_notices,
				  sizeof(*notices));
	for (uint32_t i = 0; notices && i < process->nr_notices; i++)
		notices[i] = batch_reader_id(&list, "a notice");
	process->notices = notices;
}

static void read_process(struct batch_decoder *decoder, struct batch_reader *reader,
			 struct message_process *process)
{
	process->seq = batch_reader_seq(reader);
	process->process_id = batch_reader_process_id(reader);
	process->pid = batch_reader_u32(reader, "pid");
	process->start_ticks = batch_reader_u64(reader, "start_ticks");
	process->pid_namespace = batch_reader_u64(reader, "pid_namespace");
	batch_reader_bytes(reader, "instance", process->instance, sizeof(process->instance));
	process->state = (uint32_t)batch_reader_uint(reader, "state", 0, PROCESS_UNCLEAN);
	process->rank = batch_reader_rank(reader, "rank");
	process->local_rank = batch_reader_rank(reader, "local_rank");
	process->world_size = batch_reader_rank(reader, "world_size");
	process->job = batch_reader_id(reader, "job");
	process->command = batch_reader_id(reader, "command");
	read_process_lists(decoder, reader, process);
}

/* Reads a message of lists. Each such struct begins with seq and process_id, as message_ledger does. */
static void read_lists(struct batch_decoder *decoder, struct batch_reader *reader,
		       struct message *message)
{
	const struct message_layout *layout = message_layout(message->type);

	message->ledger.seq = batch_reader_seq(reader);
	message->ledger.process_id = message->type == MESSAGE_LEDGER
					     ? batch_reader_id(reader, "process_id")
					     : batch_reader_process_id(reader);
	for (uint32_t i = 0; i < layout->nr_lists; i++)
		batch_list_get(&decoder->rooms, i, reader, &layout->lists[i], message);
	if (message->type == MESSAGE_SAMPLES)
		message->samples.realtime_offset_ns =
			batch_reader_int(reader, "realtime_offset_ns", INT64_MIN, INT64_MAX);
}

static void read_ack(struct batch_reader *reader, struct message_ack *ack)
{
	ack->seq = batch_reader_u64(reader, "seq");
	ack->window_frames = batch_reader_u32(reader, "window_frames");
	ack->window_bytes = batch_reader_u64(reader, "window_bytes");
	ack->round_ms = reader->nr_left ? batch_reader_u32(reader, "round_ms") : 0;
}

static void read_clock(struct batch_reader *reader, struct message_clock *clock)
{
	clock->kind = (uint32_t)batch_reader_uint(reader, "kind", 0, CLOCK_KINDS - 1);
	clock->t1_ns = batch_reader_u64(reader, "t1_ns");
	clock->t2_ns = batch_reader_u64(reader, "t2_ns");
	clock->t3_ns = batch_reader_u64(reader, "t3_ns");
	clock->realtime_offset_ns =
		batch_reader_int(reader, "realtime_offset_ns", INT64_MIN, INT64_MAX);
	clock->offset_ns = batch_reader_int(reader, "offset_ns", INT64_MIN, INT64_MAX);
	clock->bound_ns = batch_reader_u64(reader, "bound_ns");
	clock->round_trip_ns = batch_reader_u64(reader, "round_trip_ns");
}

/* ---- whole messages */

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
		batch_decode_stacks(&decoder->rooms, reader, message);
		break;
	case MESSAGE_EVENTS:
		batch_decode_events(&decoder->rooms, reader, &message->events);
		break;
	case MESSAGE_LEDGER:
	case MESSAGE_STATISTICS:
	case MESSAGE_STREAM:
	case MESSAGE_SAMPLES:
	case MESSAGE_COLLECTIVES:
	case MESSAGE_PLACEMENT:
		read_lists(decoder, reader, message);
		break;
	case MESSAGE_PAGES:
		batch_decode_pages(&decoder->rooms, reader, message);
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
		message->ping.ended_ms = reader->nr_left ? batch_reader_u64(reader, "ended_ms") : 0;
		break;
	case MESSAGE_BYE:
		message->bye.seq = batch_reader_seq(reader);
		break;
	case MESSAGE_CLOCK:
		read_clock(reader, &message->clock);
		break;
	case MESSAGE_CONTROL:
		batch_decode_control(&decoder->rooms, reader, &message->control);
		break;
	case MESSAGE_FETCH:
		batch_decode_fetch(&decoder->rooms, reader, &message->fetch);
		break;
	case MESSAGE_PROOF:
		read_proof(reader, &message->proof);
		break;
	}
}

static void read_message(struct batch_decoder *decoder, struct batch_reader *reader,
			 struct message *message)
{
	uint64_t type = batch_reader_uint(reader, "type", 0, WIRE_TYPE_MAX);
	const struct message_layout *layout = message_layout(type);
	uint64_t version;

	if (decoder->fault.err)
		return;
	message->type = (enum message_type)type;
	if (!layout) {
		batch_fault_set(&decoder->fault, -EPROTONOSUPPORT, "type %u is not known",
				(unsigned int)type);
		return;
	}
	decoder->fault.message_name = layout->name;
	version = batch_reader_u64(reader, "version");
	if (version != message_version(message->type))
		batch_fault_set(&decoder->fault, -EPROTONOSUPPORT, "version %llu is not known",
				(unsigned long long)version);
	read_body(decoder, reader, message);
}

/* Decodes a checked frame. msgpack-c only borrows strings and bins from the frame, and its tree of objects is emptied
 * here. So the message refers to the frame and to the rooms. */
static void decode_checked(struct batch_decoder *decoder, const uint8_t *frame, size_t size,
			   struct message *message)
{
	msgpack_object object;
	size_t offset = 0;
	const msgpack_unpack_return result =
		msgpack_unpack((const char *)frame, size, &offset, &decoder->zone, &object);

	if (result == MSGPACK_UNPACK_NOMEM_ERROR)
		batch_fault_set(&decoder->fault, -ENOMEM, "out of memory");
	else if (result != MSGPACK_UNPACK_SUCCESS || object.type != MSGPACK_OBJECT_ARRAY)
		batch_fault_set(&decoder->fault, -EBADMSG, "not MessagePack");
	else
		read_message(decoder,
			     &(struct batch_reader){&decoder->fault, object.via.array.ptr,
						    object.via.array.size},
			     message);
	msgpack_zone_clear(&decoder->zone);
}

/* A frame is an array, whose first element is the type. */
enum message_type batch_frame_type(const uint8_t *frame, size_t size)
{
	const size_t at = size > 0 && (frame[0] & 0xf0) == 0x90 ? 1
			  : size > 0 && frame[0] == 0xdc        ? 3
								: size;

	return at < size && frame[at] <= INT8_MAX ? (enum message_type)frame[at]
						  : (enum message_type)0;
}

/* Reads an unsigned number in any of MessagePack's forms. false: there is none. */
static bool peek_number(const uint8_t *frame, size_t size, size_t *at, uint64_t *number)
{
	if (*at >= size)
		return false;
	const uint8_t first = frame[(*at)++];
	const uint32_t nr_bytes = first >= 0xcc && first <= 0xcf ? 1u << (first - 0xcc) : 0;

	*number = first;
	if (first <= INT8_MAX)
		return true;
	if (!nr_bytes || nr_bytes > size - *at)
		return false;
	*number = 0;
	for (uint32_t i = 0; i < nr_bytes; i++)
		*number = *number << 8 | frame[(*at)++];
	return true;
}

uint32_t batch_frame_process(const uint8_t *frame, size_t size)
{
	size_t at = 1;
	uint64_t number = 0;

	if (size == 0 || (frame[0] & 0xf0) != 0x90 ||
	    batch_frame_type(frame, size) != MESSAGE_EVENTS)
		return 0;
	for (uint32_t i = 0; i < 4; i++) /* type, version, seq, process_id */
		if (!peek_number(frame, size, &at, &number))
			return 0;
	return number <= UINT32_MAX ? (uint32_t)number : 0;
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
