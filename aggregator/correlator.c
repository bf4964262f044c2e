#include "correlator.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "block_set.h"
#include "waiting_records.h"

#define EXPIRE_SHARE                                                                               \
	16u /* of launches_max, given up at once: a search for the oldest costs O(all) */
#define NO_BLOCK UINT64_MAX

/* A retired launch: of retired_max of them each has the slot (order % retired_max). */
struct retired {
	uint64_t order; /* + 1; 0: empty */
	uint32_t correlation_id;
	uint16_t window;
};

/* Launches arrive, are answered and are forgotten at three places that each move along slowly. */
enum touch {
	TOUCH_LAUNCH,
	TOUCH_ANSWER,
	TOUCH_FORGET,
	TOUCHES,
};

struct correlator {
	uint32_t process_id;
	struct correlator_options options;
	struct fold_table *table; /* borrowed */
	struct launch_map launches;
	uint32_t nr_outstanding; /* launches not retired */
	struct retired *retired;
	struct waiting_records waiting;
	struct correlator_counts counts;
	struct block_set launch_blocks, record_blocks; /* changed since the last save */
	uint64_t touched[TOUCHES]; /* the block last added to launch_blocks from there */
	struct correlator_waiting_record *loaded_records; /* between load and load_end */
	uint32_t nr_loaded_records, room_loaded_records;
};

struct correlator *correlator_create(uint32_t process_id, const struct correlator_options *options,
				     struct fold_table *table)
{
	struct correlator *correlator = calloc(1, sizeof(*correlator));
	if (!correlator)
		return NULL;

	correlator->process_id = process_id;
	correlator->table = table;
	if (options)
		correlator->options = *options;
	if (!correlator->options.launches_max)
		correlator->options.launches_max = CORRELATOR_LAUNCHES_MAX;
	if (!correlator->options.retired_max)
		correlator->options.retired_max = CORRELATOR_RETIRED_MAX;
	if (!correlator->options.waiting_max)
		correlator->options.waiting_max = CORRELATOR_WAITING_MAX;
	for (int i = 0; i < TOUCHES; i++)
		correlator->touched[i] = NO_BLOCK;
	correlator->retired = calloc(correlator->options.retired_max, sizeof(*correlator->retired));
	if (!correlator->retired) {
		correlator_destroy(correlator);
		return NULL;
	}
	return correlator;
}

void correlator_destroy(struct correlator *correlator)
{
	if (!correlator)
		return;
	launch_map_fini(&correlator->launches);
	waiting_records_fini(&correlator->waiting);
	block_set_fini(&correlator->launch_blocks);
	block_set_fini(&correlator->record_blocks);
	free(correlator->retired);
	free(correlator->loaded_records);
	free(correlator);
}

static uint64_t launch_block(uint32_t window, uint32_t correlation_id)
{
	return ((uint64_t)window << 32 | correlation_id) / CORRELATOR_BLOCK_SIZE;
}

static int touch_launch(struct correlator *correlator, enum touch touch, uint32_t window,
			uint32_t correlation_id)
{
	uint64_t block = launch_block(window, correlation_id);

	if (!correlator->options.track_changes || correlator->touched[touch] == block)
		return 0;
	correlator->touched[touch] = block;
	return block_set_add(&correlator->launch_blocks, block);
}

static int touch_record(struct correlator *correlator, uint64_t order)
{
	if (!correlator->options.track_changes)
		return 0;
	return block_set_add(&correlator->record_blocks, order / CORRELATOR_BLOCK_SIZE);
}

/* Work of a GPU, which a launch has asked for. */
static bool is_work(const struct gpu_record *record)
{
	return record->kind <= RECORD_GPU_GRAPH;
}

/* No call is behind it: a migration of unified memory, a flush of CUPTI's. */
static bool has_no_call(const struct gpu_record *record)
{
	return record->kind == RECORD_GPU_UNIFIED ||
	       (record->kind == RECORD_GPU_OVERHEAD && record->correlation_id == 0);
}

