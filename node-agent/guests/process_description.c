#include "process_description.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/base/driver_version.h"
#include "node-agent/base/job_identity.h"
#include "node-agent/files/proc_file.h"
#include "proto/batch/context_list.h"
#include "proto/batch/stream_list.h"
#include "proto/driver_notice.h"
#include "proto/kernel_refusal.h"
#include "proto/topology_notice.h"

#define ENVIRONMENT_MAX (2u << 20)

struct process_description {
	struct string_dictionary *strings;
	const struct device_list *node_devices;
	struct message_process process;
	struct message_device devices[RECORD_DEVICES_MAX];
	uint32_t notices[PROCESS_NOTICES_MAX];
	struct stream_list streams;
	struct context_list contexts;
	pid_t pid; /* 0: not visible from here */
	bool changed;
	bool has_late_command, has_late_job; /* the process keeps its environment from us */
	bool had_ended;                      /* before its environment was read */
};

static void set_job(struct process_description *description, const struct job_identity *identity)
{
	struct message_process *process = &description->process;
	char name[2 * JOB_IDENTITY_JOB_MAX + 16];
	uint32_t job = process->job;

	/* Each step of a job has ranks of its own, and so has each mpirun in it, or without a job. */
	if (identity->step == MESSAGE_RANK_NONE)
		snprintf(name, sizeof(name), "%s%s%s", identity->job,
			 *identity->job && *identity->run ? "." : "", identity->run);
	else
		snprintf(name, sizeof(name), "%s.%" PRId32, identity->job, identity->step);
	string_dictionary_intern(description->strings, name, strlen(name), &job);
	if (process->rank != identity->rank || process->local_rank != identity->local_rank ||
	    process->world_size != identity->world_size || process->job != job)
		description->changed = true;
	process->rank = identity->rank;
	process->local_rank = identity->local_rank;
	process->world_size = identity->world_size;
	process->job = job;
	if (identity->samples_kernels)
		process_description_add_notice(description, KERNEL_NOTICE, strlen(KERNEL_NOTICE));
	if (!*identity->network_switch)
		return;
	char notice[sizeof(TOPOLOGY_NOTICE) + JOB_IDENTITY_SWITCH_MAX];
	int size = snprintf(notice, sizeof(notice), TOPOLOGY_NOTICE "%s", identity->network_switch);
	process_description_add_notice(description, notice, (size_t)size);
}

/* The kernel shows the environment with which the program was started; later setenv() calls do not matter. */
void process_description_read_job(struct process_description *description, pid_t pid)
{
	struct job_identity identity;
	char *environment = NULL;
	size_t size = 0;

	if (pid > 0)
		description->has_late_job = proc_file_is_late(
			proc_file_read(pid, "environ", ENVIRONMENT_MAX, &environment, &size));
	if (size) {
		job_identity_read(environment, size, &identity);
		set_job(description, &identity);
		description->had_ended = false;
	}
	free(environment);
}

static void read_driver(struct process_description *description)
{
	char notice[sizeof(DRIVER_NOTICE) + DRIVER_VERSION_SIZE] = DRIVER_NOTICE;

	if (driver_version_read(DRIVER_VERSION_PATH, notice + strlen(DRIVER_NOTICE)))
		process_description_add_notice(description, notice, strlen(notice));
}

static void read_command(struct process_description *description, pid_t pid)
{
	char *command = proc_file_command(pid, &description->has_late_command);
	const char *text = command && *command ? command : "[unknown command]";
	uint32_t before = description->process.command;

	string_dictionary_intern(description->strings, text, strlen(text),
				 &description->process.command);
	description->changed |= description->process.command != before;
	free(command);
}

bool process_description_is_late(const struct process_description *description)
{
	return description->has_late_command || description->has_late_job || description->had_ended;
}

void process_description_read_late(struct process_description *description)
{
	const pid_t pid = description->pid;

	if (!process_description_is_late(description) ||
	    !proc_file_is_alive(pid, description->process.start_ticks))
		return;
	if (description->has_late_command)
		read_command(description, pid);
	if (description->has_late_job)
		process_description_read_job(description, pid);
}

struct process_description *process_description_create(uint32_t process_id, pid_t pid,
						       const struct guest_hello *hello,
						       struct string_dictionary *strings,
						       const struct device_list *devices)
{
	struct process_description *description = calloc(1, sizeof(*description));
	uint64_t start_ticks = proc_file_start_ticks(pid);
	struct job_identity nobody;

	if (!description)
		return NULL;
	description->pid = pid;
	description->strings = strings;
	description->node_devices = devices;
	description->changed = true;
	struct message_process *process = &description->process;
	process->process_id = process_id;
	process->pid = pid > 0 ? (uint32_t)pid : hello->pid;
	process->start_ticks = start_ticks ? start_ticks : hello->start_ticks;
	process->pid_namespace = hello->pid_namespace;
	memcpy(process->instance, hello->instance, sizeof(process->instance));
	process->state = PROCESS_RUNNING;
	job_identity_read("", 0, &nobody);
	set_job(description, &nobody);
	/* As if an agent was stopped from its start to its end. */
	description->had_ended = pid > 0 && !proc_file_is_alive(pid, process->start_ticks);
	process_description_read_job(description, pid);
	read_command(description, pid);
	read_driver(description);
	return description;
}

