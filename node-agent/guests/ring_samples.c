#include "ring_samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stack_resolver.h"

#include "base/array.h"
#include "node-agent/cubin/cubin_table.h"
#include "proto/host_sample.h"
#include "proto/record.h"

#define REASON_TEXT_MAX 128u /* bytes */
#define OFFSET_TEXT_MAX 32u
#define NAMELESS        "<unknown>"

static_assert(STACK_RESOLVER_DEPTH_MAX + CUBIN_FRAMES_MAX + 1 <= WIRE_STACK_DEPTH_MAX,
	      "a launch, its kernel, and a place in it");

/* A definition whose cubin waits for its line table. */
struct waiting {
	struct waiting *next;
	struct definition_kernel_samples head;
	enum host_sample_kind kind;
	uint32_t launch;   /* node, of exact samples; STACK_NODE_NONE: not known */
	uint32_t size;     /* bytes of all: those of this, of the entries, and of the name */
	uint8_t entries[]; /* and the kernel's name, with a NUL */
};

struct ring_samples {
	const struct ring_outputs *outputs; /* borrowed */
	struct stack_resolver *stacks;      /* borrowed; of launches */
	uid_t user;
	bool is_late;               /* the guest has not heard of all code */
	bool gave_up;               /* nothing waits for the rest of a cubin any more */
	uint64_t newest_ns;         /* of all definitions of samples */
	struct cubin_table *cubins; /* owns; NULL: until the first cubin comes */
	uint32_t reasons[DEFINITION_STALL_REASONS_MAX]; /* string ids */
	struct host_sample *samples;                    /* owns */
	uint32_t nr_samples, max_samples;
	uint32_t node_budget, text_room;
	uint64_t nr_code_lost;        /* cubins that the ledger has */
	struct waiting *first, **end; /* owns; the oldest, and where the next one goes */
	uint32_t waiting_bytes;
};

struct ring_samples *ring_samples_create(const struct ring_outputs *outputs, uid_t user)
{
	struct ring_samples *samples = calloc(1, sizeof(*samples));

	if (!samples)
		return NULL;
	samples->outputs = outputs;
	samples->user = user;
	samples->end = &samples->first;
	samples->node_budget = RING_SAMPLES_NODES_MAX;
	samples->text_room = RING_SAMPLES_TEXT_MAX;
	return samples;
}

void ring_samples_destroy(struct ring_samples *samples)
{
	if (!samples)
		return;
	while (samples->first) {
		struct waiting *waiting = samples->first;

		samples->first = waiting->next;
		free(waiting);
	}
	cubin_table_destroy(samples->cubins);
	free(samples->samples);
	free(samples);
}

void ring_samples_set_stacks(struct ring_samples *samples, struct stack_resolver *stacks)
{
	samples->stacks = stacks;
}

void ring_samples_came_late(struct ring_samples *samples)
{
	samples->is_late = true;
}

int ring_samples_reason(struct ring_samples *samples, const struct definition_stall_reason *head,
			const char *name, size_t size)
{
	char text[REASON_TEXT_MAX];

	if (head->index >= DEFINITION_STALL_REASONS_MAX || size == 0 || size > sizeof(text))
		return -EINVAL;
	/* A hostile guest could define it without end. */
	if (samples->reasons[head->index] != STRING_NONE)
		return 0;
	for (size_t i = 0; i < size; i++)
		text[i] = name[i] == '_' ? ' ' : name[i];
	return string_dictionary_intern(samples->outputs->strings, text, (uint32_t)size,
					&samples->reasons[head->index]);
}

static void count_lost_code(struct ring_samples *samples)
{
	struct cubin_counts counts;

	cubin_table_count(samples->cubins, &counts);
	process_ledger_count(samples->outputs->ledger, LEDGER_DEVICE_NONE, LEDGER_GPU_CODE_LOST,
			     counts.refused + counts.damaged - samples->nr_code_lost);
	samples->nr_code_lost = counts.refused + counts.damaged;
}