/* Whether a record is what a call is waited for: its work, or of a call without any, what else came of it. Overhead is
 * never all. */
static bool is_answer(const struct launch *launch, const struct gpu_record *record)
{
	if (launch->flags & LAUNCH_HOST)
		return !is_work(record) && record->kind != RECORD_GPU_OVERHEAD;
	return is_work(record);
}

/* launch NULL: the record's launch is not known, or it has none. */
static int fold(struct correlator *correlator, const struct gpu_record *record,
		const struct launch *launch)
{
	struct fold_key key = {
		.process_id = correlator->process_id,
		.device_id = record->device_id,
		.context_id = record->context_id,
		.stream_id = record->stream_id,
		.capture_stack_id = record->capture_stack_id,
		.name_id = record->name_id,
		.kind = record->kind,
		.copy_kind = record->copy_kind,
	};

	if (launch) {
		key.tid = launch->tid;
		key.stack_id = launch->stack_id;
	}
	if (launch || has_no_call(record)) {
		key.matched = 1;
		correlator->counts.matched++;
	} else {
		correlator->counts.unmatched++;
	}
	return fold_table_add(correlator->table, &key, 1, record->end_ns - record->start_ns,
			      record->bytes);
}

static int forget(struct correlator *correlator, struct launch *launch)
{
	uint32_t window = launch->window, correlation_id = launch->correlation_id;

	if (!(launch->flags & LAUNCH_RETIRED))
		correlator->nr_outstanding--;
	launch_map_remove(&correlator->launches, launch);
	return touch_launch(correlator, TOUCH_FORGET, window, correlation_id);
}

/* Afterwards *launch may have moved. */
static int retire(struct correlator *correlator, struct launch *launch)
{
	uint64_t order = correlator->counts.retire_order++;
	struct retired *retired = &correlator->retired[order % correlator->options.retired_max];
	struct retired previous = *retired;

	launch->flags |= LAUNCH_RETIRED;
	launch->order = order;
	correlator->nr_outstanding--;
	*retired = (struct retired){order + 1, launch->correlation_id, launch->window};
	int error = touch_launch(correlator, TOUCH_ANSWER, launch->window, launch->correlation_id);
	if (error || !previous.order)
		return error;

	/* The key may have come again since, with a launch of its own. */
	launch = launch_map_find(&correlator->launches, previous.window, previous.correlation_id);
	if (launch && launch->flags & LAUNCH_RETIRED && launch->order == previous.order - 1)
		return forget(correlator, launch);
	return 0;
}

/* The value that a sort would put at nth; the values, which are distinct, end up in some other
 * order. */
static uint64_t nth_smallest(uint64_t *values, uint32_t count, uint32_t nth)
{
	for (;;) {
		uint64_t pivot = values[count / 2];
		uint32_t below = 0;

		values[count / 2] = values[count - 1];
		for (uint32_t i = 0; i < count - 1; i++) {
			uint64_t value = values[i];

			if (value < pivot) {
				values[i] = values[below];
				values[below++] = value;
			}
		}
		if (nth == below)
			return pivot;
		if (nth < below) {
			count = below;
		} else {
			values += below;
			count -= below + 1;
			nth -= below + 1;
		}
	}
}

/* A launch of which no record came, and no failure told that none will. */
static bool is_unanswered(const struct launch *launch)
{
	return !(launch->flags & (LAUNCH_MATCHED | LAUNCH_RETIRED | LAUNCH_HOST));
}

/* Gives up the oldest outstanding launches. */
static int expire(struct correlator *correlator)
{
	struct launch_map *map = &correlator->launches;
	uint32_t nth = correlator->options.launches_max / EXPIRE_SHARE, count = 0;
	uint64_t *orders = malloc(correlator->nr_outstanding * sizeof(*orders));

	if (!orders)
		return -ENOMEM;
	for (uint32_t i = 0; i <= map->mask; i++)
		if (map->slots[i].flags && !(map->slots[i].flags & LAUNCH_RETIRED))
			orders[count++] = map->slots[i].order;
	assert(count == correlator->nr_outstanding && nth < count);
	uint64_t last = nth_smallest(orders, count, nth);
	free(orders);

	/* A removal moves a later launch into the slot: look at it again. */
	for (uint32_t i = 0; i <= map->mask;) {
		struct launch *launch = &map->slots[i];

		if (!launch->flags || launch->flags & LAUNCH_RETIRED || launch->order > last) {
			i++;
			continue;
		}
		if (is_unanswered(launch))
			correlator->counts.expired++;
		int error = forget(correlator, launch);
		if (error)
			return error;
	}
	return 0;
}

