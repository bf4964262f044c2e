#include "ring_definitions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/ring/record_ring.h"

int ring_definitions_init(struct ring_definitions *definitions, const struct ring_outputs *outputs,
			  pid_t pid, uid_t user)
{
	*definitions = (struct ring_definitions){
		.outputs = outputs,
		.text_room = RING_OUTPUTS_NAMES_SIZE_MAX,
		.pid = pid,
		.modules = module_table_create(ring_outputs_modules(outputs), pid, user,
					       user == geteuid()),
		.collectives = ring_collectives_create(outputs->ledger),
		.samples = ring_samples_create(outputs, user),
	};
	return definitions->modules && definitions->collectives && definitions->samples ? 0
											: -ENOMEM;
}

void ring_definitions_fini(struct ring_definitions *definitions)
{
	module_table_destroy(definitions->modules);
	ring_collectives_destroy(definitions->collectives);
	ring_samples_destroy(definitions->samples);
	id_table_fini(&definitions->names);
}

static void count_untrusted(struct ring_definitions *definitions)
{
	process_ledger_count(definitions->outputs->ledger, LEDGER_DEVICE_NONE,
			     LEDGER_UNTRUSTED_RING, 1);
}

/* Bounds the agent's memory for a hostile guest, which could send endless text. */
static bool take_text(struct ring_definitions *definitions, size_t size)
{
	uint64_t cost = size + RING_OUTPUTS_NAME_COST;

	if (cost > definitions->text_room)
		return false;
	definitions->text_room -= cost;
	return true;
}

static int define_name(struct ring_definitions *definitions, const struct definition_name *name,
		       const char *text, size_t size)
{
	uint32_t string_id;

	if (name->name_id == RECORD_NAME_NONE || name->name_id > RING_DEFINITIONS_NAMES_MAX ||
	    !take_text(definitions, size))
		return 0; /* records with this name count as LEDGER_NAME_LOST */
	int r = string_dictionary_intern(definitions->outputs->strings, text, size, &string_id);
	if (r)
		return r;
	return id_table_set(&definitions->names, name->name_id, string_id);
}

/* Counts a file that found no room. r: of module_table.h. */
static int count_module(struct ring_definitions *definitions, int r)
{
	if (r == -ENOMEM)
		return r;
	if (r)
		process_ledger_count(definitions->outputs->ledger, LEDGER_DEVICE_NONE,
				     LEDGER_MODULE_LOST, 1);
	return 0;
}

static int define_module(struct ring_definitions *definitions,
			 const struct definition_module *module, const char *path, size_t size)
{
	/* A library that comes and goes takes nothing more. */
	int r = module_table_knows(definitions->modules, module) ||
				(definitions->nr_modules++ < RING_DEFINITIONS_MODULES_MAX &&
				 take_text(definitions, size))
			? module_table_add(definitions->modules, module, path, size)
			: -ENOSPC;

	return count_module(definitions, r);
}

/* A file that stays in the map may give its names to what comes to its place. */
static int undefine_module(struct ring_definitions *definitions,
			   const struct definition_unload *unload)
{
	int r = module_table_remove(definitions->modules, unload->start, unload->end,
				    unload->nr_stacks);

	return count_module(definitions, r);
}

static int define_device(struct ring_definitions *definitions,
			 const struct definition_device *device, const char *name, size_t size)
{
	process_placement_device(definitions->outputs->placement, device->device_id,
				 device->pci_domain, device->pci_bus, device->pci_device);
	return process_description_add_device(definitions->outputs->description, device, name,
					      size);
}

static int define_stream(struct ring_definitions *definitions,
			 const struct definition_stream *stream, const char *name, size_t size)
{
	const uint32_t known = DEFINITION_STREAM_PRIORITY | DEFINITION_STREAM_NON_BLOCKING |
			       DEFINITION_STREAM_DEFAULT | DEFINITION_STREAM_NAMED;
	struct definition_stream copy = *stream;

	copy.flags &= known;
	if (!take_text(definitions, size))
		copy.flags &= ~(uint32_t)DEFINITION_STREAM_NAMED;
	return process_description_add_stream(definitions->outputs->description, &copy, name, size);
}

