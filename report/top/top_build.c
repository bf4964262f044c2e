/* top_sums_create(): puts a profile's rows into the tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "top_tree.h"

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/nccl_kernel.h"
#include "aggregator/profile/roster.h"
#include "proto/record.h"
#include "report/model/report_split.h"
#include "report/model/report_tree.h"
#include "report/names/clean_text.h"
#include "report/names/demangle.h"

enum name_kind { NAME_UNKNOWN, NAME_COMPUTE, NAME_NCCL };

/* Where the last total went: rows of a stream follow one another. */
struct place {
	uint32_t process, device_id, context_id, stream_id;
	uint32_t node; /* of the stream; TOP_SUMS_NONE: there was none yet */
};

struct building {
	const struct profile_sums *from;
	const struct top_wants *wants;
	struct top_sums *sums;
	struct report_split *split; /* owns */
	uint8_t *kinds;             /* owns; by string id: enum name_kind */
	/* own; by string id: the text of a name, and of a kernel's name; NULL: not made yet */
	const char **texts, **kernels;
	struct place last;
};

/* ---- names */

static const char *keep(struct building *building, char *text)
{
	if (text)
		building->sums->texts[building->sums->nr_texts++] = text;
	return text;
}

/* NULL: out of memory. */
static const char *text_of(struct building *building, uint32_t string_id)
{
	uint32_t size;
	const char *text =
		catalog_string(building->from->profile->collection->catalog, string_id, &size);

	if (!building->texts[string_id])
		building->texts[string_id] = keep(building, clean_text_of(text, size));
	return building->texts[string_id];
}

static const char *kernel_of(struct building *building, uint32_t string_id)
{
	const char *clean = text_of(building, string_id);
	char *name = NULL;

	if (!building->kernels[string_id] && clean)
		name = demangle_name(clean, DEMANGLE_SIMPLE);
	if (name)
		building->kernels[string_id] = keep(building, clean_text_of(name, strlen(name)));
	free(name);
	return building->kernels[string_id];
}

static enum top_value value_of(struct building *building, const struct fold_key *key)
{
	uint32_t size;
	const char *name;

	switch (key->kind) {
	case RECORD_GPU_MEMCPY:
		return TOP_COPIES;
	case RECORD_GPU_MEMSET:
		return TOP_FILLS;
	case RECORD_GPU_GRAPH:
		return TOP_GRAPHS;
	default:
		break;
	}
	uint8_t *kind = &building->kinds[key->name_id];

	if (*kind == NAME_UNKNOWN) {
		name = catalog_string(building->from->profile->collection->catalog, key->name_id,
				      &size);
		*kind = nccl_kernel_is(name, size) ? NAME_NCCL : NAME_COMPUTE;
	}
	return *kind == NAME_NCCL ? TOP_NCCL : TOP_COMPUTE;
}

/* ---- ranks, GPUs and streams */

/* What a process is, whichever writer recorded it. */
static uint64_t process_key(const struct building *building, const struct roster_process *process)
{
	const struct collection *collection = building->from->profile->collection;
	const struct roster_host *host = roster_host(collection->roster, process->identity.host);
	const uint64_t numbers[] = {process->identity.start_ticks, process->identity.pid_namespace,
				    process->identity.pid};
	uint32_t size;
	const char *boot_id = catalog_string(collection->catalog, host ? host->boot_id : 0, &size);
	uint64_t key = hash_index_digest(1, boot_id, size);

	key = hash_index_digest(key, process->identity.instance,
				sizeof(process->identity.instance));
	return hash_index_digest(key, numbers, sizeof(numbers));
}

static uint64_t rank_key(const struct building *building, const struct roster_process *process)
{
	uint32_t size;
	const char *job =
		catalog_string(building->from->profile->collection->catalog, process->job, &size);

	if (process->rank < 0)
		return process_key(building, process);
	return hash_index_digest(hash_index_digest(2, job, size), &process->rank,
				 sizeof(process->rank));
}

/* Of a rank with several processes the last one that was heard of says where it is. */
static uint32_t rank_of(struct building *building, uint32_t process_id)
{
	const struct roster *roster = building->from->profile->collection->roster;
	const struct roster_process *process = roster_process(roster, process_id);
	const struct roster_host *host = roster_host(roster, process->identity.host);
	const uint64_t heard_ns = building->from->heard_ns[process_id - 1];
	const uint32_t at = top_tree_get(building->sums, TOP_RANK, 0, rank_key(building, process));

	if (at == TOP_SUMS_NONE)
		return at;
	struct top_node *node = &building->sums->nodes[at];

	node->is_running |= process->state == PROCESS_RUNNING;
	if (*node->place && heard_ns <= node->heard_ns)
		return at;
	node->heard_ns = heard_ns;
	node->rank = process->rank >= 0 ? process->rank : REPORT_RANK_NONE;
	node->pid = process->identity.pid;
	node->place = text_of(building, host ? host->node : 0);
	return node->place ? at : TOP_SUMS_NONE;
}