static int answer(struct correlator *correlator, struct launch *launch,
		  const struct gpu_record *record)
{
	bool first = !(launch->flags & LAUNCH_MATCHED);
	int error = fold(correlator, record, launch);

	if (!is_answer(launch, record))
		return error;
	launch->flags |= LAUNCH_MATCHED;
	if (error || !first)
		return error;
	if (!(launch->flags & (LAUNCH_MANY | LAUNCH_RETIRED)))
		return retire(correlator, launch);
	return touch_launch(correlator, TOUCH_ANSWER, launch->window, launch->correlation_id);
}

static int fail(struct correlator *correlator, const struct launch_record *record)
{
	struct launch *launch =
		launch_map_find(&correlator->launches, record->window, record->correlation_id);

	if (!(record->flags & RECORD_LAUNCH_HOST))
		correlator->counts.failed++;
	if (!launch || launch->flags & LAUNCH_RETIRED)
		return 0;
	return retire(correlator, launch);
}

/* A key that is still there from before the ids wrapped, or from a launch that was sent twice,
 * makes room. */
static int forget_key(struct correlator *correlator, const struct launch_record *record)
{
	struct launch *launch =
		launch_map_find(&correlator->launches, record->window, record->correlation_id);

	if (!launch)
		return 0;
	if (is_unanswered(launch))
		correlator->counts.expired++;
	return forget(correlator, launch);
}

/* Folds what waited for this launch. */
static int answer_waiting(struct correlator *correlator, uint32_t window, uint32_t correlation_id)
{
	struct gpu_record record;
	uint64_t order;

	while (waiting_records_take(&correlator->waiting, window, correlation_id, &record,
				    &order)) {
		struct launch *launch =
			launch_map_find(&correlator->launches, window, correlation_id);
		int error = touch_record(correlator, order);

		if (!error)
			error = answer(correlator, launch, &record);
		if (error)
			return error;
	}
	return 0;
}

/* One call of the runtime's may ask for work and then wait for it: one id, and the launch stands for both. */
static bool is_part_of_launch(const struct correlator *correlator,
			      const struct launch_record *record)
{
	const struct launch *launch;

	if (!(record->flags & RECORD_LAUNCH_HOST))
		return false;
	launch = launch_map_find(&correlator->launches, record->window, record->correlation_id);
	return launch && !(launch->flags & (LAUNCH_RETIRED | LAUNCH_HOST));
}

static uint16_t launch_flags(uint32_t record_flags)
{
	unsigned int flags = LAUNCH_USED;

	if (record_flags & RECORD_LAUNCH_MANY)
		flags |= LAUNCH_MANY;
	if (record_flags & RECORD_LAUNCH_HOST)
		flags |= LAUNCH_HOST;
	return (uint16_t)flags;
}

int correlator_launch(struct correlator *correlator, const struct launch_record *record)
{
	if (record->flags & RECORD_LAUNCH_FAILED)
		return fail(correlator, record);

	if (is_part_of_launch(correlator, record))
		return 0;
	if (!(record->flags & RECORD_LAUNCH_HOST))
		correlator->counts.launches++;
	int error = forget_key(correlator, record);
	if (error)
		return error;

	struct launch launch = {
		.correlation_id = record->correlation_id,
		.window = record->window,
		.flags = launch_flags(record->flags),
		.stack_id = record->stack_id,
		.tid = record->tid,
		.order = correlator->counts.launch_order++,
	};
	error = launch_map_insert(&correlator->launches, &launch);
	if (error)
		return error;
	correlator->nr_outstanding++;
	error = touch_launch(correlator, TOUCH_LAUNCH, record->window, record->correlation_id);
	if (!error && correlator->waiting.count)
		error = answer_waiting(correlator, record->window, record->correlation_id);
	if (!error && correlator->nr_outstanding > correlator->options.launches_max)
		error = expire(correlator);
	return error;
}

