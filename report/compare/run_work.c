#include "run_work.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "run_lines.h"
#include "run_noise.h"
#include "run_windows.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/nccl_kernel.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "proto/batch/statistics_table.h"
#include "report/model/report_names.h"
#include "report/model/report_summary.h"
#include "report/names/clean_text.h"

/* The members of a process follow one another in the list. */
struct builder {
	const struct profile *profile;
	struct run_work *work;
	struct report_names *names;
	uint32_t *item_of; /* by text: its item; 0: none yet */
	uint32_t nr_texts;
	uint32_t *member_of; /* by process: its first member + 1 */
	uint32_t *next_of;   /* by member: the process's next one + 1 */
	uint32_t *ordinals;  /* by member */
	uint32_t room_next, room_ordinals, room_items, room_members, room_parts;
};

/* ---- items */

/* Turns "[GPU_Kernel]gemm" into "gemm"; "[GPU_Memcpy]HtoD" stays. */
static char *item_name(const char *leaf, bool is_kernel)
{
	const char *end = strchr(leaf, ']');

	return strdup(is_kernel && end && end[1] ? end + 1 : leaf);
}

static int add_item(struct builder *builder, const char *leaf, const struct fold_key *key,
		    uint32_t *item)
{
	struct run_work *work = builder->work;
	const bool is_kernel = key->kind == RECORD_GPU_KERNEL;
	uint32_t size;
	const char *raw =
		catalog_string(builder->profile->collection->catalog, key->name_id, &size);

	if (array_reserve(&work->items, &builder->room_items, work->nr_items + 1ul,
			  sizeof(*work->items)))
		return -ENOMEM;
	*item = work->nr_items;
	work->items[work->nr_items] = (struct run_item){
		.name = item_name(leaf, is_kernel),
		.kind = is_kernel ? RUN_KIND_KERNEL : RUN_KIND_COPIES,
		.is_nccl = is_kernel && nccl_kernel_is(raw, size),
	};
	return work->items[work->nr_items++].name ? 0 : -ENOMEM;
}

static int find_item(void *context, const struct fold_key *of, uint32_t *item)
{
	struct builder *builder = context;
	struct fold_key key;
	uint32_t text;

	if (of->name_id > catalog_size(builder->profile->collection->catalog).strings)
		return -EPROTO;
	memset(&key, 0, sizeof(key));
	key.name_id = of->name_id;
	key.kind = of->kind;
	key.copy_kind = of->copy_kind;
	int error = report_names_leaf(builder->names, &key, REPORT_GPU_ANY, &text);
	if (!error && text >= builder->nr_texts) {
		uint32_t had = builder->nr_texts, room = had;

		error = array_reserve_zeroed(&builder->item_of, &room, text + 1ul,
					     sizeof(*builder->item_of));
		builder->nr_texts = room;
	}
	if (error)
		return error;
	if (!builder->item_of[text])
		error = add_item(builder, report_names_get(builder->names, text), &key,
				 &builder->item_of[text]);
	*item = builder->item_of[text];
	return error;
}

/* ---- members */

static int add_member(struct builder *builder, const struct fold_key *key, uint32_t *member)
{
	struct run_work *work = builder->work;
	const struct roster *roster = builder->profile->collection->roster;
	const struct roster_process *process = roster_process(roster, key->process_id);
	const struct roster_device *device;

	if (!process)
		return -EPROTO;
	device = roster_device(roster, roster_process_device(process, key->device_id));
	const uint64_t need = work->nr_members + 1ull;
	if (array_reserve(&work->members, &builder->room_members, need, sizeof(*work->members)) ||
	    array_reserve(&builder->next_of, &builder->room_next, need, sizeof(uint32_t)) ||
	    array_reserve(&builder->ordinals, &builder->room_ordinals, need, sizeof(uint32_t)))
		return -ENOMEM;
	*member = work->nr_members++;
	work->members[*member] = (struct run_member){.rank = process->rank};
	if (device)
		memcpy(work->members[*member].uuid, device->uuid, sizeof(device->uuid));
	builder->ordinals[*member] = key->device_id;
	builder->next_of[*member] = builder->member_of[key->process_id];
	builder->member_of[key->process_id] = *member + 1;
	return 0;
}

static int find_member(struct builder *builder, const struct fold_key *key, uint32_t *member)
{
	const uint32_t most = roster_size(builder->profile->collection->roster).processes;

	if (key->process_id == 0 || key->process_id > most)
		return -EPROTO;
	for (uint32_t id = builder->member_of[key->process_id]; id; id = builder->next_of[id - 1])
		if (builder->ordinals[id - 1] == key->device_id) {
			*member = id - 1;
			return 0;
		}
	return add_member(builder, key, member);
}

/* ---- sums */

