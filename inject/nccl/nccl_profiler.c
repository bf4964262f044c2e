#include "nccl_profiler.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/launch/launch_thread.h"
#include "proto/ring/record_ring.h"

#define DEFINE_NS      100000000u /* the most that a call waits for other threads' first calls */
#define CAPTURED_BIT   1u
#define CALLED_SHIFT   1
#define DEFINED_IN_ALL COLLECTIVE_COMMUNICATORS_MAX
#define PEER_TABLES    256u /* communicators at the same time that have sends and receives */

enum communicator_state { COMMUNICATOR_FREE, COMMUNICATOR_TAKEN };

struct nccl_communicator {
	_Atomic uint32_t state;
	_Atomic uint32_t communicator_id; /* 0: not yet defined */
	uint64_t hash;
	uint32_t rank, nr_ranks;
	_Atomic uint64_t sequence, by_function[COLLECTIVE_GROUP];
	_Atomic uint32_t peers; /* index into peers + 1; 0: it has none yet */
};

/* A communicator's sends and receives so far, by peer. */
struct peer_table {
	_Atomic bool taken;
	_Atomic uint32_t sends[NCCL_PROFILER_PEERS], receives[NCCL_PROFILER_PEERS];
};

static struct {
	struct nccl_profiler_parts parts;
	_Atomic bool started, expected;
	atomic_flag defining; /* around the next */
	uint32_t nr_defined;
	_Atomic uint32_t next; /* where to look for a free place first */
	struct nccl_communicator communicators[NCCL_PROFILER_COMMUNICATORS];
	struct peer_table peers[PEER_TABLES];
} self = {.defining = ATOMIC_FLAG_INIT};

void nccl_profiler_start(const struct nccl_profiler_parts *parts)
{
	self.parts = *parts;
	atomic_store_explicit(&self.started, true, memory_order_release);
}

void nccl_profiler_expect(void)
{
	atomic_store(&self.expected, true);
}

static bool is_started(void)
{
	return atomic_load_explicit(&self.started, memory_order_acquire);
}

bool nccl_profiler_is_wanted(void)
{
	return lifecycle_state() != LIFECYCLE_FORKED &&
	       (is_started() || atomic_load(&self.expected));
}

static bool is_recording(void)
{
	return is_started() && lifecycle_state() == LIFECYCLE_ON && self.parts.is_recording();
}

/* ---- communicators */

struct nccl_communicator *nccl_profiler_meet(uint64_t hash, uint32_t rank, uint32_t nr_ranks)
{
	uint32_t first = atomic_load(&self.next);

	for (uint32_t i = 0; i < NCCL_PROFILER_COMMUNICATORS; i++) {
		uint32_t at = (first + i) % NCCL_PROFILER_COMMUNICATORS;
		struct nccl_communicator *communicator = &self.communicators[at];
		uint32_t state = COMMUNICATOR_FREE;

		if (!atomic_compare_exchange_strong(&communicator->state, &state,
						    COMMUNICATOR_TAKEN))
			continue;
		communicator->hash = hash;
		communicator->rank = rank;
		communicator->nr_ranks = nr_ranks;
		atomic_store(&communicator->communicator_id, 0);
		atomic_store(&communicator->sequence, 0);
		for (uint32_t function = 0; function < COLLECTIVE_GROUP; function++)
			atomic_store(&communicator->by_function[function], 0);
		atomic_store(&self.next, (at + 1) % NCCL_PROFILER_COMMUNICATORS);
		return communicator;
	}
	return NULL;
}

/* Learns the communicator from an interface that names it in each call. The first call comes before any use of these
 * facts. */
void nccl_profiler_learn(struct nccl_communicator *communicator, uint64_t hash, uint32_t rank)
{
	if (!communicator || atomic_load(&communicator->sequence) != 0)
		return;
	communicator->hash = hash;
	communicator->rank = rank;
}

void nccl_profiler_forget(struct nccl_communicator *communicator)
{
	if (!communicator)
		return;
	uint32_t peers = atomic_exchange(&communicator->peers, 0);

	if (peers)
		atomic_store(&self.peers[peers - 1].taken, false);
	atomic_store(&communicator->state, COMMUNICATOR_FREE);
}

/* Computes collective_hash(), which the guest does not use otherwise. */
static uint64_t key_of(uint64_t communicator_hash)
{
	uint64_t key = COLLECTIVE_HASH_START;

	if (communicator_hash == 0)
		return 0;
	for (int i = 0; i < 8; i++)
		key = (key ^ (communicator_hash >> 8 * i & 0xff)) * COLLECTIVE_HASH_PRIME;
	return key ? key : 1;
}

