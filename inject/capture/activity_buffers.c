#include "activity_buffers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "green_contexts.h"
#include "guest_sizes.h"

#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/activity_clock.h"
#include "inject/cupti/activity_record.h"
#include "inject/cupti/buffer_pool.h"
#include "inject/cupti/context_devices.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/graph_nodes.h"
#include "inject/cupti/kernel_configs.h"
#include "inject/cupti/name_table.h"
#include "inject/cupti/stream_names.h"
#include "inject/launch/launch_thread.h"
#include "inject/launch/outstanding_launches.h"
#include "inject/metrics/kernel_metrics.h"
#include "inject/metrics/waiting_work.h"
#include "proto/ring/record_ring.h"

#define CHUNK_RECORDS 256u
#define DISCARD_BYTES (64u << 10)
#define WAIT_NS       100000000u /* for room, a buffer */
#define AGENT_GONE_NS 2000000000u
#define WAIT_STEP_NS  1000000

#define ROW_NONE RECORD_DEVICES_MAX

/* What a chunk of records adds to the ledger, by device. The last device's row also takes higher ordinals. The row
 * after it is for records without a device. */
struct device_tally {
	uint64_t records, valid_ns, invalid_time, still_running, name_lost, full, full_ns;
	uint64_t capture_unknown, no_device, config_lost;
};

struct activity_buffers {
	struct record_ring *ring;
	const struct cupti_library *library;
	const struct graph_nodes *nodes; /* may be NULL */
	uint16_t window;
	struct buffer_pool *pool;
	void (*on_crowd)(void); /* NULL: none was set */
	struct definition_writer *definitions;
	struct name_table *names; /* this and the rest: under the lock */
	struct kernel_configs *configs;
	uint32_t nr_records;
	struct gpu_record records[CHUNK_RECORDS];
	struct device_tally tally[RECORD_DEVICES_MAX + 1];
	uint64_t tallied;    /* one bit for each row in use, except the last */
	bool none_tallied;   /* the last */
	uint32_t context_id; /* context of the last record of GPU work, whose device is known */
	uint64_t unknown, outside;
};

static struct activity_buffers self;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool any_record;
static _Atomic uint64_t records_seen, resources_seen;
static _Atomic uint64_t earliest_ns = UINT64_MAX; /* written under the lock; a reader resets it */
static _Atomic uint64_t hurry_until_ns;           /* 0: no hurry */
static atomic_bool agent_only;
static atomic_bool closed;
static _Alignas(64) uint8_t discard[DISCARD_BYTES];

static_assert(RECORD_DEVICES_MAX <= 64, "a bit a device");

int activity_buffers_init(struct record_ring *ring, struct definition_writer *definitions,
			  const struct cupti_library *library, const struct graph_nodes *nodes,
			  uint16_t window, const struct guest_sizes *sizes)
{
	self.ring = ring;
	self.library = library;
	self.nodes = nodes;
	self.window = window;
	self.pool = buffer_pool_create(sizes->nr_buffers, sizes->buffer_bytes);
	self.definitions = definitions;
	self.names = name_table_create(definitions, sizes->name_bytes);
	self.configs = kernel_configs_create();
	if (self.pool && self.names && self.configs)
		return 0;
	activity_buffers_fini();
	return -ENOMEM;
}

void activity_buffers_fini(void)
{
	buffer_pool_destroy(self.pool);
	name_table_destroy(self.names);
	kernel_configs_destroy(self.configs);
	memset(&self, 0, sizeof(self));
	atomic_store(&hurry_until_ns, 0);
	atomic_store(&closed, false);
}

void activity_buffers_on_crowd(void (*wake)(void))
{
	self.on_crowd = wake;
}

void activity_buffers_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	bool forked = lifecycle_state() == LIFECYCLE_FORKED;

	*max_records = 0; /* as many as fit */
	*buffer = forked ? NULL : buffer_pool_claim(self.pool);
	*size = buffer_pool_bytes(self.pool);
	if (*buffer) {
		/* Threads that ended may have left their buffers with CUPTI, and only a flush brings these back. */
		if (buffer_pool_is_crowded(self.pool, *buffer) && self.on_crowd)
			self.on_crowd();
		return;
	}
	if (!forked)
		record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_BUFFER_EXHAUSTED, 1, 0);
	*buffer = discard;
	*size = sizeof(discard);
}

