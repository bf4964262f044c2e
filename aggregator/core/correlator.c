#include "correlator.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "fold_limit.h"
#include "launch_delay.h"
#include "launch_expiry.h"
#include "launch_history.h"
#include "memory_account.h"
#include "waiting_records.h"

static_assert(CORRELATOR_BLOCK_SIZE == LAUNCH_HISTORY_BLOCK, "one size of blocks");
static_assert(CORRELATOR_BLOCK_SIZE == WAITING_RECORDS_BLOCK, "one size of blocks");

struct correlator {
	uint32_t process_id;
	struct correlator_options options;
	struct fold_table *table; /* borrowed */
	struct launch_history launches;
	struct waiting_records waiting;
	struct correlator_counts counts;
	struct fold_limit rows;
	uint64_t nr_merged; /* since correlator_take_merged() */
	uint64_t given_up;  /* launches that expired for lack of room, less nr_late of all time */
	uint64_t nr_late;   /* since correlator_take_late() */
	int64_t clock_offset_ns;
	bool clock_valid;
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
	correlator->waiting.track_changes = correlator->options.track_changes;
	if (launch_history_init(&correlator->launches, correlator->options.retired_max,
				correlator->options.track_changes)) {
		correlator_destroy(correlator);
		return NULL;
	}
	return correlator;
}

void correlator_destroy(struct correlator *correlator)
{
	if (!correlator)
		return;
	launch_history_fini(&correlator->launches);
	waiting_records_fini(&correlator->waiting);
	fold_limit_fini(&correlator->rows);
	free(correlator);
}

void correlator_set_clock(struct correlator *correlator, int64_t offset_ns, bool valid)
{
	correlator->clock_offset_ns = offset_ns;
	correlator->clock_valid = valid;
}

/* A graph's kernels have no delays: one call launched them all, and each waits for earlier ones. */
static int note_delay(struct correlator *correlator, const struct gpu_record *record,
		      const struct launch *launch)
{
	if (!correlator->options.delays || !correlator->clock_valid || !launch->time_ns ||
	    record->kind != RECORD_GPU_KERNEL || launch->flags & (LAUNCH_MANY | LAUNCH_HOST))
		return 0;
	return launch_delays_add(correlator->options.delays, record->device_id, launch->time_ns,
				 record->start_ns + (uint64_t)correlator->clock_offset_ns);
}

/* launch NULL: the launch is not known. */
static int account_memory(struct correlator *correlator, const struct gpu_record *record,
			  const struct launch *launch)
{
	const struct memory_event event = {
		.time_ns = record->start_ns,
		.address = record->address,
		.bytes = record->bytes,
		.correlation_id = record->correlation_id,
		.device_id = record->device_id,
		.stack_id = launch ? launch->stack_id : RECORD_STACK_NONE,
		.tid = launch ? launch->tid : 0,
		.kind = record->copy_kind,
		.is_free = record->kind == RECORD_GPU_FREE,
		.matched = launch != NULL,
	};

	if (!correlator->options.memory ||
	    (record->kind != RECORD_GPU_ALLOC && record->kind != RECORD_GPU_FREE))
		return 0;
	return memory_account_add(correlator->options.memory, &event);
}

/* Returns whether the record is GPU work, which a launch has started. */
static bool is_work(const struct gpu_record *record)
{
	return record->kind <= RECORD_GPU_GRAPH;
}

/* Migrations of unified memory and flushes of CUPTI come from no call. */
static bool has_no_call(const struct gpu_record *record)
{
	return record->kind == RECORD_GPU_UNIFIED ||
	       (record->kind == RECORD_GPU_OVERHEAD && record->correlation_id == 0);
}

/* Returns whether a record answers its call. GPU work answers a launch. Any other record answers a host call, except
 * overhead, which never comes alone. */
static bool is_answer(const struct launch *launch, const struct gpu_record *record)
{
	if (launch->flags & LAUNCH_HOST)
		return !is_work(record) && record->kind != RECORD_GPU_OVERHEAD;
	return is_work(record);
}

/* launch NULL: the launch is not known, or there is none. */
static struct fold_key key_of(const struct correlator *correlator, const struct gpu_record *record,
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
	key.matched = launch || has_no_call(record);
	return key;
}

/* *row is the row of the key, which may be new, or that into which it is merged. */
static int find_row(struct correlator *correlator, const struct fold_key *key,
		    struct fold_row **row)
{
	uint32_t hash = fold_table_hash(key);
	struct fold_key merged;
	bool has_room;