/* Defines a communicator once. Returns 0, -EAGAIN if another thread defines something, or -ENOSPC. */
static int define(struct nccl_communicator *communicator)
{
	const struct definition_communicator definition = {
		.key = key_of(communicator->hash),
		.communicator_id = self.nr_defined + 1,
		.rank = communicator->rank,
		.nr_ranks = communicator->nr_ranks,
	};

	if (atomic_load(&communicator->communicator_id))
		return 0;
	if (self.nr_defined == DEFINED_IN_ALL)
		return -ENOSPC;
	int r = definition_writer_try(self.parts.definitions, DEFINITION_COMMUNICATOR, &definition,
				      sizeof(definition));
	if (r == 0)
		atomic_store(&communicator->communicator_id, ++self.nr_defined);
	return r;
}

/* Returns the communicator's id. Ranks that are threads meet their communicators at the same moment, and the thread
 * that defines may lose its processor, so the others wait for it. 0: that took too long, or there is no room; the next
 * call tries again. */
static uint32_t id_of(struct nccl_communicator *communicator)
{
	uint32_t id = atomic_load_explicit(&communicator->communicator_id, memory_order_acquire);
	uint64_t begin_ns;
	int r = -EAGAIN;

	if (id)
		return id;
	begin_ns = monotonic_ns();
	while (r == -EAGAIN && monotonic_ns() < begin_ns + DEFINE_NS) {
		if (atomic_flag_test_and_set_explicit(&self.defining, memory_order_acquire)) {
			sched_yield();
			continue;
		}
		r = define(communicator);
		atomic_flag_clear_explicit(&self.defining, memory_order_release);
		if (r == -EAGAIN)
			sched_yield();
	}
	return atomic_load(&communicator->communicator_id);
}

/* ---- a thread's plans */

void *nccl_profiler_called(bool captured)
{
	return (void *)(uintptr_t)(monotonic_ns() << CALLED_SHIFT | (captured ? CAPTURED_BIT : 0));
}

void nccl_profiler_launches(const void *stream)
{
	struct launch_thread *thread = is_recording() ? launch_thread_here(self.parts.ring) : NULL;

	if (!thread)
		return;
	thread->plan.next_stream = (uint64_t)(uintptr_t)stream;
	/* only a launch from now on can be the plan's */
	thread->last_launch = (struct launch_mark){0};
}

/* Takes the launch, so that no later plan takes it again. */
void nccl_profiler_posted(void)
{
	struct launch_thread *thread = is_recording() ? launch_thread_here(self.parts.ring) : NULL;

	if (!thread)
		return;
	thread->plan.launch = thread->last_launch;
	thread->plan.stack_id = thread->outer_stack_id;
	thread->plan.stream = thread->plan.next_stream;
	thread->last_launch = (struct launch_mark){0};
	thread->plan.next_stream = 0;
}

/* ---- tasks */

static bool is_captured(const struct nccl_task *task, const struct launch_thread *thread)
{
	/* If NCCL does not tell: a thread that has never launched is CUDA's own, and replays a graph. */
	if (!task->called)
		return !thread || thread->plan.launch.captured ||
		       (thread->plan.launch.time_ns == 0 && thread->lane == LAUNCH_THREAD_NO_LANE);
	return (uintptr_t)task->called & CAPTURED_BIT;
}

/* NULL: all tables are taken. */
static struct peer_table *peers_of(struct nccl_communicator *communicator)
{
	uint32_t none = 0, own = atomic_load(&communicator->peers);

	for (uint32_t i = 0; i < PEER_TABLES && !own; i++) {
		struct peer_table *table = &self.peers[i];
		bool taken = false;

		if (!atomic_compare_exchange_strong(&table->taken, &taken, true))
			continue;
		for (uint32_t peer = 0; peer < NCCL_PROFILER_PEERS; peer++) {
			atomic_store(&table->sends[peer], 0);
			atomic_store(&table->receives[peer], 0);
		}
		own = i + 1;
		if (atomic_compare_exchange_strong(&communicator->peers, &none, own))
			break;
		/* another thread was faster */
		atomic_store(&table->taken, false);
		own = none;
	}
	return own ? &self.peers[own - 1] : NULL;
}

/* Returns the number of a send or receive among those with its peer; 0: there is no room to count. */
static uint64_t number_by_peer(struct nccl_communicator *communicator, const struct nccl_task *task)
{
	struct peer_table *table = task->peer < NCCL_PROFILER_PEERS ? peers_of(communicator) : NULL;

	if (!table)
		return 0;
	_Atomic uint32_t *calls =
		task->function == COLLECTIVE_SEND ? table->sends : table->receives;
	return atomic_fetch_add_explicit(&calls[task->peer], 1, memory_order_relaxed) + 1ull;
}

/* Numbers a call even if calls are not recorded, so that the numbers stay the same on all ranks. */
static void number(struct nccl_communicator *communicator, const struct nccl_task *task,
		   struct collective_record *record)
{
	uint64_t by_function = 0;

	record->sequence =
		atomic_fetch_add_explicit(&communicator->sequence, 1, memory_order_relaxed) + 1;
	if (task->function == COLLECTIVE_SEND || task->function == COLLECTIVE_RECV)
		by_function = number_by_peer(communicator, task);
	else if (task->function < COLLECTIVE_GROUP)
		by_function = atomic_fetch_add_explicit(&communicator->by_function[task->function],
							1, memory_order_relaxed) +
			      1;
	record->function_sequence = task->function_sequence ? task->function_sequence : by_function;
}