static int fold_oldest_waiting(struct correlator *correlator)
{
	struct gpu_record record;
	uint64_t order;

	if (!waiting_records_take_oldest(&correlator->waiting, &record, &order))
		return 0;
	int error = touch_record(correlator, order);
	return error ? error : fold(correlator, &record, NULL);
}

static int wait_for_launch(struct correlator *correlator, const struct gpu_record *record)
{
	uint64_t order = correlator->counts.waiting_order++;
	int error = 0;

	if (correlator->waiting.count >= correlator->options.waiting_max)
		error = fold_oldest_waiting(correlator);
	if (!error)
		error = waiting_records_add(&correlator->waiting, record, order);
	return error ? error : touch_record(correlator, order);
}

int correlator_record(struct correlator *correlator, const struct gpu_record *record)
{
	correlator->counts.records++;
	if (record->start_ns == 0 || record->end_ns < record->start_ns ||
	    record->end_ns - record->start_ns > CORRELATOR_DURATION_MAX_NS) {
		correlator->counts.invalid++;
		return 0;
	}

	if (has_no_call(record))
		return fold(correlator, record, NULL);

	struct launch *launch =
		launch_map_find(&correlator->launches, record->window, record->correlation_id);
	return launch ? answer(correlator, launch, record) : wait_for_launch(correlator, record);
}

int correlator_finish(struct correlator *correlator)
{
	const struct launch_map *map = &correlator->launches;

	while (correlator->waiting.count) {
		int error = fold_oldest_waiting(correlator);
		if (error)
			return error;
	}
	for (uint32_t i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].flags && is_unanswered(&map->slots[i]))
			correlator->counts.expired++;
	launch_map_fini(&correlator->launches);
	correlator->nr_outstanding = 0;
	memset(correlator->retired, 0,
	       correlator->options.retired_max * sizeof(*correlator->retired));
	return 0;
}

const struct correlator_counts *correlator_counts(const struct correlator *correlator)
{
	return &correlator->counts;
}

uint32_t correlator_waiting(const struct correlator *correlator)
{
	return correlator->waiting.count;
}

static int save_launches(const struct correlator *correlator, uint64_t index, correlator_put *put,
			 void *context)
{
	struct launch launches[CORRELATOR_BLOCK_SIZE];
	struct correlator_block block = {
		.kind = CORRELATOR_BLOCK_LAUNCHES, .index = index, .launches = launches};
	uint64_t first = index * CORRELATOR_BLOCK_SIZE;

	for (uint32_t i = 0; i < CORRELATOR_BLOCK_SIZE; i++) {
		const struct launch *launch = launch_map_find(
			&correlator->launches, (uint32_t)(first >> 32), (uint32_t)(first + i));
		if (launch)
			launches[block.count++] = *launch;
	}
	return put(context, &block);
}

/* Waiting records are linked in the order of their blocks: one walk yields them all. */
static int save_records(const struct correlator *correlator, correlator_put *put, void *context)
{
	const struct waiting_records *waiting = &correlator->waiting;
	struct correlator_waiting_record records[CORRELATOR_BLOCK_SIZE];
	struct correlator_block block = {.kind = CORRELATOR_BLOCK_RECORDS, .records = records};
	uint32_t id = waiting->oldest;
	int error = 0;

	while (id && !error) {
		block.index = waiting->records[id - 1].order / CORRELATOR_BLOCK_SIZE;
		block.count = 0;
		for (; id && waiting->records[id - 1].order / CORRELATOR_BLOCK_SIZE == block.index;
		     id = waiting->records[id - 1].newer)
			records[block.count++] = (struct correlator_waiting_record){
				waiting->records[id - 1].record, waiting->records[id - 1].order};
		if (block_set_has(&correlator->record_blocks, block.index))
			error = put(context, &block);
	}
	return error;
}

