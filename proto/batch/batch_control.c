#include "batch_control.h"

#include <errno.h>

#define AGENT_ELEMENTS 4u

static void put_agent(struct batch_writer *writer, const struct message_control_agent *agent)
{
	batch_writer_require(writer, agent->state < CONTROL_STATES);
	batch_writer_array(writer, AGENT_ELEMENTS);
	batch_writer_text(writer, &agent->node);
	batch_writer_uint(writer, agent->state);
	batch_writer_uint(writer, agent->nr_processes);
	batch_writer_uint(writer, agent->bound_ns);
}

void batch_encode_control(struct batch_writer *writer, const struct message_control *control)
{
	batch_writer_require(writer, control->kind < CONTROL_KINDS && control->token != 0 &&
					     control->action <= WIRE_CONTROL_ACTION_MAX &&
					     control->relative <= 1 &&
					     control->state < CONTROL_STATES);
	batch_writer_uint(writer, control->kind);
	batch_writer_uint(writer, control->token);
	batch_writer_uint(writer, control->action);
	batch_writer_uint(writer, control->relative);
	batch_writer_uint(writer, control->from_ns);
	batch_writer_uint(writer, control->until_ns);
	batch_writer_uint(writer, control->state);
	batch_writer_uint(writer, control->nr_processes);
	batch_writer_uint(writer, control->bound_ns);
	batch_writer_require(writer, control->nr_agents <= WIRE_CONTROL_AGENTS_MAX);
	batch_writer_array(writer, control->nr_agents);
	for (uint32_t i = 0; i < control->nr_agents && !writer->err; i++)
		put_agent(writer, &control->agents[i]);
	if (control->job_key.size == 0)
		return;
	batch_writer_text(writer, &control->job_key);
	batch_writer_text(writer, &control->job_user);
}

static void read_agent(struct batch_reader *parent, struct message_control_agent *agent)
{
	struct batch_reader reader = batch_reader_array(parent, "an agent");

	agent->node = batch_reader_text(&reader, "node");
	agent->state = (uint32_t)batch_reader_uint(&reader, "state", 0, CONTROL_STATES - 1);
	agent->nr_processes = batch_reader_u32(&reader, "nr_processes");
	agent->bound_ns = batch_reader_u64(&reader, "bound_ns");
}

void batch_decode_control(struct batch_rooms *rooms, struct batch_reader *reader,
			  struct message_control *control)
{
	struct message_control_agent *agents;
	struct batch_reader list;

	control->kind = (uint32_t)batch_reader_uint(reader, "kind", 0, CONTROL_KINDS - 1);
	control->token = batch_reader_uint(reader, "token", 1, UINT64_MAX);
	control->action = (uint32_t)batch_reader_uint(reader, "action", 0, WIRE_CONTROL_ACTION_MAX);
	control->relative = (uint32_t)batch_reader_uint(reader, "relative", 0, 1);
	control->from_ns = batch_reader_u64(reader, "from_ns");
	control->until_ns = batch_reader_u64(reader, "until_ns");
	control->state = (uint32_t)batch_reader_uint(reader, "state", 0, CONTROL_STATES - 1);
	control->nr_processes = batch_reader_u32(reader, "nr_processes");
	control->bound_ns = batch_reader_u64(reader, "bound_ns");
	list = batch_reader_array(reader, "agents");
	if (list.nr_left > WIRE_CONTROL_AGENTS_MAX)
		batch_fault_set(reader->fault, -EMSGSIZE, "too many agents");
	agents = batch_rooms_get(rooms, reader->fault, 0, list.nr_left, sizeof(*agents));
	control->nr_agents = list.nr_left;
	for (uint32_t i = 0; agents && i < control->nr_agents; i++)
		read_agent(&list, &agents[i]);
	control->agents = agents;
	control->job_key = control->job_user = (struct message_text){0};
	if (reader->nr_left == 0)
		return;
	control->job_key = batch_reader_text(reader, "job_key");
	control->job_user = batch_reader_text(reader, "job_user");
}