void activity_buffers_wait_for_agent_only(void)
{
	atomic_store(&agent_only, true);
}

/* Returns when to stop waiting for room. A thread that launches does not wait at all. */
static uint64_t wait_deadline(void)
{
	uint64_t hurry_ns = atomic_load_explicit(&hurry_until_ns, memory_order_relaxed);
	uint64_t now_ns = monotonic_ns(), until_ns = now_ns + WAIT_NS;

	if (launch_thread_exists())
		return 0;
	if (atomic_load_explicit(&agent_only, memory_order_relaxed) &&
	    record_ring_last_beat(self.ring) + AGENT_GONE_NS < now_ns)
		return 0;
	return hurry_ns && hurry_ns < until_ns ? hurry_ns : until_ns;
}

static void publish_row(uint32_t row)
{
	uint32_t device = row == ROW_NONE ? LEDGER_DEVICE_NONE : row;
	struct device_tally *tally = &self.tally[row];
	const struct {
		enum ledger_reason reason;
		uint64_t count, ns;
	} entries[] = {
		{LEDGER_RECORDS, tally->records, tally->valid_ns},
		{LEDGER_INVALID_TIME, tally->invalid_time, 0},
		{LEDGER_STILL_RUNNING, tally->still_running, 0},
		{LEDGER_NAME_LOST, tally->name_lost, 0},
		{LEDGER_CAPTURE_UNKNOWN, tally->capture_unknown, 0},
		{LEDGER_RECORD_RING_FULL, tally->full, tally->full_ns},
		{LEDGER_NO_DEVICE, tally->no_device, 0},
		{LEDGER_STATISTIC_LOST, tally->config_lost, 0},
	};

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].count)
			record_ring_count(self.ring, device, entries[i].reason, entries[i].count,
					  entries[i].ns);
	memset(tally, 0, sizeof(*tally));
}

/* The ledger says "produced" before the ring has the records, so that it never claims more arrived
 * than were made. */
static void publish_tally(void)
{
	for (; self.tallied; self.tallied &= self.tallied - 1)
		publish_row((uint32_t)__builtin_ctzll(self.tallied));
	if (self.none_tallied)
		publish_row(ROW_NONE);
	self.none_tallied = false;
}

static struct device_tally *tally_of(uint32_t device_id)
{
	uint32_t row = device_id < RECORD_DEVICES_MAX ? device_id : RECORD_DEVICES_MAX - 1;

	if (device_id == RECORD_DEVICE_NONE) {
		self.none_tallied = true;
		return &self.tally[ROW_NONE];
	}
	self.tallied |= 1ull << row;
	return &self.tally[row];
}

static void pass_on(uint64_t deadline_ns)
{
	uint32_t done = 0;

	publish_tally();
	while (done < self.nr_records) {
		done += record_ring_push_activity(self.ring, self.records + done,
						  self.nr_records - done);
		if (done == self.nr_records || monotonic_ns() >= deadline_ns ||
		    atomic_load_explicit(&closed, memory_order_relaxed))
			break;
		nanosleep(&(struct timespec){.tv_nsec = WAIT_STEP_NS}, NULL);
	}
	for (; done < self.nr_records; done++) {
		const struct gpu_record *record = &self.records[done];
		struct device_tally *tally = tally_of(record->device_id);

		tally->full++;
		tally->full_ns += record->end_ns - record->start_ns;
	}
	publish_tally();
	self.nr_records = 0;
}