	*row = fold_table_find(correlator->table, key, hash);
	if (*row && !fold_limit_is_reached(&correlator->rows))
		return 0;
	int error = fold_limit_take(&correlator->rows, hash, &has_room);
	if (error)
		return error;
	if (!has_room) {
		merged = fold_limit_merged(key);
		key = &merged;
		hash = fold_table_hash(key);
		*row = fold_table_find(correlator->table, key, hash);
		correlator->nr_merged++;
	}
	if (!*row)
		*row = fold_table_append(correlator->table, key, hash);
	return *row ? 0 : -ENOMEM;
}

/* A launch that was given up is forgotten. So work without a launch counts as its record, once a launch. */
static void count_unmatched(struct correlator *correlator, const struct gpu_record *record)
{
	correlator->counts.unmatched++;
	if (!correlator->given_up || !is_work(record))
		return;
	correlator->given_up--;
	correlator->nr_late++;
}

/* launch: as for key_of(). */
static int fold(struct correlator *correlator, const struct gpu_record *record,
		const struct launch *launch)
{
	const struct fold_key key = key_of(correlator, record, launch);
	struct fold_row *row;
	int error = find_row(correlator, &key, &row);

	if (!error)
		error = fold_row_add_one(row, record->end_ns - record->start_ns, record->bytes);
	if (error)
		return error;
	if (key.matched)
		correlator->counts.matched++;
	else
		count_unmatched(correlator, record);
	return account_memory(correlator, record, launch);
}

/* *launch may have moved afterwards. */
static int retire(struct correlator *correlator, struct launch *launch)
{
	return launch_history_retire(&correlator->launches, launch,
				     correlator->counts.retire_order++);
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
	error = note_delay(correlator, record, launch);
	if (error)
		return error;
	if (!(launch->flags & (LAUNCH_MANY | LAUNCH_RETIRED)))
		return retire(correlator, launch);
	return launch_history_touch(&correlator->launches, launch);
}

static int fail(struct correlator *correlator, const struct launch_record *record)
{
	struct launch *launch =
		launch_history_find(&correlator->launches, record->window, record->correlation_id);

	if (!(record->flags & RECORD_LAUNCH_HOST))
		correlator->counts.failed++;
	if (!launch || launch->flags & LAUNCH_RETIRED)
		return 0;
	return retire(correlator, launch);
}

/* Frees the key of a launch from before the ids wrapped, or of a launch that was sent twice. */
static int forget_key(struct correlator *correlator, const struct launch_record *record)
{
	struct launch *launch =
		launch_history_find(&correlator->launches, record->window, record->correlation_id);

	if (!launch)
		return 0;
	if (launch_history_is_unanswered(launch))
		correlator->counts.expired++;
	return launch_history_forget(&correlator->launches, launch);
}

/* Folds the records that waited for this launch. */
static int answer_waiting(struct correlator *correlator, uint32_t window, uint32_t correlation_id)
{
	struct gpu_record record;
	int taken;

	while ((taken = waiting_records_take(&correlator->waiting, window, correlation_id,
					     &record)) == 1) {
		struct launch *launch =
			launch_history_find(&correlator->launches, window, correlation_id);
		int error = answer(correlator, launch, &record);

		if (error)
			return error;
	}
	return taken;
}

/* One runtime call may launch work and then wait for it, under one id. The launch then stands for both. */
static bool is_part_of_launch(const struct correlator *correlator,
			      const struct launch_record *record)
{
	const struct launch *launch;

	if (!(record->flags & RECORD_LAUNCH_HOST))
		return false;
	launch = launch_history_find(&correlator->launches, record->window, record->correlation_id);
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

static int give_up(struct correlator *correlator)
{
	uint64_t nr_unanswered = 0;
	int error = launch_expiry_run(&correlator->launches, correlator->options.launches_max,
				      &nr_unanswered);

	correlator->counts.expired += nr_unanswered;
	correlator->given_up += nr_unanswered;
	return error;
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
		.time_ns = record->time_ns,
	};
	error = launch_history_add(&correlator->launches, &launch);
	if (!error && correlator->waiting.count)
		error = answer_waiting(correlator, record->window, record->correlation_id);
	return error ? error : give_up(correlator);
}

static int fold_oldest_waiting(struct correlator *correlator)
{
	struct gpu_record record;
	int taken = waiting_records_take_oldest(&correlator->waiting, &record);

	return taken == 1 ? fold(correlator, &record, NULL) : taken;
}

static int wait_for_launch(struct correlator *correlator, const struct gpu_record *record)
{
	uint64_t order = correlator->counts.waiting_order++;
	int error = 0;

	if (correlator->waiting.count >= correlator->options.waiting_max)
		error = fold_oldest_waiting(correlator);
	return error ? error : waiting_records_add(&correlator->waiting, record, order);
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
		launch_history_find(&correlator->launches, record->window, record->correlation_id);
	return launch ? answer(correlator, launch, record) : wait_for_launch(correlator, record);
}

