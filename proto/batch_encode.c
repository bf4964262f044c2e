#include "proto/batch_encode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/batch_writer.h"
#include "proto/event_fields.h"
#include "proto/statistics_fields.h"

struct batch_encoder {
	struct batch_writer writer;
	uint64_t *durations; /* owns; of gpu_records */
	size_t durations_capacity;
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
	free(encoder->durations);
	free(encoder);
}

static void put_id(struct batch_writer *writer, uint32_t id)
{
	if (id > WIRE_ID_MAX)
		batch_writer_fail(writer, -EMSGSIZE);
	batch_writer_uint(writer, id);
}

/* A count and the id of the first: the last id must fit, too. */
static void put_base(struct batch_writer *writer, uint32_t base, uint32_t count)
{
	if (count > WIRE_ITEMS_MAX || (uint64_t)base + count > WIRE_ID_MAX + 1ull)
		batch_writer_fail(writer, -EMSGSIZE);
	batch_writer_require(writer, base > 0 || count == 0);
	batch_writer_uint(writer, base);
}

static void put_count(struct batch_writer *writer, uint32_t count, uint32_t max)
{
	if (count > max)
		batch_writer_fail(writer, -EMSGSIZE);
	batch_writer_uint(writer, count);
}

static void put_seq(struct batch_writer *writer, uint64_t seq)
{
	batch_writer_require(writer, seq > 0);
	batch_writer_uint(writer, seq);
}

static void put_u32s(struct batch_writer *writer, const void *first, size_t stride_bytes,
		     uint32_t count)
{
	batch_writer_column(writer, &(struct column_source){first, stride_bytes, 4, count});
}

static void put_u64s(struct batch_writer *writer, const void *first, size_t stride_bytes,
		     uint32_t count)
{
	batch_writer_column(writer, &(struct column_source){first, stride_bytes, 8, count});
}

/* As put_u32s(), of ids from min on. */
static void put_ids(struct batch_writer *writer, const void *first, size_t stride_bytes,
		    uint32_t count, uint32_t min)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t id;

		memcpy(&id, (const uint8_t *)first + i * stride_bytes, sizeof(id));
		batch_writer_require(writer, id >= min);
		if (id > WIRE_ID_MAX)
			batch_writer_fail(writer, -EMSGSIZE);
	}
	put_u32s(writer, first, stride_bytes, count);
}

/* --- events --- */

/* Which bits of a record differ from those of the first record, in any of the others: most fields
 * of most batches don't differ at all, and one pass over whole words finds them. */
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

static uint64_t load_field(const void *bytes, uint32_t width_bytes)
{
	return column_survey(&(struct column_source){bytes, width_bytes, width_bytes, 1}).first;
}

static bool exceeds(const struct column_source *source, uint64_t max)
{
	const uint8_t *at = source->values;

	for (uint32_t i = 0; i < source->count; i++)
		if (load_field(at + i * source->stride_bytes, source->width_bytes) > max)
			return true;
	return false;
}

static void put_field(struct batch_writer *writer, const struct event_field *field,
		      const struct column_source *source, const union varying *varying)
{
	uint64_t differs = load_field(varying->bytes + field->offset_bytes, field->width_bytes);
	uint64_t first = load_field(source->values, field->width_bytes);

	/* No value has a bit that neither the first has nor differs: mostly that bounds them all.
	 */
	if ((first | differs) > field->max && exceeds(source, field->max))
		batch_writer_fail(writer, field->max == WIRE_ID_MAX ? -EMSGSIZE : -EINVAL);
	if (differs)
		batch_writer_column(writer, source);
	else
		batch_writer_uint(writer, first);
}