static void see(const struct gpu_record *record)
{
	if (record->start_ns &&
	    record->start_ns < atomic_load_explicit(&earliest_ns, memory_order_relaxed))
		atomic_store_explicit(&earliest_ns, record->start_ns, memory_order_relaxed);
	/* Release: a reader that sees the count also sees the time. */
	atomic_store_explicit(&records_seen,
			      atomic_load_explicit(&records_seen, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* Finds the device of a wait, whose record only names its context. If no callback told the context's device, records of
 * GPU work do. */
static void find_device(struct gpu_record *record, bool is_work)
{
	if (is_work && record->context_id != self.context_id) {
		context_devices_put(record->context_id, record->device_id);
		self.context_id = record->context_id;
	}
	if (!is_work && record->device_id == RECORD_DEVICE_NONE && record->context_id != 0)
		record->device_id = context_devices_get(record->context_id);
}

/* Frees the malloc()ed memory that some overhead records carry for their reader. */
static void free_data(const void *activity)
{
	uint32_t kind[2];
	void *data;

	memcpy(kind, activity, sizeof(kind));
	if (kind[0] != CUPTI_ABI_KIND_OVERHEAD ||
	    kind[1] != CUPTI_ABI_OVERHEAD_COMMAND_BUFFER_FULL ||
	    self.library->version < CUPTI_ABI_VERSION_12_4)
		return;
	memcpy(&data, (const char *)activity + CUPTI_OVERHEAD_DATA, sizeof(data));
	free(data);
}

static bool has_valid_times(enum activity_verdict verdict, struct device_tally *tally)
{
	tally->invalid_time += verdict == ACTIVITY_INVALID_TIME;
	tally->still_running += verdict == ACTIVITY_STILL_RUNNING;
	return verdict == ACTIVITY_VALID;
}

/* Returns whether the record belongs to the window. A launch whose work still runs stays outstanding. */
static bool is_wanted(enum activity_verdict verdict, const struct gpu_record *record)
{
	if (verdict == ACTIVITY_STILL_RUNNING)
		return !outstanding_launches_is_outside(record->correlation_id);
	return outstanding_launches_wants(record->correlation_id, record->context_id);
}

static void take_config(const void *activity, const struct gpu_record *record,
			struct device_tally *tally)
{
	struct kernel_config config;

	activity_record_config(activity, &config);
	config.name_id = record->name_id;
	if (!kernel_configs_add(self.configs, &config, record->end_ns - record->start_ns))
		tally->config_lost++;
}

/* Adds self.records[self.nr_records], which is filled except for its name. activity: CUPTI's record; NULL: it is the
 * guest's own. */
static void add(enum activity_verdict verdict, const char *name, const void *activity)
{
	struct gpu_record *record = &self.records[self.nr_records];
	bool is_work = record->kind <= RECORD_GPU_GRAPH;

	bool in_body =
		is_work && record->correlation_id == 0 && record->graph_node_id && self.nodes;

	if (is_work)
		see(record);
	if (record->kind == RECORD_GPU_KERNEL)
		waiting_work_ended(name);
	if (in_body)
		record->correlation_id = graph_nodes_launch(self.nodes, record->graph_node_id);
	if (is_work && !in_body && !is_wanted(verdict, record)) {
		self.outside++;
		return;
	}
	find_device(record, is_work);
	struct device_tally *tally = tally_of(record->device_id);
	tally->records++;
	if (!has_valid_times(verdict, tally))
		return;
	tally->valid_ns += record->end_ns - record->start_ns;
	record->window = self.window;
	record->name_id = name_table_intern(self.names, name);
	if (record->kind == RECORD_GPU_KERNEL) {
		tally->name_lost += record->name_id == RECORD_NAME_NONE;
		take_config(activity, record, tally);
		kernel_metrics_record(record, name);
	}
	if (is_work && record->graph_node_id && self.nodes) {
		record->capture_stack_id = graph_nodes_get(self.nodes, record->graph_node_id);
		tally->capture_unknown += record->capture_stack_id == RECORD_STACK_NONE;
	}
	tally->no_device += record->device_id == RECORD_DEVICE_NONE && record->context_id != 0;
	self.nr_records++;
}

/* Converts the times to the system's clock. */
static enum activity_verdict place(enum activity_verdict verdict,
				   const struct activity_clock *clock, struct gpu_record *record)
{
	uint64_t none_ns = record->start_ns;
	bool is_valid = verdict == ACTIVITY_VALID;

	if (!is_valid && verdict != ACTIVITY_STILL_RUNNING)
		return verdict;
	if (activity_clock_convert(clock, &record->start_ns, is_valid ? &record->end_ns : &none_ns))
		return verdict;
	return ACTIVITY_INVALID_TIME;
}

static void take(const void *activity, const struct activity_clock *clock)
{
	struct gpu_record *record = &self.records[self.nr_records];
	const char *name;
	enum activity_verdict verdict =
		activity_record_read(activity, self.library->version, record, &name);

	verdict = place(verdict, clock, record);
	if (verdict != ACTIVITY_UNKNOWN)
		add(verdict, name, activity);
	else if (green_contexts_record(activity) || stream_names_record(activity))
		atomic_fetch_add_explicit(&resources_seen, 1, memory_order_relaxed);
	else
		self.unknown++;
	free_data(activity);
}

static void convert(uint8_t *buffer, size_t valid_size)
{
	uint64_t deadline_ns = wait_deadline();
	struct activity_clock clock;
	void *record = NULL;

	activity_clock_get(&clock);
	while (!atomic_load_explicit(&closed, memory_order_relaxed) &&
	       self.library->activity_get_next_record(buffer, valid_size, &record) ==
		       CUPTI_ABI_SUCCESS) {
		take(record, &clock);
		if (self.nr_records == CHUNK_RECORDS)
			pass_on(deadline_ns);
	}
	pass_on(deadline_ns);
	if (self.unknown)
		record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_UNKNOWN_RECORD,
				  self.unknown, 0);
	if (self.outside)
		record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_OUTSIDE_WINDOW,
				  self.outside, 0);
	self.unknown = self.outside = 0;
}

void activity_buffers_complete(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
			       size_t valid_size)
{
	int saved_errno = errno;

	(void)context, (void)stream_id;
	/* Several threads may have written to the discard buffer at once, so nothing in it can be trusted. */
	if (!buffer || buffer == discard || lifecycle_state() == LIFECYCLE_FORKED)
		return;
	if (valid_size > size)
		valid_size = size;
	if (valid_size && lifecycle_state() == LIFECYCLE_ON) {
		uint64_t begin_ns = thread_cpu_ns();

		atomic_store_explicit(&any_record, true, memory_order_relaxed);
		pthread_mutex_lock(&lock);
		convert(buffer, valid_size);
		pthread_mutex_unlock(&lock);
		record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_METER_BUFFERS, 1,
				  thread_cpu_ns() - begin_ns);
	}
	buffer_pool_give_back(self.pool, buffer, valid_size);
	errno = saved_errno;
}