int ring_samples_cubin(struct ring_samples *samples, const struct definition_cubin *head,
		       const void *bytes, size_t size)
{
	int r;

	if (!samples->outputs->cubins)
		return 0;
	if (!samples->cubins)
		samples->cubins = cubin_table_create(samples->outputs->cubins, samples->user);
	if (!samples->cubins)
		return -ENOMEM;
	r = cubin_table_chunk(samples->cubins, head->crc, head->size, head->offset, bytes,
			      (uint32_t)size);
	count_lost_code(samples);
	return r == -EINVAL ? r : 0;
}

/* Enters a frame. file NULL: a name alone. */
static int enter(struct ring_samples *samples, const char *file, const char *name, uint32_t line,
		 struct message_frame *frame)
{
	const struct ring_outputs *outputs = samples->outputs;
	struct message_code code = {0};
	int r = 0;

	if (file)
		r = string_dictionary_intern(outputs->strings, file, strlen(file), &code.file);
	if (r == 0)
		r = string_dictionary_intern(outputs->strings, name, strlen(name), &code.name);
	*frame = (struct message_frame){.offset = line};
	return r ? r : stack_dictionary_add_code(outputs->stacks, code, &frame->code);
}

static size_t text_size(const struct cubin_frame *chain, size_t count, const char *kernel)
{
	size_t size = strlen(kernel);

	for (size_t i = 0; i < count; i++)
		size += (chain[i].file ? strlen(chain[i].file) : 0) +
			(chain[i].function ? strlen(chain[i].function) : 0);
	return size;
}

/* Makes the frames of an instruction, leaf first: its source, or its offset, and its kernel. */
static int enter_all(struct ring_samples *samples, const struct waiting *of, const char *kernel,
		     uint32_t offset, const struct cubin_frame *chain, size_t count,
		     struct message_frame frames[CUBIN_FRAMES_MAX + 1], uint32_t *depth)
{
	char text[OFFSET_TEXT_MAX];
	int r = 0;

	*depth = 0;
	for (size_t i = 0; i < count && r == 0; i++)
		r = enter(samples, chain[i].file, chain[i].function ? chain[i].function : kernel,
			  chain[i].file ? chain[i].line : 0, &frames[(*depth)++]);
	if (count == 0) {
		snprintf(text, sizeof(text), "+0x%x", offset);
		r = enter(samples, NULL, text, 0, &frames[(*depth)++]);
	}
	return r ? r
		 : enter(samples, NULL, kernel,
			 of->kind == HOST_SAMPLE_EXACT ? HOST_SAMPLE_EXACT_LINE : 0,
			 &frames[(*depth)++]);
}

/* Finds the stack of an instruction. What finds no room has none, and its samples stay. 0 or -ENOMEM. */
static int find_stack(struct ring_samples *samples, const struct waiting *of, const char *kernel,
		      uint32_t offset, uint32_t *stack_id)
{
	struct cubin_frame chain[CUBIN_FRAMES_MAX];
	struct message_frame frames[CUBIN_FRAMES_MAX + 1];
	const uint32_t budget = samples->node_budget;
	size_t count = 0, size;
	uint32_t depth;

	*stack_id = STACK_NODE_NONE;
	if (samples->cubins)
		count = cubin_table_find(samples->cubins, of->head.cubin_crc, kernel, offset,
					 chain);
	size = text_size(chain, count, kernel);
	/* New names make new nodes, so nothing is entered unless there is room for all nodes. */
	if (size > samples->text_room || budget < (count ? count : 1) + 1)
		return 0;
	int r = enter_all(samples, of, kernel, offset, chain, count, frames, &depth);
	if (r == 0)
		r = stack_dictionary_add_within(samples->outputs->stacks, of->launch, frames, depth,
						&samples->node_budget, stack_id);
	if (samples->node_budget != budget)
		samples->text_room -= (uint32_t)size;
	return r == -ENOMEM ? r : 0;
}

