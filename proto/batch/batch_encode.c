#include "batch_encode.h"

#include <errno.h>
#include <stdlib.h>

#include "batch_control.h"
#include "batch_encode_collectives.h"
#include "batch_encode_events.h"
#include "batch_encode_stacks.h"
#include "batch_placement.h"
#include "batch_writer.h"
#include "event_fields.h"
#include "list_fields.h"
#include "statistics_fields.h"

struct batch_encoder {
	struct batch_writer writer;
	struct batch_durations durations;
};

struct batch_encoder *batch_encoder_create(void)
{
	struct batch_encoder *encoder = malloc(sizeof(*encoder));

	if (!encoder)
		return NULL;
	*encoder = (struct batch_encoder){0};
	batch_writer_init(&encoder->writer);
	return encoder;
}

void batch_encoder_destroy(struct batch_encoder *encoder)
{
	if (!encoder)
		return;
	batch_writer_fini(&encoder->writer);
	batch_durations_fini(&encoder->durations);
	free(encoder);
}

static void put_rank(struct batch_writer *writer, int32_t rank)
{
	batch_writer_require(writer, rank >= MESSAGE_RANK_NONE);
	batch_writer_int(writer, rank);
}

static void put_hello(struct batch_writer *writer, const struct message_hello *hello)
{
	batch_writer_require(writer, hello->version_min <= hello->version_max);
	batch_writer_uint(writer, hello->version_min);
	batch_writer_uint(writer, hello->version_max);
	batch_writer_bin(writer, hello->epoch, sizeof(hello->epoch));
	batch_writer_text(writer, &hello->software);
	batch_writer_text(writer, &hello->node);
	batch_writer_text(writer, &hello->boot_id);
	if (hello->job.key.size == 0 && !hello->asks)
		return;
	batch_writer_text(writer, &hello->job.key);
	batch_writer_text(writer, &hello->job.user);
	batch_writer_text(writer, &hello->job.title);
	put_rank(writer, hello->job.nr_nodes);
	put_rank(writer, hello->job.world_size);
	batch_writer_uint(writer, hello->job.flags | (hello->asks ? MESSAGE_HELLO_ASKS : 0));
}

static void put_welcome(struct batch_writer *writer, const struct message_welcome *welcome)
{
	batch_writer_uint(writer, welcome->version);
	batch_writer_uint(writer, welcome->window_frames);
	batch_writer_uint(writer, welcome->window_bytes);
	batch_writer_uint(writer, welcome->durable_seq);
	if (welcome->profile.size)
		batch_writer_text(writer, &welcome->profile);
}

static void put_refuse(struct batch_writer *writer, const struct message_refuse *refuse)
{
	batch_writer_uint(writer, refuse->code);
	batch_writer_text(writer, &refuse->reason);
}

static void put_strings(struct batch_writer *writer, const struct message_strings *strings)
{
	batch_writer_seq(writer, strings->seq);
	batch_writer_base(writer, strings->base, strings->count);
	batch_writer_array(writer, strings->count);
	for (uint32_t i = 0; i < strings->count && !writer->err; i++)
		batch_writer_text(writer, &strings->strings[i]);
	if (strings->owners)
		batch_writer_column(writer,
				    &(struct column_source){strings->owners, sizeof(uint32_t), 4,
							    strings->count});
}

static void put_device(struct batch_writer *writer, const struct message_device *device)
{
	batch_writer_array(writer, 6);
	batch_writer_uint(writer, device->device_id);
	batch_writer_require(writer, device->index >= MESSAGE_INDEX_NONE);
	batch_writer_int(writer, device->index);
	batch_writer_bin(writer, device->uuid, sizeof(device->uuid));
	batch_writer_id(writer, device->name);
	batch_writer_id(writer, device->pci);
	batch_writer_column(writer, &(struct column_source){&device->limits, sizeof(uint32_t), 4,
							    DEVICE_LIMITS});
}

static void put_process(struct batch_writer *writer, const struct message_process *process)
{
	batch_writer_seq(writer, process->seq);
	batch_writer_require(writer, process->process_id > 0);
	batch_writer_id(writer, process->process_id);
	batch_writer_uint(writer, process->pid);
	batch_writer_uint(writer, process->start_ticks);
	batch_writer_uint(writer, process->pid_namespace);
	batch_writer_bin(writer, process->instance, sizeof(process->instance));
	batch_writer_require(writer, process->state <= PROCESS_UNCLEAN);
	batch_writer_uint(writer, process->state);
	put_rank(writer, process->rank);
	put_rank(writer, process->local_rank);
	put_rank(writer, process->world_size);
	batch_writer_id(writer, process->job);
	batch_writer_id(writer, process->command);
	batch_writer_array(writer, process->nr_devices);
	for (uint32_t i = 0; i < process->nr_devices && !writer->err; i++)
		put_device(writer, &process->devices[i]);
	batch_writer_array(writer, process->nr_notices);
	for (uint32_t i = 0; i < process->nr_notices && !writer->err; i++)
		batch_writer_id(writer, process->notices[i]);
}

