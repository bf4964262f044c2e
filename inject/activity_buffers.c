#include "activity_buffers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "activity_record.h"
#include "buffer_pool.h"
#include "cupti_library.h"
#include "graph_nodes.h"
#include "launch_thread.h"
#include "lifecycle.h"
#include "monotonic.h"
#include "name_table.h"
#include "proto/record_ring.h"
#include "stream_names.h"

#define CHUNK_RECORDS 256u
#define DISCARD_BYTES (64u << 10)
#define WAIT_NS       100000000u /* for room, a buffer */
#define WAIT_STEP_NS  1000000

/* What a chunk adds to the ledger, by device; the last row: ordinals beyond the ring's rows. */
struct device_tally {
	uint64_t records, valid_ns, invalid_time, still_running, name_lost, full, full_ns;
	uint64_t capture_unknown;
};

struct activity_buffers {
	struct record_ring *ring;
	const struct cupti_library *library;
	const struct graph_nodes *nodes; /* may be NULL */
	uint16_t window;
	struct buffer_pool *pool;
	struct name_table *names; /* this and the rest: under the lock */
	uint32_t nr_records;
	struct gpu_record records[CHUNK_RECORDS];
	struct device_tally tally[RECORD_DEVICES_MAX];
	uint64_t tallied; /* a bit for each row in use */
	uint64_t unknown;
};

static struct activity_buffers self;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool any_record;
static _Atomic uint64_t records_seen, resources_seen;
static _Atomic uint64_t earliest_ns = UINT64_MAX; /* written under the lock, or taken away */
static _Atomic uint64_t hurry_until_ns;           /* 0: no hurry */
static _Alignas(64) uint8_t discard[DISCARD_BYTES];

static_assert(RECORD_DEVICES_MAX <= 64, "a bit a device");

int activity_buffers_init(struct record_ring *ring, struct definition_writer *definitions,
			  const struct cupti_library *library, const struct graph_nodes *nodes,
			  uint16_t window)
{
	self.ring = ring;
	self.library = library;
	self.nodes = nodes;
	self.window = window;
	self.pool = buffer_pool_create();
	self.names = name_table_create(definitions);
	if (self.pool && self.names)
		return 0;
	activity_buffers_fini();
	return -ENOMEM;
}

void activity_buffers_fini(void)
{
	buffer_pool_destroy(self.pool);
	name_table_destroy(self.names);
	memset(&self, 0, sizeof(self));
	atomic_store(&hurry_until_ns, 0);
}

void activity_buffers_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	bool forked = lifecycle_state() == LIFECYCLE_FORKED;

	*max_records = 0; /* as many as fit */
	*buffer = forked ? NULL : buffer_pool_claim(self.pool);
	*size = BUFFER_POOL_BYTES;
	if (*buffer)
		return;
	if (!forked)
		record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_BUFFER_EXHAUSTED, 1, 0);
	*buffer = discard;
	*size = sizeof(discard);
}

/* When to stop waiting for room: a thread that launches does not wait at all. */
static uint64_t wait_deadline(void)
{
	uint64_t hurry_ns = atomic_load_explicit(&hurry_until_ns, memory_order_relaxed);
	uint64_t until_ns = monotonic_ns() + WAIT_NS;

	if (launch_thread_exists())
		return 0;
	return hurry_ns && hurry_ns < until_ns ? hurry_ns : until_ns;
}

/* The ledger says "produced" before the ring has the records, so that it never claims more arrived
 * than were made. */
static void publish_tally(void)
{
	for (; self.tallied; self.tallied &= self.tallied - 1) {
		uint32_t device = (uint32_t)__builtin_ctzll(self.tallied);
		struct device_tally *tally = &self.tally[device];
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
		};

		for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
			if (entries[i].count)
				record_ring_count(self.ring, device, entries[i].reason,
						  entries[i].count, entries[i].ns);
		memset(tally, 0, sizeof(*tally));
	}
}

static struct device_tally *tally_of(uint32_t device_id)
{
	uint32_t row = device_id < RECORD_DEVICES_MAX ? device_id : RECORD_DEVICES_MAX - 1;

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
		if (done == self.nr_records || monotonic_ns() >= deadline_ns)
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
	/* Release: who sees the count sees the time, too. */
	atomic_store_explicit(&records_seen,
			      atomic_load_explicit(&records_seen, memory_order_relaxed) + 1,
			      memory_order_release);
}

static void take(const void *activity)
{
	struct gpu_record *record = &self.records[self.nr_records];
	const char *name;
	enum activity_verdict verdict = activity_record_read(activity, record, &name);
	struct device_tally *tally;

	if (verdict == ACTIVITY_UNKNOWN) {
		if (stream_names_record(activity))
			atomic_fetch_add_explicit(&resources_seen, 1, memory_order_relaxed);
		else
			self.unknown++;
		return;
	}
	tally = tally_of(record->device_id);
	tally->records++;
	if (record->kind <= RECORD_GPU_GRAPH)
		see(record);
	if (verdict == ACTIVITY_INVALID_TIME) {
		tally->invalid_time++;
		return;
	}
	if (verdict == ACTIVITY_STILL_RUNNING) {
		tally->still_running++;
		return;
	}
	tally->valid_ns += record->end_ns - record->start_ns;
	record->window = self.window;
	record->name_id = name_table_intern(self.names, name);
	if (record->kind == RECORD_GPU_KERNEL && record->name_id == RECORD_NAME_NONE)
		tally->name_lost++;
	if (record->graph_node_id && self.nodes) {
		record->capture_stack_id = graph_nodes_get(self.nodes, record->graph_node_id);
		tally->capture_unknown += record->capture_stack_id == RECORD_STACK_NONE;
	}
	self.nr_records++;
}

static void convert(uint8_t *buffer, size_t valid_size)
{
	uint64_t deadline_ns = wait_deadline();
	void *record = NULL;

	while (self.library->activity_get_next_record(buffer, valid_size, &record) ==
	       CUPTI_ABI_SUCCESS) {
		take(record);
		if (self.nr_records == CHUNK_RECORDS)
			pass_on(deadline_ns);
	}
	pass_on(deadline_ns);
	if (self.unknown)
		record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_UNKNOWN_RECORD,
				  self.unknown, 0);
	self.unknown = 0;
}

void activity_buffers_complete(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
			       size_t valid_size)
{
	int saved_errno = errno;

	(void)context, (void)stream_id;
	/* Several threads may have written to the discard buffer at once: nothing in it can be
	 * trusted. */
	if (!buffer || buffer == discard || lifecycle_state() == LIFECYCLE_FORKED)
		return;
	if (valid_size > size)
		valid_size = size;
	if (valid_size && lifecycle_state() == LIFECYCLE_ON) {
		atomic_store_explicit(&any_record, true, memory_order_relaxed);
		pthread_mutex_lock(&lock);
		convert(buffer, valid_size);
		pthread_mutex_unlock(&lock);
	}
	buffer_pool_give_back(self.pool, buffer, valid_size);
	errno = saved_errno;
}

void activity_buffers_hurry(uint64_t until_ns)
{
	atomic_store_explicit(&hurry_until_ns, until_ns, memory_order_relaxed);
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