static void put_launches(struct batch_writer *writer, const struct launch_record *records,
			 uint32_t count)
{
	union varying varying;

	put_count(writer, count, WIRE_EVENTS_MAX);
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

static int fill_durations(struct batch_encoder *encoder, const struct gpu_record *records,
			  uint32_t count)
{
	void *durations = encoder->durations;
	bool invalid = false;

	if (!batch_writer_grow(&durations, &encoder->durations_capacity, count * sizeof(uint64_t)))
		return -ENOMEM;
	encoder->durations = durations;
	for (uint32_t i = 0; i < count; i++) {
		encoder->durations[i] = records[i].end_ns - records[i].start_ns;
		invalid |= records[i].start_ns - 1 >= records[i].end_ns; /* 0, or after the end */
	}
	return invalid ? -EINVAL : 0;
}

static void put_gpu(struct batch_encoder *encoder, const struct gpu_record *records, uint32_t count)
{
	struct batch_writer *writer = &encoder->writer;
	union varying varying;
	int err;

	put_count(writer, count, WIRE_EVENTS_MAX);
	batch_writer_array(writer, count ? EVENT_FIELDS_GPU : 0);
	if (writer->err || count == 0)
		return;
	err = fill_durations(encoder, records, count);
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
			source.values = encoder->durations;
			source.stride_bytes = sizeof(*encoder->durations);
			batch_writer_column(writer, &source);
		} else {
			put_field(writer, field, &source, &varying);
		}
	}
}

static void put_events(struct batch_encoder *encoder, const struct message_events *events)
{
	struct batch_writer *writer = &encoder->writer;

	put_seq(writer, events->seq);
	batch_writer_require(writer, events->process_id > 0);
	put_id(writer, events->process_id);
	batch_writer_int(writer, events->clock_offset_ns);
	batch_writer_require(writer, events->clock_valid <= 1);
	batch_writer_uint(writer, events->clock_valid);
	put_launches(writer, events->launches, events->nr_launches);
	put_gpu(encoder, events->gpu, events->nr_gpu);
}

/* --- the other messages --- */

static void put_hello(struct batch_writer *writer, const struct message_hello *hello)
{
	batch_writer_require(writer, hello->version_min <= hello->version_max);
	batch_writer_uint(writer, hello->version_min);
	batch_writer_uint(writer, hello->version_max);
	batch_writer_bin(writer, hello->epoch, sizeof(hello->epoch));
	batch_writer_text(writer, &hello->software);
	batch_writer_text(writer, &hello->node);
	batch_writer_text(writer, &hello->boot_id);
}

static void put_welcome(struct batch_writer *writer, const struct message_welcome *welcome)
{
	batch_writer_uint(writer, welcome->version);
	batch_writer_uint(writer, welcome->window_frames);
	batch_writer_uint(writer, welcome->window_bytes);
	batch_writer_uint(writer, welcome->durable_seq);
}

static void put_refuse(struct batch_writer *writer, const struct message_refuse *refuse)
{
	batch_writer_uint(writer, refuse->code);
	batch_writer_text(writer, &refuse->reason);
}

static void put_strings(struct batch_writer *writer, const struct message_strings *strings)
{
	put_seq(writer, strings->seq);
	put_base(writer, strings->base, strings->count);
	batch_writer_array(writer, strings->count);
	for (uint32_t i = 0; i < strings->count && !writer->err; i++)
		batch_writer_text(writer, &strings->strings[i]);
}

static void put_modules(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_module *modules = stacks->modules;
	uint32_t count = stacks->nr_modules;

	batch_writer_array(writer, 5);
	put_base(writer, stacks->module_base, count);
	batch_writer_uint(writer, count);
	if (writer->err)
		return;
	put_ids(writer, count ? &modules->path : NULL, sizeof(*modules), count, 0);
	put_u32s(writer, count ? &modules->flags : NULL, sizeof(*modules), count);
	batch_writer_array(writer, count);
	for (uint32_t i = 0; i < count && !writer->err; i++) {
		if (modules[i].build_id_size > WIRE_BUILD_ID_MAX)
			batch_writer_fail(writer, -EMSGSIZE);
		else
			batch_writer_bin(writer, modules[i].build_id, modules[i].build_id_size);
	}
}

static void put_frames(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_frame *frames = stacks->frames;
	uint32_t count = stacks->nr_frames;

	batch_writer_array(writer, 5);
	put_base(writer, stacks->frame_base, count);
	batch_writer_uint(writer, count);
	if (writer->err)
		return;
	for (uint32_t i = 0; i < count; i++)
		batch_writer_require(writer, frames[i].module == 0 || frames[i].code == 0);
	put_ids(writer, count ? &frames->module : NULL, sizeof(*frames), count, 0);
	put_u64s(writer, count ? &frames->offset : NULL, sizeof(*frames), count);
	put_ids(writer, count ? &frames->code : NULL, sizeof(*frames), count, 0);
}

