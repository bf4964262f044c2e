#include "batch_encode_stacks.h"

#include <errno.h>

#include "list_fields.h"

static void put_modules(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_module *modules = stacks->modules;
	uint32_t count = stacks->nr_modules;

	batch_writer_array(writer, 6);
	batch_writer_base(writer, stacks->module_base, count);
	batch_writer_uint(writer, count);
	if (writer->err)
		return;
	batch_writer_rows(writer, list_fields_module, LIST_FIELDS_MODULE, modules, sizeof(*modules),
			  count);
	batch_writer_array(writer, count);
	for (uint32_t i = 0; i < count && !writer->err; i++) {
		if (modules[i].build_id_size > WIRE_BUILD_ID_MAX)
			batch_writer_fail(writer, -EMSGSIZE);
		else
			batch_writer_bin(writer, modules[i].build_id, modules[i].build_id_size);
	}
	if (!writer->err)
		batch_writer_rows(writer, list_fields_module_more, LIST_FIELDS_MODULE_MORE, modules,
				  sizeof(*modules), count);
}

static void put_frames(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_frame *frames = stacks->frames;
	uint32_t count = stacks->nr_frames;

	batch_writer_array(writer, 5);
	batch_writer_base(writer, stacks->frame_base, count);
	batch_writer_uint(writer, count);
	if (writer->err)
		return;
	for (uint32_t i = 0; i < count; i++)
		batch_writer_require(writer, frames[i].module == 0 || frames[i].code == 0);
	batch_writer_rows(writer, list_fields_frame, LIST_FIELDS_FRAME, frames, sizeof(*frames),
			  count);
}

static void put_nodes(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_node *nodes = stacks->nodes;
	uint32_t count = stacks->nr_nodes;

	batch_writer_array(writer, 4);
	batch_writer_base(writer, stacks->node_base, count);
	batch_writer_uint(writer, count);
	if (writer->err)
		return;
	for (uint32_t i = 0; i < count; i++)
		batch_writer_require(writer,
				     nodes[i].parent < stacks->node_base + i && nodes[i].frame > 0);
	batch_writer_rows(writer, list_fields_node, LIST_FIELDS_NODE, nodes, sizeof(*nodes), count);
}

static void put_symbols(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_symbol *symbols = stacks->symbols;
	uint32_t count = stacks->nr_symbols;

	batch_writer_array(writer, 3);
	batch_writer_count(writer, count, WIRE_ITEMS_MAX);
	if (writer->err)
		return;
	for (uint32_t i = 0; i < count; i++)
		batch_writer_require(writer, symbols[i].frame > 0);
	batch_writer_rows(writer, list_fields_symbol, LIST_FIELDS_SYMBOL, symbols, sizeof(*symbols),
			  count);
}

static void put_codes(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_code *codes = stacks->codes;
	uint32_t count = stacks->nr_codes;

	batch_writer_array(writer, 4);
	batch_writer_base(writer, stacks->code_base, count);
	batch_writer_uint(writer, count);
	if (writer->err)
		return;
	for (uint32_t i = 0; i < count; i++)
		batch_writer_require(writer, codes[i].name > 0);
	batch_writer_rows(writer, list_fields_code, LIST_FIELDS_CODE, codes, sizeof(*codes), count);
}

void batch_encode_stacks(struct batch_writer *writer, const struct message_stacks *stacks)
{
	batch_writer_seq(writer, stacks->seq);
	put_modules(writer, stacks);
	put_frames(writer, stacks);
	put_nodes(writer, stacks);
	put_symbols(writer, stacks);
	put_codes(writer, stacks);
}