static uint32_t device_of(const struct definition_kernel_samples *head)
{
	return head->device_id < RECORD_DEVICES_MAX ? head->device_id : RECORD_DEVICES_MAX - 1;
}

static int add(struct ring_samples *samples, const struct waiting *of, const char *kernel,
	       const struct definition_kernel_sample *entry)
{
	const struct definition_kernel_samples *head = &of->head;
	struct host_sample sample = {
		.time_ns = head->time_ns ? head->time_ns : 1,
		.duration_ns = entry->count,
		.tid = device_of(head),
		.name_id = samples->reasons[entry->reason],
		.kind = (uint8_t)of->kind,
	};
	int r = find_stack(samples, of, kernel, entry->offset, &sample.stack_id);

	if (r == 0)
		samples->samples[samples->nr_samples++] = sample;
	return r;
}

static bool lacks_code(const struct ring_samples *samples, uint64_t crc)
{
	enum cubin_state state =
		samples->cubins ? cubin_table_state(samples->cubins, crc) : CUBIN_UNKNOWN;

	return state == CUBIN_PARTIAL || (state == CUBIN_UNKNOWN && samples->is_late);
}

/* Adds the samples of a definition that makes sense. */
static int add_all(struct ring_samples *samples, const struct waiting *of)
{
	const struct definition_kernel_samples *head = &of->head;
	const char *kernel = (const char *)of->entries +
			     head->nr_entries * sizeof(struct definition_kernel_sample);
	struct definition_kernel_sample entry;
	uint64_t sum = 0;
	int r = 0;

	if (array_reserve(&samples->samples, &samples->max_samples,
			  samples->nr_samples + head->nr_entries, sizeof(*samples->samples)))
		return -ENOMEM;
	for (uint32_t i = 0; i < head->nr_entries && r == 0; i++) {
		memcpy(&entry, of->entries + i * sizeof(entry), sizeof(entry));
		r = add(samples, of, kernel, &entry);
		sum += entry.count;
	}
	if (of->kind == HOST_SAMPLE_EXACT && of->launch == STACK_NODE_NONE)
		process_ledger_count(samples->outputs->ledger, device_of(head),
				     LEDGER_EXACT_SAMPLE_NO_LAUNCH, sum);
	if (lacks_code(samples, head->cubin_crc))
		process_ledger_count(samples->outputs->ledger, device_of(head),
				     LEDGER_KERNEL_SAMPLE_NO_CODE, sum);
	return r;
}

/* ---- samples that wait for lines */

/* Returns whether lines may come for the samples. */
static bool is_waiting(const struct ring_samples *samples,
		       const struct definition_kernel_samples *head)
{
	enum cubin_state state = samples->cubins
					 ? cubin_table_state(samples->cubins, head->cubin_crc)
					 : CUBIN_UNKNOWN;

	return state == CUBIN_WAITING ||
	       (state == CUBIN_PARTIAL && !samples->gave_up &&
		samples->newest_ns - head->time_ns < RING_SAMPLES_REST_NS);
}

static void append(struct ring_samples *samples, struct waiting *waiting)
{
	*samples->end = waiting;
	samples->end = &waiting->next;
	samples->waiting_bytes += waiting->size;
}

/* The definition becomes samples in its time. */
static int pass(struct ring_samples *samples, struct waiting *waiting)
{
	int r = 0;

	if (is_waiting(samples, &waiting->head)) {
		if (waiting->size <= RING_SAMPLES_WAITING - samples->waiting_bytes) {
			append(samples, waiting);
			return 0;
		}
		cubin_table_give_up(samples->cubins, waiting->head.cubin_crc);
		count_lost_code(samples);
	}
	r = add_all(samples, waiting);
	free(waiting);
	return r;
}

