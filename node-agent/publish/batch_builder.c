#include "batch_builder.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

#define STRINGS_SIZE_MAX (1u << 20) /* bytes of text in one message */
#define ITEMS_MAX        32768u     /* of a dictionary in one message; all fit in WIRE_FRAME_MAX */
#define MODULES_MAX      8192u      /* each takes one of WIRE_ELEMENTS_MAX elements */

struct records {
	struct launch_record launches[BATCH_RECORDS_MAX];
	struct gpu_record gpu[BATCH_RECORDS_MAX];
};

struct batch_builder {
	const struct string_dictionary *strings;
	const struct stack_dictionary *stacks;
	batch_sink sink;
	void *context;
	uint32_t sent_strings, sent_modules, sent_codes, sent_frames, sent_nodes;
	struct message_symbol *symbols; /* owns */
	uint32_t nr_symbols, max_symbols;
	struct records *records; /* owns */
	uint32_t nr_launches, nr_gpu;
};

struct batch_builder *batch_builder_create(const struct string_dictionary *strings,
					   const struct stack_dictionary *stacks, batch_sink sink,
					   void *context)
{
	struct batch_builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return NULL;
	builder->records = malloc(sizeof(*builder->records));
	if (!builder->records) {
		free(builder);
		return NULL;
	}
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
	free(builder->records);
	free(builder);
}

struct launch_record *batch_builder_launch_room(struct batch_builder *builder, uint32_t *room)
{
	*room = BATCH_RECORDS_MAX - builder->nr_launches;
	return builder->records->launches + builder->nr_launches;
}

struct gpu_record *batch_builder_gpu_room(struct batch_builder *builder, uint32_t *room)
{
	*room = BATCH_RECORDS_MAX - builder->nr_gpu;
	return builder->records->gpu + builder->nr_gpu;
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
	if (array_reserve(&builder->symbols, &builder->max_symbols, builder->nr_symbols + 1,
			  sizeof(*builder->symbols)))
		return -ENOMEM;
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
			.strings = {.base = base,
				    .count = count,
				    .strings = texts,
				    .owners = string_dictionary_owners(builder->strings, base)}};
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

/* Chooses what the next message takes. Nodes wait until all frames are on their way, and frames until all modules and
 * codes are. */
static void choose_part(const struct batch_builder *builder, uint32_t sent_symbols,
			struct message_stacks *part)
{
	uint32_t modules = stack_dictionary_nr_modules(builder->stacks) - builder->sent_modules;
	uint32_t codes = stack_dictionary_nr_codes(builder->stacks) - builder->sent_codes;
	uint32_t frames = stack_dictionary_nr_frames(builder->stacks) - builder->sent_frames;
	uint32_t nodes = stack_dictionary_nr_nodes(builder->stacks) - builder->sent_nodes;

	part->nr_modules = at_most(modules, MODULES_MAX);
	part->nr_codes = at_most(codes, ITEMS_MAX);
	if (part->nr_modules == modules && part->nr_codes == codes)
		part->nr_frames = at_most(frames, ITEMS_MAX);
	if (part->nr_frames == frames) {
		part->nr_nodes = at_most(nodes, ITEMS_MAX);
		part->nr_symbols = at_most(builder->nr_symbols - sent_symbols, ITEMS_MAX);
	}
}

static void fill_part(const struct batch_builder *builder, uint32_t sent_symbols,
		      struct message_stacks *part)
{
	const struct stack_dictionary *stacks = builder->stacks;

	part->module_base = builder->sent_modules + 1;
	part->code_base = builder->sent_codes + 1;
	part->frame_base = builder->sent_frames + 1;
	part->node_base = builder->sent_nodes + 1;
	if (part->nr_modules)
		part->modules = stack_dictionary_modules(stacks, part->module_base);
	if (part->nr_codes)
		part->codes = stack_dictionary_codes(stacks, part->code_base);
	if (part->nr_frames)
		part->frames = stack_dictionary_frames(stacks, part->frame_base);
	if (part->nr_nodes)
		part->nodes = stack_dictionary_nodes(stacks, part->node_base);
	if (part->nr_symbols)
		part->symbols = builder->symbols + sent_symbols;
}

static bool is_empty(const struct message_stacks *part)
{
	return !(part->nr_modules || part->nr_codes || part->nr_frames || part->nr_nodes ||
		 part->nr_symbols);
}

static int flush_stacks(struct batch_builder *builder)
{
	uint32_t sent_symbols = 0;

	for (;;) {
		struct message message = {.type = MESSAGE_STACKS};
		struct message_stacks *part = &message.stacks;

		choose_part(builder, sent_symbols, part);
		if (is_empty(part))
			break;
		fill_part(builder, sent_symbols, part);
		int r = builder->sink(builder->context, &message);
		if (r)
			return r;
		builder->sent_modules += part->nr_modules;
		builder->sent_codes += part->nr_codes;
		builder->sent_frames += part->nr_frames;
		builder->sent_nodes += part->nr_nodes;
		sent_symbols += part->nr_symbols;
	}
	builder->nr_symbols = 0;
	return 0;
}

bool batch_builder_has_records(const struct batch_builder *builder)
{
	return builder->nr_launches || builder->nr_gpu;
}

/* New memory takes no pages until it is written. */
void batch_builder_give_back(struct batch_builder *builder)
{
	struct records *records =
		batch_builder_has_records(builder) ? NULL : malloc(sizeof(*records));

	if (!records)
		return;
	free(builder->records);
	builder->records = records;
	if (builder->nr_symbols > 0)
		return;
	free(builder->symbols);
	builder->symbols = NULL;
	builder->max_symbols = 0;
}

bool batch_builder_is_flushed(const struct batch_builder *builder)
{
	return builder->nr_symbols == 0 &&
	       builder->sent_strings == string_dictionary_count(builder->strings) &&
	       builder->sent_modules == stack_dictionary_nr_modules(builder->stacks) &&
	       builder->sent_codes == stack_dictionary_nr_codes(builder->stacks) &&
	       builder->sent_frames == stack_dictionary_nr_frames(builder->stacks) &&
	       builder->sent_nodes == stack_dictionary_nr_nodes(builder->stacks);
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
				.launches = builder->records->launches,
				.gpu = builder->records->gpu,
			},
	};

	builder->nr_launches = builder->nr_gpu = 0;
	int r = batch_builder_flush_dictionaries(builder);
	if (r || (message.events.nr_launches == 0 && message.events.nr_gpu == 0))
		return r;
	return builder->sink(builder->context, &message);
}
