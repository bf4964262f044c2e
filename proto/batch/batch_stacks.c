#include "batch_stacks.h"

#include <errno.h>

static void put_build_ids(struct batch_writer *writer, const struct message_stacks *stacks)
{
	const struct message_module *modules = stacks->modules;
	uint32_t count = stacks->nr_modules;

	batch_writer_array(writer, count);
	for (uint32_t i = 0; i < count && !writer->err; i++) {
		if (modules[i].build_id_size > WIRE_BUILD_ID_MAX)
			batch_writer_fail(writer, -EMSGSIZE);
		else
			batch_writer_bin(writer, modules[i].build_id, modules[i].build_id_size);
	}
	if (!writer->err)
		batch_writer_rows(writer, message_layout_owner, 1, modules, sizeof(*modules),
				  count);
}

void batch_encode_stacks(struct batch_writer *writer, const struct message *message)
{
	const struct message_layout *layout = message_layout(MESSAGE_STACKS);
	const struct message_stacks *stacks = &message->stacks;

	batch_writer_seq(writer, stacks->seq);
	for (uint32_t i = 0; i < layout->nr_lists && !writer->err; i++) {
		batch_writer_array(writer, layout->lists[i].nr_elements);
		batch_list_put(writer, &layout->lists[i], message);
		if (i == 0 && !writer->err)
			put_build_ids(writer, stacks);
	}
	if (writer->err)
		return;
	for (uint32_t i = 0; i < stacks->nr_frames; i++)
		if (stacks->frames[i].module && stacks->frames[i].code)
			batch_writer_fail(writer, -EINVAL);
	for (uint32_t i = 0; i < stacks->nr_nodes; i++)
		if (stacks->nodes[i].parent >= stacks->node_base + i)
			batch_writer_fail(writer, -EINVAL);
}

static void read_build_ids(struct batch_reader *reader, struct message_module *modules,
			   uint32_t count)
{
	struct batch_reader build_ids = batch_reader_array(reader, "module build ids");

	for (uint32_t i = 0; modules && i < count; i++)
		modules[i].build_id_size = batch_reader_bin(&build_ids, "a build id",
							    modules[i].build_id, WIRE_BUILD_ID_MAX);
	if (reader->nr_left)
		batch_reader_rows(reader, message_layout_owner, 1, modules, sizeof(*modules),
				  count);
	else
		for (uint32_t i = 0; modules && i < count; i++)
			modules[i].owner = MESSAGE_OWNER_NONE;
}

void batch_decode_stacks(struct batch_rooms *rooms, struct batch_reader *reader,
			 struct message *message)
{
	const struct message_layout *layout = message_layout(MESSAGE_STACKS);
	struct message_stacks *stacks = &message->stacks;
	struct batch_fault *fault = reader->fault;

	stacks->seq = batch_reader_seq(reader);
	for (uint32_t i = 0; i < layout->nr_lists; i++) {
		struct batch_reader list = batch_reader_array(reader, "a list");
		void *rows = batch_list_get(rooms, i, &list, &layout->lists[i], message);

		if (i == 0)
			read_build_ids(&list, rows, stacks->nr_modules);
	}
	for (uint32_t i = 0; !fault->err && i < stacks->nr_frames; i++)
		if (stacks->frames[i].module && stacks->frames[i].code)
			batch_fault_set(fault, -EBADMSG, "frame %u has a module and a code",
					stacks->frame_base + i);
	for (uint32_t i = 0; !fault->err && i < stacks->nr_nodes; i++)
		if (stacks->nodes[i].parent >= stacks->node_base + i)
			batch_fault_set(fault, -EBADMSG, "the parent of node %u is not below it",
					stacks->node_base + i);
}