static int define_context(struct ring_definitions *definitions,
			  const struct definition_context *context)
{
	struct message_context copy = {
		.context_id = context->context_id,
		.parent_id = context->parent_id,
		.device_id = context->device_id,
		.nr_multiprocessors = context->nr_multiprocessors,
		.flags = context->flags & DEFINITION_CONTEXT_GREEN,
	};

	return process_description_add_context(definitions->outputs->description, &copy);
}

static int define_clock(struct ring_definitions *definitions, const struct definition_clock *clock)
{
	definitions->clock_offset_ns = (int64_t)(clock->monotonic_ns - clock->cupti_ns);
	definitions->clock_valid = true;
	return 0;
}

/* Returns whether the code reports a fact that needs no warning. */
static bool is_fact(uint32_t code)
{
	return code == NOTICE_CUPTI_FOUND || code == NOTICE_PYTHON_FOUND ||
	       code == NOTICE_UNWIND_TABLES || code == NOTICE_SUBSCRIPTION_SHARED ||
	       code == NOTICE_NOT_CAPTURED;
}

/* Processes of a job step down one by one, each at its own time, so such a line names its process. */
static void say(const struct ring_definitions *definitions, uint32_t code, const char *line)
{
	const struct ring_outputs *outputs = definitions->outputs;
	const int32_t rank = process_description_rank(outputs->description);
	char named[PROCESS_NOTICE_SIZE + 32];

	if (!outputs->notice || is_fact(code))
		return;
	if (code == NOTICE_COST_LIMIT && rank != MESSAGE_RANK_NONE)
		snprintf(named, sizeof(named), "rank %" PRId32 ": %s", rank, line);
	else if (code == NOTICE_COST_LIMIT && definitions->pid > 0)
		snprintf(named, sizeof(named), "process %d: %s", (int)definitions->pid, line);
	else
		snprintf(named, sizeof(named), "%s", line);
	outputs->notice(outputs->context, named);
}