static void put_nodes(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_node *nodes = stacks->nodes;
	uint32_t count = stacks->nr_nodes;

	batch_writer_array(writer, 4);
	put_base(writer, stacks->node_base, count);
	batch_writer_uint(writer, count);
	if (writer->err)
		return;
	for (uint32_t i = 0; i < count; i++)
		batch_writer_require(writer, nodes[i].parent < stacks->node_base + i);
	put_ids(writer, count ? &nodes->parent : NULL, sizeof(*nodes), count, 0);
	put_ids(writer, count ? &nodes->frame : NULL, sizeof(*nodes), count, 1);
}

static void put_symbols(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_symbol *symbols = stacks->symbols;
	uint32_t count = stacks->nr_symbols;

	batch_writer_array(writer, 3);
	put_count(writer, count, WIRE_ITEMS_MAX);
	if (writer->err)
		return;
	put_ids(writer, count ? &symbols->frame : NULL, sizeof(*symbols), count, 1);
	put_ids(writer, count ? &symbols->name : NULL, sizeof(*symbols), count, 0);
}

static void put_codes(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_code *codes = stacks->codes;
	uint32_t count = stacks->nr_codes;

	batch_writer_array(writer, 4);
	put_base(writer, stacks->code_base, count);
	batch_writer_uint(writer, count);
	if (writer->err)
		return;
	put_ids(writer, count ? &codes->file : NULL, sizeof(*codes), count, 0);
	put_ids(writer, count ? &codes->name : NULL, sizeof(*codes), count, 1);
}

static void put_stacks(struct batch_writer *writer, const struct message_stacks *stacks)
{
	put_seq(writer, stacks->seq);
	put_modules(writer, stacks);
	put_frames(writer, stacks);
	put_nodes(writer, stacks);
	put_symbols(writer, stacks);
	put_codes(writer, stacks);
}

static void put_device(struct batch_writer *writer, const struct message_device *device)
{
	batch_writer_array(writer, 6);
	batch_writer_uint(writer, device->device_id);
	batch_writer_require(writer, device->index >= MESSAGE_INDEX_NONE);
	batch_writer_int(writer, device->index);
	batch_writer_bin(writer, device->uuid, sizeof(device->uuid));
	put_id(writer, device->name);
	put_id(writer, device->pci);
	put_u32s(writer, &device->limits, sizeof(uint32_t), DEVICE_LIMITS);
}

static void put_rank(struct batch_writer *writer, int32_t rank)
{
	batch_writer_require(writer, rank >= MESSAGE_RANK_NONE);
	batch_writer_int(writer, rank);
}

static void put_process(struct batch_writer *writer, const struct message_process *process)
{
	put_seq(writer, process->seq);
	batch_writer_require(writer, process->process_id > 0);
	put_id(writer, process->process_id);
	batch_writer_uint(writer, process->pid);
	batch_writer_uint(writer, process->start_ticks);
	batch_writer_uint(writer, process->pid_namespace);
	batch_writer_bin(writer, process->instance, sizeof(process->instance));
	batch_writer_require(writer, process->state <= PROCESS_UNCLEAN);
	batch_writer_uint(writer, process->state);
	put_rank(writer, process->rank);
	put_rank(writer, process->local_rank);
	put_rank(writer, process->world_size);
	put_id(writer, process->job);
	put_id(writer, process->command);
	batch_writer_array(writer, process->nr_devices);
	for (uint32_t i = 0; i < process->nr_devices && !writer->err; i++)
		put_device(writer, &process->devices[i]);
	batch_writer_array(writer, process->nr_notices);
	for (uint32_t i = 0; i < process->nr_notices && !writer->err; i++)
		put_id(writer, process->notices[i]);
}

static void put_ledger(struct batch_writer *writer, const struct message_ledger *ledger)
{
	const struct ledger_entry *entries = ledger->entries;
	uint32_t count = ledger->nr_entries;

	put_seq(writer, ledger->seq);
	put_id(writer, ledger->process_id);
	put_count(writer, count, WIRE_ITEMS_MAX);
	if (writer->err)
		return;
	batch_writer_array(writer, 4);
	put_u32s(writer, count ? &entries->device_id : NULL, sizeof(*entries), count);
	put_u32s(writer, count ? &entries->reason : NULL, sizeof(*entries), count);
	put_u64s(writer, count ? &entries->count : NULL, sizeof(*entries), count);
	put_u64s(writer, count ? &entries->ns : NULL, sizeof(*entries), count);
}