static int take_total(void *context, const struct fold_row *row)
{
	struct builder *builder = context;
	struct run_work *work = builder->work;
	struct run_part part = {.count = row->count, .ns = row->ns};

	if (row->key.kind > RECORD_GPU_GRAPH)
		return 0;
	int error = find_item(builder, &row->key, &part.item);
	if (!error)
		error = find_member(builder, &row->key, &part.member);
	if (error)
		return error;
	if (array_reserve(&work->parts, &builder->room_parts, work->nr_parts + 2ul,
			  sizeof(*work->parts)))
		return -ENOMEM;
	work->parts[work->nr_parts++] = part;
	if (work->items[part.item].kind != RUN_KIND_KERNEL || work->items[part.item].is_nccl)
		return 0;
	part.item = RUN_WORK_ALL;
	work->parts[work->nr_parts++] = part;
	return 0;
}

static int by_part(const void *a, const void *b)
{
	const struct run_part *x = a, *y = b;

	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	return (x->member > y->member) - (x->member < y->member);
}

static void merge_parts(struct run_work *work)
{
	uint32_t count = 0;

	if (work->nr_parts)
		qsort(work->parts, work->nr_parts, sizeof(*work->parts), by_part);
	for (uint32_t i = 0; i < work->nr_parts; i++) {
		const struct run_part *part = &work->parts[i];

		work->items[part->item].count += part->count;
		work->items[part->item].ns += part->ns;
		if (count && by_part(&work->parts[count - 1], part) == 0) {
			work->parts[count - 1].count += part->count;
			work->parts[count - 1].ns += part->ns;
		} else {
			work->parts[count++] = *part;
		}
	}
	work->nr_parts = count;
}

static void add_spread(struct run_item *item, const struct message_kernel_config *config)
{
	const double mean = (double)config->total_ns / (double)config->count;
	const double above = (double)config->max_ns - mean, below = mean - (double)config->min_ns;

	item->covered_ns += config->total_ns;
	if (above > 0 && below > 0)
		item->spread_ns2 += (double)config->count * above * below;
}

static int add_spreads(struct builder *builder)
{
	const struct roster *roster = builder->profile->collection->roster;
	const uint32_t nr_processes = roster_size(roster).processes;
	struct run_work *work = builder->work;

	for (uint32_t id = 1; id <= nr_processes; id++) {
		uint32_t count;
		const struct message_kernel_config *configs =
			statistics_table_configs(roster_process(roster, id)->statistics, &count);

		for (uint32_t i = 0; i < count; i++) {
			struct fold_key key = {.name_id = configs[i].config.name_id};
			uint32_t item;
			int error = find_item(builder, &key, &item);

			if (error)
				return error;
			if (!configs[i].count)
				continue;
			add_spread(&work->items[item], &configs[i]);
			if (!work->items[item].is_nccl)
				add_spread(&work->items[RUN_WORK_ALL], &configs[i]);
		}
	}
	return 0;
}

/* ---- the whole */

/* Members come into the order in which two runs are compared. */
static int by_member(const void *a, const void *b, void *context)
{
	const struct run_member *members = context;
	const struct run_member *x = &members[*(const uint32_t *)a];
	const struct run_member *y = &members[*(const uint32_t *)b];
	int order = memcmp(x->uuid, y->uuid, sizeof(x->uuid));

	if (order)
		return order;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x > y) - (x < y);
}

static int sort_members(struct run_work *work)
{
	const uint32_t nr = work->nr_members;
	uint32_t *order = malloc((nr + 1ul) * sizeof(*order));
	uint32_t *place = malloc((nr + 1ul) * sizeof(*place));
	struct run_member *sorted = malloc((nr + 1ul) * sizeof(*sorted));

	if (!order || !place || !sorted) {
		free(order);
		free(place);
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(*order), by_member, work->members);
	for (uint32_t i = 0; i < nr; i++) {
		place[order[i]] = i;
		sorted[i] = work->members[order[i]];
	}
	for (uint32_t i = 0; i < work->nr_parts; i++)
		work->parts[i].member = place[work->parts[i].member];
	free(work->members);
	work->members = sorted;
	free(order);
	free(place);
	return 0;
}