static int define_notice(struct ring_definitions *definitions, const struct definition_notice *head,
			 const char *text, size_t size)
{
	char line[PROCESS_NOTICE_SIZE + 1];

	if (head->code == NOTICE_NO_CUPTI || head->code == NOTICE_SUBSCRIBER_TAKEN ||
	    head->code == NOTICE_CUPTI_FAILED)
		definitions->lacks_cupti = true;
	size = strnlen(text, size < PROCESS_NOTICE_SIZE ? size : PROCESS_NOTICE_SIZE);
	for (size_t i = 0; i < size; i++)
		line[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
	line[size] = '\0';
	int r = process_description_add_notice(definitions->outputs->description, line, size);
	if (r == 1)
		say(definitions, head->code, line);
	return r < 0 ? r : 0;
}

/* A row that finds no room is missing in the statistics, and the agent goes on. */
static int keep_statistic(struct ring_definitions *definitions, int r, uint64_t nr_lost)
{
	if (r == -ENOSPC)
		process_ledger_count(definitions->outputs->ledger, LEDGER_DEVICE_NONE,
				     LEDGER_STATISTIC_LOST, nr_lost);
	return r == -ENOSPC ? 0 : r;
}

static int define_api_statistic(struct ring_definitions *definitions,
				const struct definition_api_statistic *call, const char *name,
				size_t size)
{
	uint32_t string_id = STRING_NONE;
	int r = 0;

	if (!definitions->outputs->statistics)
		return 0;
	if (call->domain != STATISTICS_DRIVER && call->domain != STATISTICS_RUNTIME) {
		count_untrusted(definitions);
		return 0;
	}
	if (!process_statistics_has_call(definitions->outputs->statistics, call)) {
		r = take_text(definitions, size)
			    ? string_dictionary_intern(definitions->outputs->strings, name, size,
						       &string_id)
			    : -ENOSPC;
		if (r)
			return keep_statistic(definitions, r, 1);
	}
	r = process_statistics_take_call(definitions->outputs->statistics, call, string_id);
	return keep_statistic(definitions, r, 1);
}

static int define_kernel_config(struct ring_definitions *definitions,
				const struct definition_kernel_config *sums)
{
	struct definition_kernel_config bounded = *sums;
	uint32_t name_id = sums->config.name_id;

	if (!definitions->outputs->statistics)
		return 0;
	if (bounded.config.device_id >= RECORD_DEVICES_MAX)
		bounded.config.device_id = RECORD_DEVICES_MAX - 1;
	if (name_id != RECORD_NAME_NONE)
		name_id = ring_definitions_name(definitions, name_id);
	return keep_statistic(
		definitions,
		process_statistics_take_config(definitions->outputs->statistics, &bounded, name_id),
		1);
}

static int define_kernel_metrics(struct ring_definitions *definitions,
				 const struct definition_kernel_metrics *head, const void *sums,
				 size_t size)
{
	uint32_t name_id = head->name_id;

	if (!definitions->stacks)
		return 0;
	if (name_id != RECORD_NAME_NONE)
		name_id = ring_definitions_name(definitions, name_id);
	return ring_metrics_add(&definitions->metrics, definitions->outputs, definitions->stacks,
				head, name_id, sums, size);
}

/* Counts what no guest writes. */
static int judge(struct ring_definitions *definitions, int r)
{
	if (r != -EINVAL)
		return r;
	count_untrusted(definitions);
	return 0;
}

static uint32_t head_size(uint32_t type)
{
	switch (type) {
	case DEFINITION_NAME:
		return sizeof(struct definition_name);
	case DEFINITION_MODULE:
		return sizeof(struct definition_module);
	case DEFINITION_UNLOAD:
		return sizeof(struct definition_unload);
	case DEFINITION_DEVICE:
		return sizeof(struct definition_device);
	case DEFINITION_CLOCK:
		return sizeof(struct definition_clock);
	case DEFINITION_NOTICE:
		return sizeof(struct definition_notice);
	case DEFINITION_WINDOW:
		return sizeof(struct definition_window);
	case DEFINITION_API_STATISTIC:
		return sizeof(struct definition_api_statistic);
	case DEFINITION_KERNEL_CONFIG:
		return sizeof(struct definition_kernel_config);
	case DEFINITION_STREAM:
		return sizeof(struct definition_stream);
	case DEFINITION_COMMUNICATOR:
		return sizeof(struct definition_communicator);
	case DEFINITION_CONTEXT:
		return sizeof(struct definition_context);
	case DEFINITION_STALL_REASON:
		return sizeof(struct definition_stall_reason);
	case DEFINITION_KERNEL_SAMPLES:
		return sizeof(struct definition_kernel_samples);
	case DEFINITION_EXACT_SAMPLES:
		return sizeof(struct definition_exact_samples);
	case DEFINITION_CUBIN:
		return sizeof(struct definition_cubin);
	case DEFINITION_METRIC:
		return sizeof(struct definition_metric);
	case DEFINITION_KERNEL_METRICS:
		return sizeof(struct definition_kernel_metrics);
	default:
		return UINT32_MAX;
	}
}

static void define_window(struct ring_definitions *definitions, const void *head)
{
	const struct definition_window *window = head;

	definitions->window_open = window->end_ns == 0;
	if (window->end_ns) {
		definitions->window_end_ns = window->end_ns;
	} else if (definitions->window_end_ns && definitions->window_end_ns < window->begin_ns &&
		   definitions->nr_pauses < RING_DEFINITIONS_PAUSES) {
		definitions->pauses[definitions->nr_pauses++] = (struct ring_pause){
			definitions->window_end_ns, window->begin_ns, (uint16_t)window->window};
		definitions->window_end_ns = 0;
	}
}

static int define(struct ring_definitions *definitions, uint32_t type, uint32_t size)
{
	const void *head = definitions->definition;
	uint32_t head_bytes = head_size(type);

	if (size < head_bytes) {
		count_untrusted(definitions);
		return 0;
	}
	const char *text = (const char *)definitions->definition + head_bytes;
	size_t text_size = size - head_bytes;
	switch (type) {
	case DEFINITION_NAME:
		return define_name(definitions, head, text, text_size);
	case DEFINITION_MODULE:
		return define_module(definitions, head, text, text_size);
	case DEFINITION_UNLOAD:
		return undefine_module(definitions, head);
	case DEFINITION_DEVICE:
		return define_device(definitions, head, text, text_size);
	case DEFINITION_CLOCK:
		return define_clock(definitions, head);
	case DEFINITION_STREAM:
		return define_stream(definitions, head, text, text_size);
	case DEFINITION_NOTICE:
		return define_notice(definitions, head, text, text_size);
	case DEFINITION_API_STATISTIC:
		return define_api_statistic(definitions, head, text, text_size);
	case DEFINITION_KERNEL_CONFIG:
		return define_kernel_config(definitions, head);
	case DEFINITION_COMMUNICATOR:
		return judge(definitions, ring_collectives_define(definitions->collectives, head));
	case DEFINITION_CONTEXT:
		return define_context(definitions, head);
	case DEFINITION_STALL_REASON:
		return judge(definitions,
			     ring_samples_reason(definitions->samples, head, text, text_size));
	case DEFINITION_KERNEL_SAMPLES:
		return judge(definitions,
			     ring_samples_add(definitions->samples, head, text, text_size));
	case DEFINITION_EXACT_SAMPLES:
		return judge(definitions,
			     ring_samples_add_exact(definitions->samples, head, text, text_size));
	case DEFINITION_CUBIN:
		return judge(definitions,
			     ring_samples_cubin(definitions->samples, head, text, text_size));
	case DEFINITION_METRIC:
		return judge(definitions,
			     ring_metrics_name(&definitions->metrics, definitions->outputs, head,
					       text, text_size));
	case DEFINITION_KERNEL_METRICS:
		return judge(definitions,
			     define_kernel_metrics(definitions, head, text, text_size));
	default: /* DEFINITION_WINDOW: the records carry its number */
		define_window(definitions, head);
		return 0;
	}
}

/* A full dictionary costs names, but never ends the agent. */
static int tolerate(int r)
{
	return r == -ENOSPC ? 0 : r;
}

static int read_all(struct ring_definitions *definitions, struct record_ring *ring,
		    const struct record_ring_snapshot *snapshot)
{
	const uint64_t room = definitions->text_room;

	while (room - definitions->text_room < RING_DEFINITIONS_TEXT_AT_ONCE &&
	       !ring_samples_is_full(definitions->samples) &&
	       definitions->nr_pauses < RING_DEFINITIONS_PAUSES) {
		uint32_t type, size;
		int r = record_ring_read_definition(ring, snapshot, &type, definitions->definition,
						    DEFINITION_SIZE_MAX, &size);

		if (r == -EMSGSIZE) {
			count_untrusted(definitions);
			continue;
		}
		if (r == -EPROTO && !definitions->given_up) {
			definitions->given_up = true;
			count_untrusted(definitions);
		}
		if (r != 1)
			return 0;
		r = tolerate(define(definitions, type, size));
		if (r)
			return r;
	}
	return 1;
}

int ring_definitions_read(struct ring_definitions *definitions, struct record_ring *ring,
			  const struct record_ring_snapshot *snapshot)
{
	definitions->definition = malloc(DEFINITION_SIZE_MAX);
	if (!definitions->definition)
		return -ENOMEM;
	int r = read_all(definitions, ring, snapshot);
	free(definitions->definition);
	definitions->definition = NULL;
	return r;
}

uint32_t ring_definitions_name(const struct ring_definitions *definitions, uint32_t name_id)
{
	return name_id <= RING_DEFINITIONS_NAMES_MAX ? id_table_get(&definitions->names, name_id)
						     : STRING_NONE;
}