/* rows: an array of struct message_api_call or message_kernel_config. */
static void put_rows(struct batch_writer *writer, const struct event_field *fields,
		     uint32_t nr_fields, const void *rows, size_t row_bytes, uint32_t count)
{
	put_count(writer, count, WIRE_ITEMS_MAX);
	batch_writer_array(writer, nr_fields);
	for (uint32_t i = 0; i < nr_fields && !writer->err; i++) {
		struct column_source source = {
			count ? (const uint8_t *)rows + fields[i].offset_bytes : NULL, row_bytes,
			fields[i].width_bytes, count};

		if (exceeds(&source, fields[i].max))
			batch_writer_fail(writer,
					  fields[i].max == WIRE_ID_MAX ? -EMSGSIZE : -EINVAL);
		batch_writer_column(writer, &source);
	}
}

static void put_statistics(struct batch_writer *writer, const struct message_statistics *statistics)
{
	put_seq(writer, statistics->seq);
	batch_writer_require(writer, statistics->process_id > 0);
	put_id(writer, statistics->process_id);
	for (uint32_t i = 0; i < statistics->nr_calls; i++)
		batch_writer_require(writer, statistics->calls[i].domain != 0);
	put_rows(writer, statistics_fields_call, STATISTICS_FIELDS_CALL, statistics->calls,
		 sizeof(*statistics->calls), statistics->nr_calls);
	put_rows(writer, statistics_fields_config, STATISTICS_FIELDS_CONFIG, statistics->configs,
		 sizeof(*statistics->configs), statistics->nr_configs);
}

static void put_streams(struct batch_writer *writer, const struct message_streams *message)
{
	const struct message_stream *streams = message->streams;
	uint32_t count = message->nr_streams;

	put_seq(writer, message->seq);
	batch_writer_require(writer, message->process_id > 0);
	put_id(writer, message->process_id);
	put_count(writer, count, WIRE_ITEMS_MAX);
	if (writer->err)
		return;
	batch_writer_array(writer, 5);
	put_u32s(writer, count ? &streams->context_id : NULL, sizeof(*streams), count);
	put_u32s(writer, count ? &streams->stream_id : NULL, sizeof(*streams), count);
	put_ids(writer, count ? &streams->name : NULL, sizeof(*streams), count, 0);
	put_u32s(writer, count ? &streams->priority : NULL, sizeof(*streams), count);
	put_u32s(writer, count ? &streams->flags : NULL, sizeof(*streams), count);
}

static void put_ack(struct batch_writer *writer, const struct message_ack *ack)
{
	batch_writer_uint(writer, ack->seq);
	batch_writer_uint(writer, ack->window_frames);
	batch_writer_uint(writer, ack->window_bytes);
}

/* --- whole messages --- */

/* Elements of the frame's own array, type and version included. 0: no message that is sent. */
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
		return 6;
	case MESSAGE_PING:
	case MESSAGE_PONG:
	case MESSAGE_BYE:
		return 3;
	case MESSAGE_STATISTICS:
		return 8;
	case MESSAGE_FOLD:
	case MESSAGE_CLOCK:
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
		put_stacks(writer, &message->stacks);
		break;
	case MESSAGE_EVENTS:
		put_events(encoder, &message->events);
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
		put_seq(writer, message->bye.seq);
		break;
	case MESSAGE_STATISTICS:
		put_statistics(writer, &message->statistics);
		break;
	case MESSAGE_STREAM:
		put_streams(writer, &message->streams);
		break;
	case MESSAGE_FOLD:
	case MESSAGE_CLOCK:
		break;
	}
}

int batch_encode(struct batch_encoder *encoder, const struct message *message,
		 const uint8_t **frame, size_t *size)
{
	struct batch_writer *writer = &encoder->writer;
	uint32_t nr_elements = nr_elements_of(message->type);

	*frame = NULL;
	*size = 0;
	if (nr_elements == 0)
		return -EINVAL;
	batch_writer_restart(writer);
	batch_writer_array(writer, nr_elements);
	batch_writer_uint(writer, message->type);
	batch_writer_uint(writer, WIRE_VERSION);
	put_body(encoder, message);
	if (writer->err)
		return writer->err;
	*frame = writer->frame;
	*size = writer->size;
	return 0;
}