int ring_samples_step(struct ring_samples *samples)
{
	struct waiting *all = samples->first, *next;
	int r = 0;

	if (!samples->cubins)
		return 0;
	cubin_table_step(samples->cubins);
	count_lost_code(samples);
	samples->first = NULL;
	samples->end = &samples->first;
	samples->waiting_bytes = 0;
	for (; all; all = next) {
		next = all->next;
		all->next = NULL;
		if (r || ring_samples_is_full(samples))
			append(samples, all);
		else
			r = pass(samples, all);
	}
	return r;
}

bool ring_samples_wait_for_lines(const struct ring_samples *samples)
{
	return samples->first;
}

void ring_samples_give_up(struct ring_samples *samples)
{
	samples->gave_up = true;
	for (const struct waiting *waiting = samples->first; waiting; waiting = waiting->next)
		cubin_table_give_up(samples->cubins, waiting->head.cubin_crc);
}

/* Returns how many entries make sense, up to the first that does not. */
static uint32_t count_good(const uint8_t *entries, uint32_t nr_entries)
{
	struct definition_kernel_sample entry;

	for (uint32_t i = 0; i < nr_entries; i++) {
		memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
		if (entry.reason >= DEFINITION_STALL_REASONS_MAX || entry.count == 0)
			return i;
	}
	return nr_entries;
}

static int take(struct ring_samples *samples, const struct definition_kernel_samples *head,
		enum host_sample_kind kind, uint32_t launch, const void *entries, size_t size)
{
	const size_t entry_size = sizeof(struct definition_kernel_sample);

	if (head->nr_entries > size / entry_size)
		return -EINVAL;
	const char *kernel = (const char *)entries + head->nr_entries * entry_size;
	size_t name_size = strnlen(kernel, size - head->nr_entries * entry_size);
	if (name_size == 0) {
		kernel = NAMELESS;
		name_size = strlen(NAMELESS);
	}
	const uint32_t nr_good = count_good(entries, head->nr_entries);
	const size_t room = sizeof(struct waiting) + nr_good * entry_size + name_size + 1;
	struct waiting *made = calloc(1, room);
	if (!made)
		return -ENOMEM;
	made->head = *head;
	made->head.nr_entries = nr_good;
	made->size = (uint32_t)room;
	made->kind = kind;
	made->launch = launch;
	memcpy(made->entries, entries, nr_good * entry_size);
	memcpy(made->entries + nr_good * entry_size, kernel, name_size);
	if (head->time_ns > samples->newest_ns)
		samples->newest_ns = head->time_ns;
	int r = pass(samples, made);
	return r ? r : nr_good < head->nr_entries ? -EINVAL : 0;
}

int ring_samples_add(struct ring_samples *samples, const struct definition_kernel_samples *head,
		     const void *entries, size_t size)
{
	return take(samples, head, HOST_SAMPLE_KERNEL, STACK_NODE_NONE, entries, size);
}

int ring_samples_add_exact(struct ring_samples *samples,
			   const struct definition_exact_samples *head, const void *entries,
			   size_t size)
{
	uint32_t launch = STACK_NODE_NONE;
	int r = 0;

	if (head->cbid > UINT16_MAX)
		return -EINVAL;
	if (head->cbid)
		r = stack_resolver_node(samples->stacks, head->stack_id, head->cbid, &launch);
	return r ? r : take(samples, &head->samples, HOST_SAMPLE_EXACT, launch, entries, size);
}

void ring_samples_close(struct ring_samples *samples)
{
	samples->node_budget = 0;
}

bool ring_samples_waits(const struct ring_samples *samples)
{
	return samples->nr_samples != 0;
}

bool ring_samples_is_full(const struct ring_samples *samples)
{
	return samples->nr_samples >= RING_SAMPLES_MAX;
}

bool ring_samples_take(struct ring_samples *samples, struct message *message)
{
	if (samples->nr_samples == 0)
		return false;
	*message = (struct message){
		.type = MESSAGE_SAMPLES,
		.samples = {.nr_samples = samples->nr_samples, .samples = samples->samples},
	};
	samples->nr_samples = 0;
	return true;
}