static uint32_t gpu_of(struct building *building, uint32_t process_id, uint32_t device_id)
{
	static const uint8_t none[WIRE_UUID_SIZE];
	const struct roster *roster = building->from->profile->collection->roster;
	const struct roster_process *process = roster_process(roster, process_id);
	const struct roster_device *device =
		roster_device(roster, roster_process_device(process, device_id));
	const uint64_t heard_ns = building->from->heard_ns[process_id - 1];
	const uint32_t rank = rank_of(building, process_id);
	uint64_t key;

	if (rank == TOP_SUMS_NONE)
		return rank;
	if (device && memcmp(device->uuid, none, sizeof(none)) != 0)
		key = hash_index_digest(3, device->uuid, sizeof(device->uuid));
	else
		key = hash_index_digest(process_key(building, process), &device_id,
					sizeof(device_id));
	const uint32_t at = top_tree_get(building->sums, TOP_GPU, rank, key);
	if (at == TOP_SUMS_NONE)
		return at;
	struct top_node *node = &building->sums->nodes[at];

	node->gpu = device && device->index >= 0 ? device->index : REPORT_GPU_NONE;
	node->place = text_of(building, device ? device->name : 0);
	node->is_running |= process->state == PROCESS_RUNNING;
	if (heard_ns > node->heard_ns)
		node->heard_ns = heard_ns;
	return node->place ? at : TOP_SUMS_NONE;
}

static uint32_t stream_of(struct building *building, const struct place *place)
{
	const struct roster_process *process =
		roster_process(building->from->profile->collection->roster, place->process);
	const uint32_t ids[] = {place->context_id, place->stream_id};
	const uint32_t gpu = gpu_of(building, place->process, place->device_id);
	struct message_stream stream = {0};

	if (gpu == TOP_SUMS_NONE)
		return gpu;
	const uint64_t key = hash_index_digest(process_key(building, process), ids, sizeof(ids));
	const uint32_t at = top_tree_get(building->sums, TOP_STREAM, gpu, key);
	if (at == TOP_SUMS_NONE)
		return at;
	struct top_node *node = &building->sums->nodes[at];

	roster_process_stream(process, place->context_id, place->stream_id, &stream);
	node->pid = process->identity.pid;
	node->context_id = place->context_id;
	node->stream_id = place->stream_id;
	node->is_running |= process->state == PROCESS_RUNNING;
	node->is_told = !building->wants->wants ||
			building->wants->wants(building->wants->context, node->key);
	node->name = text_of(building, stream.name);
	return node->name ? at : TOP_SUMS_NONE;
}

/* ---- rows */

static int take_time(struct building *building, const struct profile_sums_time *time)
{
	const struct place place = {time->process, time->device_id, time->context_id,
				    time->stream_id, 0};
	const bool is_work = time->level == TIMELINE_WORK;

	/* the timeline of all streams above the limit */
	if (!is_work && time->device_id == UINT32_MAX)
		return 0;
	const uint32_t at = is_work ? gpu_of(building, time->process, time->device_id)
				    : stream_of(building, &place);

	if (at == TOP_SUMS_NONE)
		return -ENOMEM;
	struct top_node *node = &building->sums->nodes[at];

	node->has_busy = true;
	node->values[TOP_BUSY] += time->busy_ns;
	if (!is_work || !time->records)
		return 0;
	if (!node->first_ns || time->first_ns < node->first_ns)
		node->first_ns = time->first_ns;
	if (time->last_ns > node->last_ns)
		node->last_ns = time->last_ns;
	node->uncaptured_ns += time->uncaptured_ns;
	return 0;
}

static int take_wait(void *context, const struct fold_row *part, enum report_split_part which,
		     const char *text)
{
	uint64_t *waits_ns = context;

	(void)text;
	*waits_ns += which == REPORT_SPLIT_WAITS ? part->ns : 0;
	return 0;
}

static void add(struct top_node *node, const uint64_t *values)
{
	for (uint32_t i = 0; i < TOP_VALUES; i++)
		node->values[i] += i == TOP_BUSY ? 0 : values[i];
}