void process_description_destroy(struct process_description *description)
{
	if (!description)
		return;
	stream_list_fini(&description->streams);
	context_list_fini(&description->contexts);
	free(description);
}

static struct message_device *find_device(struct process_description *description,
					  uint32_t device_id)
{
	uint32_t count = description->process.nr_devices;

	for (uint32_t i = 0; i < count; i++)
		if (description->devices[i].device_id == device_id)
			return &description->devices[i];
	if (device_id >= RECORD_DEVICES_MAX)
		return NULL;
	description->process.nr_devices++;
	memset(&description->devices[count], 0, sizeof(*description->devices));
	return &description->devices[count];
}

int process_description_add_device(struct process_description *description,
				   const struct definition_device *device, const char *name,
				   size_t name_size)
{
	const struct device_list_entry *entry =
		device_list_find(description->node_devices, device->pci_domain, device->pci_bus,
				 device->pci_device, device->uuid);
	struct message_device *known = find_device(description, device->device_id);
	char pci[32];

	if (!known)
		return 0;
	known->device_id = device->device_id;
	known->index = entry ? entry->index : MESSAGE_INDEX_NONE;
	memcpy(known->uuid, device->uuid, sizeof(known->uuid));
	known->limits = device->limits;
	description->changed = true;
	snprintf(pci, sizeof(pci), "%04x:%02x:%02x.0", device->pci_domain, device->pci_bus,
		 device->pci_device);
	int r = string_dictionary_intern(description->strings, pci, strlen(pci), &known->pci);
	return r ? r
		 : string_dictionary_intern(description->strings, name, name_size, &known->name);
}

bool process_description_has_devices(const struct process_description *description)
{
	return description->process.nr_devices > 0;
}

int process_description_add_notice(struct process_description *description, const char *text,
				   size_t size)
{
	struct message_process *process = &description->process;
	uint32_t id;
	int r = string_dictionary_intern(description->strings, text,
					 size < PROCESS_NOTICE_SIZE ? size : PROCESS_NOTICE_SIZE,
					 &id);

	if (r || id == STRING_NONE || process->nr_notices == PROCESS_NOTICES_MAX)
		return r;
	for (uint32_t i = 0; i < process->nr_notices; i++)
		if (description->notices[i] == id)
			return 0;
	description->notices[process->nr_notices++] = id;
	description->changed = true;
	return 1;
}

int process_description_add_stream(struct process_description *description,
				   const struct definition_stream *stream, const char *name,
				   size_t name_size)
{
	struct stream_list *list = &description->streams;
	const struct message_stream *known =
		stream_list_find(list, stream->context_id, stream->stream_id);
	struct message_stream next = {.context_id = stream->context_id,
				      .stream_id = stream->stream_id};

	if (!known && list->nr_streams == PROCESS_STREAMS_MAX)
		return 0;
	if (known)
		next = *known;
	next.flags |= stream->flags;
	if (stream->flags & DEFINITION_STREAM_PRIORITY)
		next.priority = stream->priority;
	if (stream->flags & DEFINITION_STREAM_NAMED) {
		int r = string_dictionary_intern(description->strings, name, name_size, &next.name);

		if (r)
			return r;
	}
	return stream_list_put(list, &next);
}

int process_description_add_context(struct process_description *description,
				    const struct message_context *context)
{
	const struct context_list *list = &description->contexts;

	if (list->nr_contexts == PROCESS_CONTEXTS_MAX &&
	    !context_list_find(list, context->context_id))
		return 0;
	return context_list_put(&description->contexts, context);
}

bool process_description_streams(struct process_description *description, struct message *message)
{
	struct stream_list *streams = &description->streams;
	struct context_list *contexts = &description->contexts;

	if (!streams->changed && !contexts->changed)
		return false;
	streams->changed = contexts->changed = false;
	*message = (struct message){.type = MESSAGE_STREAM,
				    .streams = {.process_id = description->process.process_id,
						.nr_streams = streams->nr_streams,
						.nr_contexts = contexts->nr_contexts,
						.streams = streams->streams,
						.contexts = contexts->contexts}};
	return true;
}

void process_description_set_identity(struct process_description *description, pid_t pid,
				      uint64_t start_ticks)
{
	if (pid > 0)
		description->process.pid = (uint32_t)pid;
	if (pid > 0 && start_ticks)
		description->process.start_ticks = start_ticks;
}

int process_description_set_command(struct process_description *description, const char *command)
{
	description->changed = true;
	return string_dictionary_intern(description->strings, command, strlen(command),
					&description->process.command);
}

int32_t process_description_rank(const struct process_description *description)
{
	return description->process.rank;
}

void process_description_set_state(struct process_description *description,
				   enum process_state state)
{
	if (description->process.state != (uint32_t)state)
		description->changed = true;
	description->process.state = state;
}

bool process_description_changed(const struct process_description *description)
{
	return description->changed;
}

void process_description_message(struct process_description *description, struct message *message)
{
	memset(message, 0, sizeof(*message));
	message->type = MESSAGE_PROCESS;
	message->process = description->process;
	message->process.devices = description->devices;
	message->process.notices = description->notices;
	description->changed = false;
}