static void set_times(struct collective_record *record, const struct nccl_task *task,
		      const struct launch_thread *thread, bool captured)
{
	uint64_t now_ns = monotonic_ns(), start_ns = (uintptr_t)task->called >> CALLED_SHIFT;

	if (start_ns == 0 && thread)
		start_ns = thread->plan.launch.time_ns;
	/* The call of a replay was long ago. */
	if (captured || start_ns == 0 || start_ns > now_ns)
		start_ns = now_ns;
	record->start_ns = start_ns;
	record->duration_ns = now_ns > start_ns ? now_ns - start_ns : 1;
}

static uint32_t own_tid(void)
{
	int saved_errno = errno;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	errno = saved_errno;
	return tid;
}

static void set_launch(struct collective_record *record, const struct launch_thread *thread,
		       bool captured)
{
	const struct launch_mark *launch = &thread->plan.launch;

	record->tid = thread->tid;
	record->stream = thread->plan.stream;
	if (launch->time_ns == 0)
		return;
	record->stack_id = thread->plan.stack_id;
	record->cbid = launch->cbid;
	record->correlation_id = captured || launch->captured ? 0 : launch->correlation_id;
}

static void lose(void)
{
	record_ring_count(self.parts.ring, LEDGER_DEVICE_NONE, LEDGER_COLLECTIVE_LOST, 1, 0);
}

static void push(struct nccl_communicator *communicator, const struct nccl_task *task,
		 struct collective_record *record)
{
	record_ring_count(self.parts.ring, LEDGER_DEVICE_NONE, LEDGER_COLLECTIVES, 1, 0);
	if (!communicator || task->function >= COLLECTIVE_GROUP) {
		lose();
		return;
	}
	record->communicator_id = id_of(communicator);
	if (record->communicator_id == 0 || !record_ring_push_collective(self.parts.ring, record))
		lose();
}

void nccl_profiler_take(struct nccl_communicator *communicator, const struct nccl_task *task)
{
	bool recording = is_recording();
	struct launch_thread *thread = recording ? launch_thread_here(self.parts.ring) : NULL;
	bool captured =
		recording ? is_captured(task, thread) : (uintptr_t)task->called & CAPTURED_BIT;
	struct collective_record record = {
		.count = task->count,
		.peer = task->peer,
		.stack_id = RECORD_STACK_NONE,
		.function = (uint8_t)task->function,
		.data_type = (uint8_t)task->data_type,
		.reduce_op = (uint8_t)task->reduce_op,
	};

	if (communicator && !captured)
		number(communicator, task, &record);
	if (!recording)
		return;
	set_times(&record, task, thread, captured);
	if (thread)
		set_launch(&record, thread, captured);
	else
		record.tid = own_tid();
	push(communicator, task, &record);
}

/* ---- names */

uint32_t nccl_profiler_function(const char *name)
{
	static const char *const names[COLLECTIVE_GROUP] = {
		[COLLECTIVE_ALL_REDUCE] = "AllReduce",
		[COLLECTIVE_BROADCAST] = "Broadcast",
		[COLLECTIVE_REDUCE] = "Reduce",
		[COLLECTIVE_ALL_GATHER] = "AllGather",
		[COLLECTIVE_REDUCE_SCATTER] = "ReduceScatter",
		[COLLECTIVE_SEND] = "Send",
		[COLLECTIVE_RECV] = "Recv",
		[COLLECTIVE_ALL_TO_ALL] = "AlltoAll",
		[COLLECTIVE_GATHER] = "Gather",
		[COLLECTIVE_SCATTER] = "Scatter",
	};

	for (uint32_t i = 0; name && i < COLLECTIVE_GROUP; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return COLLECTIVE_FUNCTIONS;
}

uint32_t nccl_profiler_type(const char *name)
{
	static const char *const names[COLLECTIVE_TYPES] = {
		[COLLECTIVE_INT8] = "ncclInt8",
		[COLLECTIVE_UINT8] = "ncclUint8",
		[COLLECTIVE_INT32] = "ncclInt32",
		[COLLECTIVE_UINT32] = "ncclUint32",
		[COLLECTIVE_INT64] = "ncclInt64",
		[COLLECTIVE_UINT64] = "ncclUint64",
		[COLLECTIVE_FLOAT16] = "ncclFloat16",
		[COLLECTIVE_FLOAT32] = "ncclFloat32",
		[COLLECTIVE_FLOAT64] = "ncclFloat64",
		[COLLECTIVE_BFLOAT16] = "ncclBfloat16",
		[COLLECTIVE_FLOAT8_E4M3] = "ncclFloat8e4m3",
		[COLLECTIVE_FLOAT8_E5M2] = "ncclFloat8e5m2",
	};

	for (uint32_t i = 0; name && i < COLLECTIVE_TYPES; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return COLLECTIVE_TYPE_NONE;
}
