#include "batch_encode.h"

#include <errno.h>
#include <stdlib.h>

#include "batch_control.h"
#include "batch_encode_events.h"
#include "batch_fetch.h"
#include "batch_list.h"
#include "batch_pages.h"
#include "batch_stacks.h"
#include "batch_writer.h"

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

void batch_encoder_widen(struct batch_encoder *encoder)
{
	encoder->writer.wide_ids = true;
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

/* Returns whether HELLO has the elements of a job. */
static bool has_more(const struct message_hello *hello)
{
	return hello->job.key.size || hello->asks || hello->folds || hello->offers;
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
	if (!has_more(hello))
		return;
	batch_writer_text(writer, &hello->job.key);
	batch_writer_text(writer, &hello->job.user);
	batch_writer_text(writer, &hello->job.title);
	put_rank(writer, hello->job.nr_nodes);
	put_rank(writer, hello->job.world_size);
	batch_writer_uint(writer, hello->job.flags | (hello->asks ? MESSAGE_HELLO_ASKS : 0) |
					  (hello->folds ? MESSAGE_HELLO_FOLDS : 0) |
					  (hello->offers ? MESSAGE_HELLO_OFFERS : 0));
}

static void put_welcome(struct batch_writer *writer, const struct message_welcome *welcome)
{
	batch_writer_uint(writer, welcome->version);
	batch_writer_uint(writer, welcome->window_frames);
	batch_writer_uint(writer, welcome->window_bytes);
	batch_writer_uint(writer, welcome->durable_seq);
	if (welcome->profile.size || welcome->folds)
		batch_writer_text(writer, &welcome->profile);
	if (welcome->folds)
		batch_writer_uint(writer, welcome->folds);
}

static void put_refuse(struct batch_writer *writer, const struct message_refuse *refuse)
{
	batch_writer_uint(writer, refuse->code);
	batch_writer_text(writer, &refuse->reason);
}

static void put_proof(struct batch_writer *writer, const struct message_proof *proof)
{
	batch_writer_require(writer, proof->text.size > 0 && proof->text.size <= WIRE_PROOF_MAX);
	batch_writer_text(writer, &proof->text);
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

/* Writes a message of lists. Each such struct begins with seq and process_id, as message_ledger does. */
static void put_lists(struct batch_writer *writer, const struct message *message)
{
	const struct message_layout *layout = message_layout(message->type);
	uint32_t nr_lists = layout->nr_lists;

	batch_writer_seq(writer, message->ledger.seq);
	batch_writer_require(writer,
			     message->ledger.process_id > 0 || message->type == MESSAGE_LEDGER);
	batch_writer_id(writer, message->ledger.process_id);
	while (nr_lists > 0 && batch_list_is_left_out(&layout->lists[nr_lists - 1], message))
		nr_lists--;
	for (uint32_t i = 0; i < nr_lists && !writer->err; i++)
		batch_list_put(writer, &layout->lists[i], message);
	if (message->type == MESSAGE_SAMPLES)
		batch_writer_int(writer, message->samples.realtime_offset_ns);
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
	if (ack->round_ms)
		batch_writer_uint(writer, ack->round_ms);
}

/* ---- whole messages */

/* Returns the number of elements that newer versions added. They are left out if they are empty. */
static uint32_t nr_more_elements(const struct message *message)
{
	if (message->type == MESSAGE_HELLO && has_more(&message->hello))
		return 6;
	if (message->type == MESSAGE_STRINGS && message->strings.owners)
		return 1;
	if (message->type == MESSAGE_ACK && message->ack.round_ms)
		return 1;
	if ((message->type == MESSAGE_PING || message->type == MESSAGE_PONG) &&
	    message->ping.ended_ms)
		return 1;
	if (message->type == MESSAGE_CONTROL && message->control.job_key.size)
		return 2;
	if (message->type == MESSAGE_STATISTICS && message->statistics.nr_metrics)
		return 2;
	if (message->type == MESSAGE_PLACEMENT && message->placement.nr_counters)
		return 8;
	if (message->type == MESSAGE_PLACEMENT && message->placement.nr_counter_states)
		return 6;
	if (message->type == MESSAGE_PLACEMENT && message->placement.nr_telemetry)
		return 4;
	if (message->type == MESSAGE_PLACEMENT && message->placement.nr_links)
		return 2;
	if (message->type == MESSAGE_WELCOME && message->welcome.folds)
		return 2;
	return message->type == MESSAGE_WELCOME && message->welcome.profile.size;
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
		batch_encode_stacks(writer, message);
		break;
	case MESSAGE_EVENTS:
		batch_encode_events(writer, &encoder->durations, &message->events);
		break;
	case MESSAGE_LEDGER:
	case MESSAGE_STATISTICS:
	case MESSAGE_STREAM:
	case MESSAGE_SAMPLES:
	case MESSAGE_COLLECTIVES:
	case MESSAGE_PLACEMENT:
		put_lists(writer, message);
		break;
	case MESSAGE_PAGES:
		batch_encode_pages(writer, message);
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
		if (message->ping.ended_ms)
			batch_writer_uint(writer, message->ping.ended_ms);
		break;
	case MESSAGE_BYE:
		batch_writer_seq(writer, message->bye.seq);
		break;
	case MESSAGE_CLOCK:
		put_clock(writer, &message->clock);
		break;
	case MESSAGE_CONTROL:
		batch_encode_control(writer, &message->control);
		break;
	case MESSAGE_FETCH:
		batch_encode_fetch(writer, &message->fetch);
		break;
	case MESSAGE_PROOF:
		put_proof(writer, &message->proof);
		break;
	}
}

int batch_encode(struct batch_encoder *encoder, const struct message *message,
		 const uint8_t **frame, size_t *size)
{
	struct batch_writer *writer = &encoder->writer;
	const struct message_layout *layout = message_layout(message->type);

	*frame = NULL;
	*size = 0;
	if (!layout)
		return -EINVAL;
	batch_writer_restart(writer);
	batch_writer_array(writer, layout->nr_elements + nr_more_elements(message));
	batch_writer_uint(writer, message->type);
	batch_writer_uint(writer, message_version(message->type));
	put_body(encoder, message);
	if (writer->err)
		return writer->err;
	*frame = writer->frame;
	*size = writer->size;
	return 0;
}