static void put_ledger(struct batch_writer *writer, const struct message_ledger *ledger)
{
	const struct ledger_entry *entries = ledger->entries;
	uint32_t count = ledger->nr_entries;

	batch_writer_seq(writer, ledger->seq);
	batch_writer_id(writer, ledger->process_id);
	batch_writer_count(writer, count, WIRE_ITEMS_MAX);
	if (writer->err)
		return;
	batch_writer_array(writer, 4);
	batch_writer_rows(writer, list_fields_ledger, LIST_FIELDS_LEDGER, entries, sizeof(*entries),
			  count);
}

/* rows: an array of struct message_api_call or message_kernel_config. */
static void put_rows(struct batch_writer *writer, const struct event_field *fields,
		     uint32_t nr_fields, const void *rows, size_t row_bytes, uint32_t count)
{
	batch_writer_count(writer, count, WIRE_ITEMS_MAX);
	batch_writer_array(writer, nr_fields);
	batch_writer_rows(writer, fields, nr_fields, rows, row_bytes, count);
}

static void put_statistics(struct batch_writer *writer, const struct message_statistics *statistics)
{
	batch_writer_seq(writer, statistics->seq);
	batch_writer_require(writer, statistics->process_id > 0);
	batch_writer_id(writer, statistics->process_id);
	for (uint32_t i = 0; i < statistics->nr_calls; i++)
		batch_writer_require(writer, statistics->calls[i].domain != 0);
	put_rows(writer, statistics_fields_call, STATISTICS_FIELDS_CALL, statistics->calls,
		 sizeof(*statistics->calls), statistics->nr_calls);
	put_rows(writer, statistics_fields_config, STATISTICS_FIELDS_CONFIG, statistics->configs,
		 sizeof(*statistics->configs), statistics->nr_configs);
}

static void put_streams(struct batch_writer *writer, const struct message_streams *message)
{
	batch_writer_seq(writer, message->seq);
	batch_writer_require(writer, message->process_id > 0);
	batch_writer_id(writer, message->process_id);
	put_rows(writer, list_fields_stream, LIST_FIELDS_STREAM, message->streams,
		 sizeof(*message->streams), message->nr_streams);
	put_rows(writer, list_fields_context, LIST_FIELDS_CONTEXT, message->contexts,
		 sizeof(*message->contexts), message->nr_contexts);
}

static void put_samples(struct batch_writer *writer, const struct message_samples *message)
{
	const struct host_sample *samples = message->samples;
	uint32_t count = message->nr_samples;

	batch_writer_seq(writer, message->seq);
	batch_writer_require(writer, message->process_id > 0);
	batch_writer_id(writer, message->process_id);
	batch_writer_count(writer, count, WIRE_EVENTS_MAX);
	if (writer->err)
		return;
	for (uint32_t i = 0; i < count; i++)
		batch_writer_require(writer, samples[i].duration_ns > 0);
	batch_writer_array(writer, EVENT_FIELDS_SAMPLE);
	batch_writer_rows(writer, event_fields_sample, EVENT_FIELDS_SAMPLE, samples,
			  sizeof(*samples), count);
	batch_writer_int(writer, message->realtime_offset_ns);
}

static void put_clock(struct batch_writer *writer, const struct message_clock *clock)
{
	batch_writer_require(writer, clock->kind < CLOCK_KINDS);
	batch_writer_uint(writer, clock->kind);
	batch_writer_uint(writer, clock->t1_ns);
	batch_writer_uint(writer, clock->t2_ns);
	batch_writer_uint(writer, clock->t3_ns);
	batch_writer_int(writer, clock->realtime_offset_ns);
	batch_writer_int(writer, clock->offset_ns);
	batch_writer_uint(writer, clock->bound_ns);
	batch_writer_uint(writer, clock->round_trip_ns);
}

static void put_ack(struct batch_writer *writer, const struct message_ack *ack)
{
	batch_writer_uint(writer, ack->seq);
	batch_writer_uint(writer, ack->window_frames);
	batch_writer_uint(writer, ack->window_bytes);
}