static bool has_records(const struct correlator *correlator, uint64_t index)
{
	const struct waiting_records *waiting = &correlator->waiting;

	for (uint32_t id = waiting->oldest; id; id = waiting->records[id - 1].newer) {
		uint64_t block = waiting->records[id - 1].order / CORRELATOR_BLOCK_SIZE;

		if (block >= index)
			return block == index;
	}
	return false;
}

int correlator_save(const struct correlator *correlator, correlator_put *put, void *context)
{
	const struct block_set *blocks = &correlator->launch_blocks;
	int error = 0;

	for (uint32_t i = 0; i < blocks->count && !error; i++)
		error = save_launches(correlator, blocks->blocks[i], put, context);
	blocks = &correlator->record_blocks;
	if (!error && blocks->count)
		error = save_records(correlator, put, context);
	for (uint32_t i = 0; i < blocks->count && !error; i++) {
		struct correlator_block block = {.kind = CORRELATOR_BLOCK_RECORDS,
						 .index = blocks->blocks[i]};

		if (!has_records(correlator, block.index))
			error = put(context, &block);
	}
	return error;
}

void correlator_saved(struct correlator *correlator)
{
	block_set_clear(&correlator->launch_blocks);
	block_set_clear(&correlator->record_blocks);
	for (int i = 0; i < TOUCHES; i++)
		correlator->touched[i] = NO_BLOCK;
}

static int load_launch(struct correlator *correlator, const struct launch *launch)
{
	if (!(launch->flags & LAUNCH_USED) ||
	    launch_map_find(&correlator->launches, launch->window, launch->correlation_id))
		return -EINVAL;
	if (!(launch->flags & LAUNCH_RETIRED)) {
		correlator->nr_outstanding++;
	} else {
		struct retired *retired =
			&correlator->retired[launch->order % correlator->options.retired_max];

		if (retired->order)
			return -EINVAL;
		*retired =
			(struct retired){launch->order + 1, launch->correlation_id, launch->window};
	}
	return launch_map_insert(&correlator->launches, launch);
}

static int load_record(struct correlator *correlator,
		       const struct correlator_waiting_record *record)
{
	if (correlator->nr_loaded_records == correlator->room_loaded_records) {
		uint32_t room = correlator->room_loaded_records + CORRELATOR_BLOCK_SIZE;
		struct correlator_waiting_record *records =
			realloc(correlator->loaded_records, room * sizeof(*records));

		if (!records)
			return -ENOMEM;
		correlator->loaded_records = records;
		correlator->room_loaded_records = room;
	}
	correlator->loaded_records[correlator->nr_loaded_records++] = *record;
	return 0;
}

int correlator_load(struct correlator *correlator, const struct correlator_block *block)
{
	int error = 0;

	for (uint32_t i = 0; i < block->count && !error; i++)
		error = block->kind == CORRELATOR_BLOCK_LAUNCHES
				? load_launch(correlator, &block->launches[i])
				: load_record(correlator, &block->records[i]);
	return error;
}

static int by_order(const void *a, const void *b)
{
	const struct correlator_waiting_record *first = a, *second = b;

	return (first->order > second->order) - (first->order < second->order);
}

int correlator_load_end(struct correlator *correlator, const struct correlator_counts *counts)
{
	uint32_t nr_records = correlator->nr_loaded_records;
	int error = 0;

	if (nr_records)
		qsort(correlator->loaded_records, nr_records, sizeof(*correlator->loaded_records),
		      by_order);
	for (uint32_t i = 0; i < nr_records && !error; i++)
		error = waiting_records_add(&correlator->waiting,
					    &correlator->loaded_records[i].record,
					    correlator->loaded_records[i].order);
	free(correlator->loaded_records);
	correlator->loaded_records = NULL;
	correlator->nr_loaded_records = correlator->room_loaded_records = 0;
	correlator->counts = *counts;
	return error;
}
