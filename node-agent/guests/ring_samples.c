#include "ring_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stack_resolver.h"

#include "base/array.h"
#include "node-agent/cubin/cubin_table.h"
#include "node-agent/places/sample_places.h"
#include "proto/host_sample.h"
#include "proto/kernel_refusal.h"
#include "proto/record.h"

#define REASON_TEXT_MAX 128u /* bytes */
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
	bool is_late;                 /* the guest has not heard of all code */
	bool gave_up;                 /* nothing waits for the rest of a cubin any more */
	bool is_closed;               /* no new names and stacks */
	uint64_t newest_ns;           /* of all definitions of samples */
	struct cubin_table *cubins;   /* owns; NULL: until the first cubin comes */
	struct sample_places *places; /* owns; NULL: until the first sample comes */
	uint32_t reasons[DEFINITION_STALL_REASONS_MAX]; /* string ids */
	struct host_sample *samples;                    /* owns */
	uint32_t nr_samples, max_samples;
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
	sample_places_destroy(samples->places);
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
	/* The environment does not tell it where the user attached. */
	const int r = process_description_add_notice(samples->outputs->description, KERNEL_NOTICE,
						     strlen(KERNEL_NOTICE));
	if (r < 0)
		return r;
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

static uint32_t device_of(const struct definition_kernel_samples *head)
{
	return head->device_id < RECORD_DEVICES_MAX ? head->device_id : RECORD_DEVICES_MAX - 1;
}

static bool lacks_code(const struct ring_samples *samples, uint64_t crc)
{
	enum cubin_state state =
		samples->cubins ? cubin_table_state(samples->cubins, crc) : CUBIN_UNKNOWN;

	return state == CUBIN_PARTIAL || (state == CUBIN_UNKNOWN && samples->is_late);
}

static void count(struct ring_samples *samples, const struct definition_kernel_samples *head,
		  enum ledger_reason reason, uint64_t nr_samples)
{
	if (nr_samples)
		process_ledger_count(samples->outputs->ledger, device_of(head), reason, nr_samples);
}

/* Finds what the samples of a definition have in common. */
static int find_kernel(struct ring_samples *samples, const struct waiting *of,
		       struct sample_kernel *kernel)
{
	const char *name = (const char *)of->entries +
			   of->head.nr_entries * sizeof(struct definition_kernel_sample);

	*kernel = (struct sample_kernel){
		.launch = of->launch,
		.line = of->kind == HOST_SAMPLE_EXACT ? HOST_SAMPLE_EXACT_LINE : 0,
	};
	if (!samples->places)
		samples->places =
			sample_places_create(samples->outputs->strings, samples->outputs->stacks);
	if (!samples->places)
		return -ENOMEM;
	if (samples->is_closed)
		sample_places_close(samples->places);
	if (samples->cubins)
		kernel->code = cubin_table_code(samples->cubins, of->head.cubin_crc, name);
	return sample_places_kernel(samples->places, name, kernel);
}

/* Adds the samples of a definition that makes sense. */
static int add_all(struct ring_samples *samples, const struct waiting *of)
{
	const struct definition_kernel_samples *head = &of->head;
	uint64_t sum = 0, by_place[SAMPLE_PLACE_NONE + 1] = {0};
	struct definition_kernel_sample entry;
	struct sample_kernel kernel;
	enum sample_place place;
	int r = find_kernel(samples, of, &kernel);

	if (r == 0 &&
	    array_reserve(&samples->samples, &samples->max_samples,
			  samples->nr_samples + head->nr_entries, sizeof(*samples->samples)))
		r = -ENOMEM;
	for (uint32_t i = 0; i < head->nr_entries && r == 0; i++) {
		memcpy(&entry, of->entries + i * sizeof(entry), sizeof(entry));
		struct host_sample sample = {
			.time_ns = head->time_ns ? head->time_ns : 1,
			.duration_ns = entry.count,
			.tid = device_of(head),
			.name_id = samples->reasons[entry.reason],
			.kind = (uint8_t)of->kind,
		};

		r = sample_places_find(samples->places, &kernel, entry.offset, &sample.stack_id,
				       &place);
		if (r)
			break;
		samples->samples[samples->nr_samples++] = sample;
		by_place[place] += entry.count;
		sum += entry.count;
	}
	if (of->kind == HOST_SAMPLE_EXACT && of->launch == STACK_NODE_NONE)
		count(samples, head, LEDGER_EXACT_SAMPLE_NO_LAUNCH, sum);
	if (lacks_code(samples, head->cubin_crc))
		count(samples, head, LEDGER_KERNEL_SAMPLE_NO_CODE, sum);
	count(samples, head, LEDGER_KERNEL_SAMPLE_NO_LINES, by_place[SAMPLE_PLACE_NO_LINES]);
	count(samples, head, LEDGER_KERNEL_SAMPLE_NO_PLACE, by_place[SAMPLE_PLACE_NONE]);
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
	samples->is_closed = true;
	if (samples->places)
		sample_places_close(samples->places);
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