/* ---- whole messages */

/* Returns the number of elements that newer versions added. They are left out if they are empty. */
static uint32_t nr_more_elements(const struct message *message)
{
	if (message->type == MESSAGE_HELLO && (message->hello.job.key.size || message->hello.asks))
		return 6;
	if (message->type == MESSAGE_STRINGS && message->strings.owners)
		return 1;
	if (message->type == MESSAGE_CONTROL && message->control.job_key.size)
		return 2;
	return message->type == MESSAGE_WELCOME && message->welcome.profile.size;
}

/* Returns the elements of the frame's own array, type and version included. 0: this message is never sent. */
static uint32_t nr_elements_of(enum message_type type)
{
	switch (type) {
	case MESSAGE_HELLO:
		return 8;
	case MESSAGE_WELCOME:
		return 6;
	case MESSAGE_REFUSE:
		return 4;
	case MESSAGE_STRINGS:
		return 5;
	case MESSAGE_STACKS:
		return 8;
	case MESSAGE_EVENTS:
		return 10;
	case MESSAGE_LEDGER:
		return 6;
	case MESSAGE_ACK:
		return 5;
	case MESSAGE_PROCESS:
		return 16;
	case MESSAGE_STREAM:
		return 8;
	case MESSAGE_SAMPLES:
		return 7;
	case MESSAGE_PING:
	case MESSAGE_PONG:
	case MESSAGE_BYE:
		return 3;
	case MESSAGE_STATISTICS:
	case MESSAGE_COLLECTIVES:
		return 8;
	case MESSAGE_PLACEMENT:
		return 8;
	case MESSAGE_CLOCK:
		return 10;
	case MESSAGE_CONTROL:
		return 12;
	case MESSAGE_FOLD:
		break;
	}
	return 0;
}

static void put_body(struct batch_encoder *encoder, const struct message *message)
{
	struct batch_writer *writer = &encoder->writer;

	switch (message->type) {
	case MESSAGE_HELLO:
		put_hello(writer, &message->hello);
		break;
	case MESSAGE_WELCOME:
		put_welcome(writer, &message->welcome);
		break;
	case MESSAGE_REFUSE:
		put_refuse(writer, &message->refuse);
		break;
	case MESSAGE_STRINGS:
		put_strings(writer, &message->strings);
		break;
	case MESSAGE_STACKS:
		batch_encode_stacks(writer, &message->stacks);
		break;
	case MESSAGE_EVENTS:
		batch_encode_events(writer, &encoder->durations, &message->events);
		break;
	case MESSAGE_LEDGER:
		put_ledger(writer, &message->ledger);
		break;
	case MESSAGE_ACK:
		put_ack(writer, &message->ack);
		break;
	case MESSAGE_PROCESS:
		put_process(writer, &message->process);
		break;
	case MESSAGE_PING:
	case MESSAGE_PONG:
		batch_writer_uint(writer, message->ping.token);
		break;
	case MESSAGE_BYE:
		batch_writer_seq(writer, message->bye.seq);
		break;
	case MESSAGE_STATISTICS:
		put_statistics(writer, &message->statistics);
		break;
	case MESSAGE_STREAM:
		put_streams(writer, &message->streams);
		break;
	case MESSAGE_SAMPLES:
		put_samples(writer, &message->samples);
		break;
	case MESSAGE_COLLECTIVES:
		batch_encode_collectives(writer, &message->collectives);
		break;
	case MESSAGE_PLACEMENT:
		batch_encode_placement(writer, &message->placement);
		break;
	case MESSAGE_CLOCK:
		put_clock(writer, &message->clock);
		break;
	case MESSAGE_CONTROL:
		batch_encode_control(writer, &message->control);
		break;
	case MESSAGE_FOLD:
		break;
	}
}

int batch_encode(struct batch_encoder *encoder, const struct message *message,
		 const uint8_t **frame, size_t *size)
{
	struct batch_writer *writer = &encoder->writer;
	uint32_t nr_elements = nr_elements_of(message->type) + nr_more_elements(message);

	*frame = NULL;
	*size = 0;
	if (nr_elements == 0)
		return -EINVAL;
	batch_writer_restart(writer);
	batch_writer_array(writer, nr_elements);
	batch_writer_uint(writer, message->type);
	batch_writer_uint(writer, message_version(message->type));
	put_body(encoder, message);
	if (writer->err)
		return writer->err;
	*frame = writer->frame;
	*size = writer->size;
	return 0;
}