static int by_rank(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Counts numbers of ranks, and GPUs, of the members, which are in order. */
static int count_members(struct run_work *work)
{
	const struct run_member *members = work->members;
	int32_t *ranks = malloc((work->nr_members + 1ul) * sizeof(*ranks));

	if (!ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->nr_members; i++) {
		ranks[i] = members[i].rank;
		work->nr_gpus += i == 0 || memcmp(members[i].uuid, members[i - 1].uuid,
						  sizeof(members->uuid)) != 0;
	}
	qsort(ranks, work->nr_members, sizeof(*ranks), by_rank);
	for (uint32_t i = 0; i < work->nr_members; i++)
		work->nr_numbers += ranks[i] >= 0 && (i == 0 || ranks[i] != ranks[i - 1]);
	if (work->nr_members && !work->nr_numbers)
		work->nr_numbers = 1;
	free(ranks);
	return 0;
}

/* Names the GPUs' type. */
static int name_device(struct builder *builder)
{
	const struct collection *collection = builder->profile->collection;
	const uint32_t nr = roster_size(collection->roster).devices;
	uint32_t name = 0, size;
	bool alike = true;

	for (uint32_t id = 1; id <= nr; id++) {
		uint32_t of = roster_device(collection->roster, id)->name;

		alike &= !name || !of || name == of;
		name = of ? of : name;
	}
	const char *text = catalog_string(collection->catalog, alike ? name : 0, &size);
	builder->work->device = clean_text_of(text, size);
	return builder->work->device ? 0 : -ENOMEM;
}

static int by_name(const void *a, const void *b)
{
	return run_item_order(*(const struct run_item *const *)a,
			      *(const struct run_item *const *)b);
}

static int sort_names(struct run_work *work)
{
	work->by_name = malloc(work->nr_items * sizeof(*work->by_name));
	if (!work->by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->nr_items; i++)
		work->by_name[i] = &work->items[i];
	qsort(work->by_name, work->nr_items, sizeof(*work->by_name), by_name);
	return 0;
}

static int describe(struct builder *builder, const struct report_tree *tree)
{
	struct run_work *work = builder->work;

	work->lossy = tree->lost || tree->state == REPORT_LIVE || tree->state == REPORT_EMPTY ||
		      tree->state == REPORT_INCOMPLETE;
	work->summary = malloc(REPORT_SUMMARY_SIZE);
	if (!work->summary)
		return -ENOMEM;
	report_summary_line(tree, work->summary, REPORT_SUMMARY_SIZE);
	return name_device(builder);
}

static int build(struct builder *builder, const char *store_path, char **error)
{
	static const struct run_item all = {.kind = RUN_KIND_ALL};
	const struct roster *roster = builder->profile->collection->roster;
	struct run_work *work = builder->work;

	builder->names = report_names_create(builder->profile, DEMANGLE_FULL, REPORT_LINES_OFF);
	builder->member_of = calloc(roster_size(roster).processes + 1ul, sizeof(uint32_t));
	if (!builder->names || !builder->member_of ||
	    array_reserve(&work->items, &builder->room_items, 1, sizeof(all)))
		return -ENOMEM;
	work->items[work->nr_items++] = all;
	work->items[0].name = strdup("all kernels");
	if (!work->items[0].name)
		return -ENOMEM;
	int result = profile_each_total(builder->profile, take_total, builder);
	if (result == 0)
		result = sort_members(work);
	if (result == 0)
		result = count_members(work);
	if (result == 0) {
		merge_parts(work);
		result = add_spreads(builder);
	}
	if (result == 0)
		result = run_windows_read(builder->profile, store_path, find_item, builder, work);
	if (result == 0)
		result = sort_names(work);
	return result ? result
		      : run_counts_read(builder->profile, store_path, &work->counts, error);
}

int run_work_create(const struct profile *profile, const struct report_tree *tree,
		    const char *store_path, struct run_work **work, char **error)
{
	struct builder builder = {.profile = profile, .work = calloc(1, sizeof(struct run_work))};

	*work = NULL;
	*error = NULL;
	if (!builder.work)
		return -ENOMEM;
	int result = build(&builder, store_path, error);
	if (result == 0)
		result = run_lines_find(tree, builder.work);
	if (result == 0)
		result = run_pace_read_gpus(&builder.work->pace, profile, tree);
	if (result == 0)
		result = describe(&builder, tree);
	report_names_destroy(builder.names);
	free(builder.item_of);
	free(builder.member_of);
	free(builder.next_of);
	free(builder.ordinals);
	if (result)
		run_work_destroy(builder.work);
	else
		*work = builder.work;
	return result;
}

void run_work_destroy(struct run_work *work)
{
	if (!work)
		return;
	for (uint32_t i = 0; i < work->nr_items; i++) {
		free(work->items[i].name);
		for (uint32_t j = 0; j < work->items[i].nr_lines; j++) {
			free(work->items[i].lines[j].text);
			free(work->items[i].lines[j].function);
		}
		free(work->items[i].lines);
	}
	free(work->items);
	free(work->by_name);
	free(work->members);
	free(work->parts);
	free(work->windows);
	run_pace_fini(&work->pace);
	free(work->device);
	free(work->summary);
	free(work);
}

const struct run_item *run_work_find(const struct run_work *work, const struct run_item *like)
{
	const struct run_item *const *found =
		bsearch(&like, work->by_name, work->nr_items, sizeof(*work->by_name), by_name);

	return found ? *found : NULL;
}

uint32_t run_work_ranks(const struct run_work *work, enum run_unit unit)
{
	const uint32_t nr = run_counts_ranks(&work->counts, unit);

	return nr ? nr : work->nr_numbers;
}

bool run_work_equals(const struct run_work *a, const struct run_work *b)
{
	if (a->nr_items != b->nr_items || !run_noise_same_gpus(a, b) ||
	    a->pace.of.wall_ns != b->pace.of.wall_ns || a->pace.idle_ns != b->pace.idle_ns)
		return false;
	for (uint32_t i = 0; i < a->nr_items; i++) {
		const struct run_item *x = a->by_name[i], *y = b->by_name[i];

		if (run_item_order(x, y) != 0 || x->count != y->count || x->ns != y->ns)
			return false;
	}
	return true;
}
