#include "batch_decode_stacks.h"

#include <errno.h>
#include <string.h>

#include "list_fields.h"

static void read_modules(struct batch_rooms *rooms, struct batch_reader *parent,
			 struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "modules"), build_ids;
	struct message_module *modules;
	uint32_t count;

	stacks->module_base = batch_reader_u32(&reader, "module base");
	count = stacks->nr_modules = batch_reader_limited(&reader, "nr_modules", WIRE_ITEMS_MAX);
	batch_reader_check_base(&reader, "module base", stacks->module_base, count);
	modules = batch_rooms_get(rooms, parent->fault, 0, count, sizeof(*modules));
	stacks->modules = modules;
	if (modules)
		memset(modules, 0, count * sizeof(*modules));
	batch_reader_rows(&reader, list_fields_module, LIST_FIELDS_MODULE, modules,
			  sizeof(*modules), count);
	build_ids = batch_reader_array(&reader, "module build ids");
	for (uint32_t i = 0; modules && i < count; i++)
		modules[i].build_id_size = batch_reader_bin(&build_ids, "a build id",
							    modules[i].build_id, WIRE_BUILD_ID_MAX);
	if (reader.nr_left)
		batch_reader_rows(&reader, list_fields_module_more, LIST_FIELDS_MODULE_MORE,
				  modules, sizeof(*modules), count);
	else
		for (uint32_t i = 0; modules && i < count; i++)
			modules[i].owner = MESSAGE_OWNER_NONE;
}

static void read_frames(struct batch_rooms *rooms, struct batch_reader *parent,
			struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "frames");
	struct message_frame *frames;
	uint32_t count;

	stacks->frame_base = batch_reader_u32(&reader, "frame base");
	count = stacks->nr_frames = batch_reader_limited(&reader, "nr_frames", WIRE_ITEMS_MAX);
	batch_reader_check_base(&reader, "frame base", stacks->frame_base, count);
	frames = batch_rooms_get(rooms, parent->fault, 1, count, sizeof(*frames));
	stacks->frames = frames;
	batch_reader_rows(&reader, list_fields_frame, LIST_FIELDS_FRAME, frames, sizeof(*frames),
			  count);
	for (uint32_t i = 0; !parent->fault->err && i < count; i++)
		if (frames[i].module && frames[i].code)
			batch_fault_set(parent->fault, -EBADMSG, "frame %u has a module and a code",
					stacks->frame_base + i);
}

static void read_nodes(struct batch_rooms *rooms, struct batch_reader *parent,
		       struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "nodes");
	struct message_node *nodes;
	uint32_t count;

	stacks->node_base = batch_reader_u32(&reader, "node base");
	count = stacks->nr_nodes = batch_reader_limited(&reader, "nr_nodes", WIRE_ITEMS_MAX);
	batch_reader_check_base(&reader, "node base", stacks->node_base, count);
	nodes = batch_rooms_get(rooms, parent->fault, 2, count, sizeof(*nodes));
	stacks->nodes = nodes;
	batch_reader_rows(&reader, list_fields_node, LIST_FIELDS_NODE, nodes, sizeof(*nodes),
			  count);
	for (uint32_t i = 0; !parent->fault->err && i < count; i++) {
		if (nodes[i].parent >= stacks->node_base + i)
			batch_fault_set(parent->fault, -EBADMSG,
					"the parent of node %u is not below it",
					stacks->node_base + i);
		else if (nodes[i].frame == 0)
			batch_fault_set(parent->fault, -EBADMSG, "node %u has no frame",
					stacks->node_base + i);
	}
}

static void read_symbols(struct batch_rooms *rooms, struct batch_reader *parent,
			 struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "symbols");
	struct message_symbol *symbols;
	uint32_t count;

	count = stacks->nr_symbols = batch_reader_limited(&reader, "nr_symbols", WIRE_ITEMS_MAX);
	symbols = batch_rooms_get(rooms, parent->fault, 3, count, sizeof(*symbols));
	stacks->symbols = symbols;
	batch_reader_rows(&reader, list_fields_symbol, LIST_FIELDS_SYMBOL, symbols,
			  sizeof(*symbols), count);
	for (uint32_t i = 0; !parent->fault->err && i < count; i++)
		if (symbols[i].frame == 0)
			batch_fault_set(parent->fault, -EBADMSG, "symbol %u has no frame", i);
}

static void read_codes(struct batch_rooms *rooms, struct batch_reader *parent,
		       struct message_stacks *stacks)
{
	struct batch_reader reader = batch_reader_array(parent, "codes");
	struct message_code *codes;
	uint32_t count;

	stacks->code_base = batch_reader_u32(&reader, "code base");
	count = stacks->nr_codes = batch_reader_limited(&reader, "nr_codes", WIRE_ITEMS_MAX);
	batch_reader_check_base(&reader, "code base", stacks->code_base, count);
	codes = batch_rooms_get(rooms, parent->fault, 4, count, sizeof(*codes));
	stacks->codes = codes;
	batch_reader_rows(&reader, list_fields_code, LIST_FIELDS_CODE, codes, sizeof(*codes),
			  count);
	for (uint32_t i = 0; !parent->fault->err && i < count; i++)
		if (codes[i].name == 0)
			batch_fault_set(parent->fault, -EBADMSG, "code %u has no name",
					stacks->code_base + i);
}

void batch_decode_stacks(struct batch_rooms *rooms, struct batch_reader *reader,
			 struct message_stacks *stacks)
{
	stacks->seq = batch_reader_seq(reader);
	read_modules(rooms, reader, stacks);
	read_frames(rooms, reader, stacks);
	read_nodes(rooms, reader, stacks);
	read_symbols(rooms, reader, stacks);
	read_codes(rooms, reader, stacks);
}