void activity_buffers_set_window(uint16_t window)
{
	pthread_mutex_lock(&lock);
	self.window = window;
	pthread_mutex_unlock(&lock);
}

void activity_buffers_count_dropped(void)
{
	size_t dropped = 0;

	/* CUPTI's count starts again at zero with each answer. */
	if (self.library->activity_get_dropped &&
	    self.library->activity_get_dropped(NULL, 0, &dropped) == CUPTI_ABI_SUCCESS && dropped) {
		record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_CUPTI_DROPPED, dropped, 0);
		waiting_work_dropped();
	}
}

void activity_buffers_trim(void)
{
	pthread_mutex_lock(&lock);
	bool rests = record_ring_trim_activity(self.ring) > 0;
	pthread_mutex_unlock(&lock);
	if (rests)
		buffer_pool_trim(self.pool);
}

void activity_buffers_reclaim(void)
{
	buffer_pool_reclaim(self.pool);
}

void activity_buffers_put(const struct gpu_record *record, const char *name)
{
	pthread_mutex_lock(&lock);
	self.records[self.nr_records] = *record;
	add(ACTIVITY_VALID, name, NULL);
	pass_on(wait_deadline());
	pthread_mutex_unlock(&lock);
}

void activity_buffers_define(bool last)
{
	pthread_mutex_lock(&lock);
	uint64_t left = kernel_configs_define(self.configs, self.definitions);
	pthread_mutex_unlock(&lock);
	if (last && left)
		record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_STATISTIC_LOST, left, 0);
}

void activity_buffers_hurry(uint64_t until_ns)
{
	atomic_store_explicit(&hurry_until_ns, until_ns, memory_order_relaxed);
}

bool activity_buffers_close(uint64_t until_ns, uint64_t *taken)
{
	*taken = 0;
	atomic_store(&closed, true);
	atomic_store_explicit(&hurry_until_ns, 1, memory_order_relaxed);
	while (pthread_mutex_trylock(&lock) != 0) {
		if (monotonic_ns() >= until_ns)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = WAIT_STEP_NS}, NULL);
	}
	*taken = atomic_load_explicit(&records_seen, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	return true;
}

void activity_buffers_seen(uint64_t *records, uint64_t *resources, uint64_t *earliest)
{
	*records = atomic_load_explicit(&records_seen, memory_order_acquire);
	*resources = atomic_load_explicit(&resources_seen, memory_order_relaxed);
	*earliest = atomic_exchange_explicit(&earliest_ns, UINT64_MAX, memory_order_relaxed);
}

bool activity_buffers_any(void)
{
	return atomic_load_explicit(&any_record, memory_order_relaxed);
}
