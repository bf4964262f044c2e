#include "batch_builder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define STRINGS_SIZE_MAX (1u << 20) /* bytes of text in one message */
#define ITEMS_MAX        32768u /* of a dictionary in one message: below WIRE_FRAME_MAX together */
#define MODULES_MAX      8192u  /* each takes an element of its own of WIRE_ELEMENTS_MAX */

struct batch_builder {
	const struct string_dictionary *strings;
	const struct stack_dictionary *stacks;
	batch_sink sink;
	void *context;
	uint32_t sent_strings, sent_modules, sent_frames, sent_nodes;
	struct message_symbol *symbols; /* owns */
	uint32_t nr_symbols, max_symbols;
	uint32_t nr_launches, nr_gpu;
	struct launch_record launches[BATCH_RECORDS_MAX];
	struct gpu_record gpu[BATCH_RECORDS_MAX];
};

struct batch_builder *batch_builder_create(const struct string_dictionary *strings,
					   const struct stack_dictionary *stacks, batch_sink sink,
					   void *context)
{
	struct batch_builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return NULL;
	builder->strings = strings;
	builder->stacks = stacks;
	builder->sink = sink;
	builder->context = context;
	return builder;
}

void batch_builder_destroy(struct batch_builder *builder)
{
	if (!builder)
		return;
	free(builder->symbols);
	free(builder);
}

struct launch_record *batch_builder_launch_room(struct batch_builder *builder, uint32_t *room)
{
	*room = BATCH_RECORDS_MAX - builder->nr_launches;
	return builder->launches + builder->nr_launches;
}

struct gpu_record *batch_builder_gpu_room(struct batch_builder *builder, uint32_t *room)
{
	*room = BATCH_RECORDS_MAX - builder->nr_gpu;
	return builder->gpu + builder->nr_gpu;
}

void batch_builder_commit_launches(struct batch_builder *builder, uint32_t count)
{
	assert(count <= BATCH_RECORDS_MAX - builder->nr_launches);
	builder->nr_launches += count;
}

void batch_builder_commit_gpu(struct batch_builder *builder, uint32_t count)
{
	assert(count <= BATCH_RECORDS_MAX - builder->nr_gpu);
	builder->nr_gpu += count;
}

int batch_builder_add_symbol(struct batch_builder *builder, uint32_t frame_id, uint32_t name_id)
{
	if (builder->nr_symbols == builder->max_symbols) {
		uint32_t max = builder->max_symbols ? builder->max_symbols * 2 : 256;
		struct message_symbol *symbols = realloc(builder->symbols, max * sizeof(*symbols));

		if (!symbols)
			return -ENOMEM;
		builder->symbols = symbols;
		builder->max_symbols = max;
	}
	builder->symbols[builder->nr_symbols++] =
		(struct message_symbol){.frame = frame_id, .name = name_id};
	return 0;
}

static int flush_strings(struct batch_builder *builder)
{
	uint32_t total = string_dictionary_count(builder->strings);

	while (builder->sent_strings < total) {
		uint32_t base = builder->sent_strings + 1, count = 0, size = 0;
		const struct message_text *texts = string_dictionary_texts(builder->strings, base);

		while (base + count <= total && count < ITEMS_MAX &&
		       (count == 0 || size + texts[count].size <= STRINGS_SIZE_MAX))
			size += texts[count++].size;

		struct message message = {
			.type = MESSAGE_STRINGS,
			.strings = {.base = base, .count = count, .strings = texts}};
		int r = builder->sink(builder->context, &message);
		if (r)
			return r;
		builder->sent_strings += count;
	}
	return 0;
}

static uint32_t at_most(uint32_t count, uint32_t max)
{
	return count < max ? count : max;
}

/* Nodes only once all frames are on their way, frames only once all modules are. */
static int flush_stacks(struct batch_builder *builder)
{
	const struct stack_dictionary *stacks = builder->stacks;
	uint32_t modules = stack_dictionary_nr_modules(stacks);
	uint32_t frames = stack_dictionary_nr_frames(stacks);
	uint32_t nodes = stack_dictionary_nr_nodes(stacks);
	uint32_t sent_symbols = 0;

	while (builder->sent_modules < modules || builder->sent_frames < frames ||
	       builder->sent_nodes < nodes || sent_symbols < builder->nr_symbols) {
		struct message message = {.type = MESSAGE_STACKS};
		struct message_stacks *part = &message.stacks;

		part->module_base = builder->sent_modules + 1;
		part->frame_base = builder->sent_frames + 1;
		part->node_base = builder->sent_nodes + 1;
		part->nr_modules = at_most(modules - builder->sent_modules, MODULES_MAX);
		if (builder->sent_modules + part->nr_modules == modules)
			part->nr_frames = at_most(frames - builder->sent_frames, ITEMS_MAX);
		if (builder->sent_frames + part->nr_frames == frames) {
			part->nr_nodes = at_most(nodes - builder->sent_nodes, ITEMS_MAX);
			part->nr_symbols = at_most(builder->nr_symbols - sent_symbols, ITEMS_MAX);
		}
		part->modules = part->nr_modules
					? stack_dictionary_modules(stacks, part->module_base)
					: NULL;
		part->frames =
			part->nr_frames ? stack_dictionary_frames(stacks, part->frame_base) : NULL;
		part->nodes =
			part->nr_nodes ? stack_dictionary_nodes(stacks, part->node_base) : NULL;
		part->symbols = part->nr_symbols ? builder->symbols + sent_symbols : NULL;
		int r = builder->sink(builder->context, &message);
		if (r)
			return r;
		builder->sent_modules += part->nr_modules;
		builder->sent_frames += part->nr_frames;
		builder->sent_nodes += part->nr_nodes;
		sent_symbols += part->nr_symbols;
	}
	builder->nr_symbols = 0;
	return 0;
}

int batch_builder_flush_dictionaries(struct batch_builder *builder)
{
	int r = flush_strings(builder);

	return r ? r : flush_stacks(builder);
}

int batch_builder_flush(struct batch_builder *builder, uint32_t process_id, int64_t clock_offset_ns,
			uint32_t clock_valid)
{
	struct message message = {
		.type = MESSAGE_EVENTS,
		.events =
			{
				.process_id = process_id,
				.clock_offset_ns = clock_offset_ns,
				.clock_valid = clock_valid,
				.nr_launches = builder->nr_launches,
				.nr_gpu = builder->nr_gpu,
				.launches = builder->launches,
				.gpu = builder->gpu,
			},
	};

	builder->nr_launches = builder->nr_gpu = 0;
	int r = batch_builder_flush_dictionaries(builder);
	if (r || (message.events.nr_launches == 0 && message.events.nr_gpu == 0))
		return r;
	return builder->sink(builder->context, &message);
}
