#include "guest_control.h"

#include "control_rights.h"
#include "guest_process.h"
#include "process_table.h"

static bool is_meant(const struct guest_process *process, uid_t uid, uint32_t pid)
{
	return (pid == 0 || (uint32_t)guest_process_pid(process) == pid) &&
	       control_rights_cover(uid, guest_process_uid(process));
}

void guest_control_command(struct guest_control *control, const struct record_ring_command *command)
{
	control->standing = *command;
	control->has_standing = true;
	for (uint32_t i = 0; i < process_table_count(control->processes); i++)
		guest_process_command(process_table_at(control->processes, i), command);
}

void guest_control_arrived(const struct guest_control *control, struct guest_process *process)
{
	if (control->has_standing)
		guest_process_command(process, &control->standing);
}

static enum control_status command(struct guest_control *control, uid_t uid,
				   const struct control_request *request)
{
	const struct record_ring_command command = {
		.action = request->action,
		.from_ns = request->from_ns,
		.until_ns = request->until_ns,
	};
	bool any = false;

	if (request->pid == 0 && control_rights_cover_all(uid)) {
		guest_control_command(control, &command);
		return CONTROL_OK;
	}
	for (uint32_t i = 0; i < process_table_count(control->processes); i++) {
		struct guest_process *process = process_table_at(control->processes, i);

		if (!is_meant(process, uid, request->pid))
			continue;
		guest_process_command(process, &command);
		any = true;
	}
	return any ? CONTROL_OK : CONTROL_NO_PROCESS;
}

static enum control_status carry_out(struct guest_control *control, uid_t uid,
				     const struct control_request *request)
{
	if (request->version != CONTROL_VERSION || request->wish > CONTROL_LEAVE ||
	    request->action > RECORD_RING_COMMAND_STOP)
		return CONTROL_REFUSED_VERSION;
	if (request->wish == CONTROL_COMMAND)
		return command(control, uid, request);
	if (request->wish == CONTROL_STATUS)
		return CONTROL_OK;
	if (!control->may_leave)
		return CONTROL_NOT_ATTACHED;
	if (!control_rights_cover_all(uid))
		return CONTROL_REFUSED_USER;
	control->asked_to_leave = true;
	return CONTROL_OK;
}

static struct control_process describe(const struct guest_process *process)
{
	struct control_process entry = {.pid = (uint32_t)guest_process_pid(process)};

	entry.state = guest_process_capture(process, &entry.nr_windows);
	return entry;
}

size_t guest_control_answer(struct guest_control *control, uid_t uid,
			    const struct control_request *request)
{
	uint32_t nr = 0;

	control->reply.head = (struct control_reply){
		.magic = CONTROL_MAGIC,
		.version = CONTROL_VERSION,
		.status = carry_out(control, uid, request),
	};
	for (uint32_t i = 0; i < process_table_count(control->processes); i++) {
		const struct guest_process *process = process_table_at(control->processes, i);

		if (nr < CONTROL_PROCESSES_MAX && is_meant(process, uid, request->pid))
			control->reply.processes[nr++] = describe(process);
	}
	if (nr == 0 && request->pid && control->reply.head.status == CONTROL_OK)
		control->reply.head.status = CONTROL_NO_PROCESS;
	control->reply.head.nr_processes = nr;
	return sizeof(control->reply.head) + nr * sizeof(control->reply.processes[0]);
}

uint32_t guest_control_capturing(const struct guest_control *control)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < process_table_count(control->processes); i++)
		nr += guest_process_is_capturing(process_table_at(control->processes, i));
	return nr;
}