/* parent: a stream, or all ranks. Kernels whose short names are equal are one. */
static int add_kernel(struct building *building, uint32_t parent, const struct fold_row *row,
		      const uint64_t *values)
{
	const uint8_t kinds[] = {row->key.kind, row->key.copy_kind};
	const char *name = kernel_of(building, row->key.name_id);

	if (!name)
		return -ENOMEM;
	const uint64_t key =
		hash_index_digest(hash_index_digest(4, name, strlen(name)), kinds, sizeof(kinds));
	const uint32_t at = top_tree_get(building->sums, TOP_KERNEL, parent, key);

	if (at == TOP_SUMS_NONE)
		return building->sums->nr_kernels >= TOP_SUMS_KERNELS ? 0 : -ENOMEM;
	struct top_node *node = &building->sums->nodes[at];

	node->kind = row->key.kind;
	node->copy_kind = row->key.copy_kind;
	node->has_busy = true;
	node->name = name;
	add(node, values);
	node->values[TOP_BUSY] += row->ns;
	return 0;
}

static int find_stream(struct building *building, const struct fold_key *key)
{
	struct place *last = &building->last;

	if (last->node != TOP_SUMS_NONE && last->process == key->process_id &&
	    last->device_id == key->device_id && last->context_id == key->context_id &&
	    last->stream_id == key->stream_id)
		return 0;
	*last = (struct place){key->process_id, key->device_id, key->context_id, key->stream_id,
			       TOP_SUMS_NONE};
	last->node = stream_of(building, last);
	return last->node == TOP_SUMS_NONE ? -ENOMEM : 0;
}

static int take_total(void *context, const struct fold_row *row)
{
	struct building *building = context;
	const struct collection *collection = building->from->profile->collection;
	uint64_t values[TOP_VALUES] = {[TOP_RECORDS] = row->count};

	if (row->key.kind > RECORD_GPU_GRAPH)
		return 0;
	if (row->key.name_id > catalog_size(collection->catalog).strings ||
	    !roster_process(collection->roster, row->key.process_id))
		return -EPROTO;
	const enum top_value value = value_of(building, &row->key);
	int error = find_stream(building, &row->key);

	values[value] = row->ns;
	if (!error && value == TOP_NCCL)
		error = report_split_each(building->split, row, take_wait, &values[TOP_WAITS]);
	if (error)
		return error;
	const uint32_t stream = building->last.node;

	add(&building->sums->nodes[stream], values);
	error = add_kernel(building, 0, row, values);
	if (!error && building->sums->nodes[stream].is_told)
		error = add_kernel(building, stream, row, values);
	return error;
}

/* ---- */

static int make_room(struct building *building)
{
	const struct collection *collection = building->from->profile->collection;
	const size_t nr_strings = catalog_size(collection->catalog).strings + 1ul;

	building->split = report_split_create(building->from->profile);
	building->kinds = calloc(nr_strings, sizeof(*building->kinds));
	building->texts = calloc(nr_strings, sizeof(*building->texts));
	building->kernels = calloc(nr_strings, sizeof(*building->kernels));
	building->sums->texts = calloc(nr_strings, 2 * sizeof(*building->sums->texts));
	return building->split && building->kinds && building->texts && building->kernels &&
			       building->sums->texts
		       ? 0
		       : -ENOMEM;
}

static int build(struct building *building)
{
	const struct profile_sums *from = building->from;
	int error = make_room(building);

	if (!error && top_tree_get(building->sums, TOP_ALL, TOP_SUMS_NONE, 0) == TOP_SUMS_NONE)
		error = -ENOMEM;
	for (uint32_t i = 0; i < from->nr_times && !error; i++)
		error = take_time(building, &from->times[i]);
	if (!error)
		error = profile_sums_each(from, take_total, building);
	return error ? error : top_tree_finish(building->sums);
}

int top_sums_create(const struct profile_sums *from, const struct top_wants *wants,
		    struct top_sums **sums)
{
	struct building building = {.from = from, .wants = wants, .last = {.node = TOP_SUMS_NONE}};

	*sums = building.sums = calloc(1, sizeof(**sums));
	int error = *sums ? build(&building) : -ENOMEM;

	report_split_destroy(building.split);
	free(building.kinds);
	free(building.texts);
	free(building.kernels);
	if (error) {
		top_sums_destroy(*sums);
		*sums = NULL;
		return error;
	}
	(*sums)->read_ns = from->profile->read_ns;
	memcpy((*sums)->writer, from->writer, sizeof(from->writer));
	return 0;
}