void correlator_prefetch_launch(const struct correlator *correlator,
				const struct launch_record *record)
{
	launch_map_prefetch(&correlator->launches.map, record->window, record->correlation_id);
}

/* Each step needs what the one before it has fetched. */
void correlator_prefetch(const struct correlator *correlator, const struct gpu_record *records,
			 uint32_t count)
{
	uint32_t hashes[CORRELATOR_PREFETCH_MAX];

	assert(count <= CORRELATOR_PREFETCH_MAX);
	for (uint32_t i = 0; i < count; i++)
		launch_map_prefetch(&correlator->launches.map, records[i].window,
				    records[i].correlation_id);
	launch_history_prefetch(&correlator->launches, correlator->counts.retire_order, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct launch *launch = launch_history_find(
			&correlator->launches, records[i].window, records[i].correlation_id);
		const struct fold_key key = key_of(correlator, &records[i], launch);

		hashes[i] = fold_table_hash(&key);
	}
	fold_limit_prefetch(&correlator->rows, hashes, count);
	fold_table_prefetch(correlator->table, hashes, count);
}

bool correlator_launched(const struct correlator *correlator, const struct gpu_record *record,
			 uint32_t *tid, uint32_t *stack_id)
{
	const struct launch *launch =
		launch_history_find(&correlator->launches, record->window, record->correlation_id);

	*tid = launch ? launch->tid : 0;
	*stack_id = launch ? launch->stack_id : RECORD_STACK_NONE;
	return launch;
}

int correlator_finish(struct correlator *correlator)
{
	while (correlator->waiting.count) {
		int error = fold_oldest_waiting(correlator);
		if (error)
			return error;
	}
	correlator->counts.expired += launch_history_end(&correlator->launches);
	return 0;
}

uint64_t correlator_take_merged(struct correlator *correlator)
{
	uint64_t nr_merged = correlator->nr_merged;

	correlator->nr_merged = 0;
	return nr_merged;
}

uint64_t correlator_take_late(struct correlator *correlator)
{
	uint64_t nr_late = correlator->nr_late;

	correlator->nr_late = 0;
	return nr_late;
}

const struct correlator_counts *correlator_counts(const struct correlator *correlator)
{
	return &correlator->counts;
}

uint32_t correlator_waiting(const struct correlator *correlator)
{
	return correlator->waiting.count;
}

uint64_t correlator_unanswered(const struct correlator *correlator, uint64_t since_ns)
{
	const int64_t offset_ns = correlator->clock_offset_ns;
	const int64_t since = (int64_t)since_ns + offset_ns;

	if (!correlator->clock_valid)
		return UINT64_MAX;
	const uint64_t ns =
		launch_history_earliest(&correlator->launches, since > 0 ? (uint64_t)since : 0);

	return ns == UINT64_MAX ? UINT64_MAX : ns - (uint64_t)offset_ns;
}

static int save_launches(const struct correlator *correlator, uint64_t index, correlator_put *put,
			 void *context)
{
	struct launch launches[LAUNCH_HISTORY_BLOCK];
	struct correlator_block block = {
		.kind = CORRELATOR_BLOCK_LAUNCHES, .index = index, .launches = launches};

	block.count = launch_history_block(&correlator->launches, index, launches);
	return put(context, &block);
}

struct records_sink {
	correlator_put *put;
	void *context;
};

static int save_records(void *context, uint64_t index, const struct waiting_records_entry *records,
			uint32_t count)
{
	const struct records_sink *sink = context;
	const struct correlator_block block = {.kind = CORRELATOR_BLOCK_RECORDS,
					       .index = index,
					       .count = count,
					       .records = records};

	return sink->put(sink->context, &block);
}

int correlator_save(const struct correlator *correlator, correlator_put *put, void *context)
{
	const struct block_set *blocks = &correlator->launches.changed;
	struct records_sink sink = {put, context};
	int error = 0;

	for (uint32_t i = 0; i < blocks->count && !error; i++)
		error = save_launches(correlator, blocks->blocks[i], put, context);
	return error ? error : waiting_records_save(&correlator->waiting, save_records, &sink);
}

void correlator_saved(struct correlator *correlator)
{
	launch_history_saved(&correlator->launches);
	waiting_records_saved(&correlator->waiting);
}

int correlator_load(struct correlator *correlator, const struct correlator_block *block)
{
	int error = 0;

	for (uint32_t i = 0; i < block->count && !error; i++)
		error = block->kind == CORRELATOR_BLOCK_LAUNCHES
				? launch_history_load(&correlator->launches, &block->launches[i])
				: waiting_records_load(&correlator->waiting, &block->records[i]);
	return error;
}

int correlator_load_end(struct correlator *correlator, const struct correlator_counts *counts)
{
	correlator->counts = *counts;
	return waiting_records_load_end(&correlator->waiting);
}
