/* The guest as a plugin of NCCL: each version of the interface, called as NCCL calls it, with that of fake NCCL, which is written down on its own. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inject/definition_writer.h"
#include "inject/launch_thread.h"
#include "inject/lifecycle.h"
#include "inject/nccl_plugin.h"
#include "inject/nccl_profiler.h"
#include "proto/record_ring.h"
#include "test_ring.h"
#include "tests/support/fake_nccl/profiler_interface.h"

#define PLACES   64u
#define HASH     0x1234567890abcdefull
#define RANK     3
#define NR_RANKS 8
#define VERSIONS 7u

static struct test_ring ring;
static struct definition_writer definitions;
static bool recording = true;

static bool is_recording(void)
{
	return recording;
}

static void nothing(void)
{
}

/* ---- NCCL's side */

static struct told_plugin *plugin_of(uint32_t version)
{
	const void *const plugins[VERSIONS] = {&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3,
					       &ncclProfiler_v4, &ncclProfiler_v5, &ncclProfiler_v6,
					       &ncclProfiler_v7};

	return (struct told_plugin *)(uintptr_t)plugins[version - 1];
}

struct nccl {
	uint32_t version;
	struct told_plugin *plugin;
	void *context;
	int mask;
	void *api; /* of the next task */
};

static void begin(struct nccl *nccl, uint32_t version, uint64_t hash)
{
	*nccl = (struct nccl){.version = version, .plugin = plugin_of(version), .mask = -1};
	int result;

	if (version < 4)
		result = nccl->plugin->init_1(&nccl->context, &nccl->mask);
	else if (version == 4)
		result = nccl->plugin->init_4(&nccl->context, &nccl->mask, "name", hash, 1,
					      NR_RANKS, RANK, NULL);
	else
		result = nccl->plugin->init_5(&nccl->context, hash, &nccl->mask, NULL, 1, NR_RANKS,
					      RANK, NULL);
	assert_int_equal(result, 0);
}

static void end(struct nccl *nccl)
{
	assert_int_equal(nccl->plugin->finalize(nccl->context), 0);
}

static void *tell(struct nccl *nccl, uint32_t type, void *parent, const union told_body *body)
{
	struct told_event_1 event_1;
	struct told_event_5 event_5;
	void *handle = &event_1, *event = &event_1;

	memset(&event_1, 0, sizeof(event_1));
	memset(&event_5, 0, sizeof(event_5));
	event_1.head = (struct told_head_1){(uint8_t)type, parent, RANK};
	event_5.head = (struct told_head_5){type, parent, RANK};
	if (body)
		event_1.body = event_5.body = *body;
	if (nccl->version >= 5)
		event = &event_5;
	assert_int_equal(nccl->plugin->start(nccl->context, &handle, event), 0);
	return handle;
}

/* As the launch callback leaves it. */
static void launched(uint32_t correlation_id, uint64_t time_ns)
{
	struct launch_thread *thread = launch_thread_own(ring.guest, time_ns);

	assert_non_null(thread);
	thread->outer_stack_id = 77;
	thread->last_launch = (struct launch_mark){
		.time_ns = time_ns, .correlation_id = correlation_id, .cbid = 652};
}

static void call(struct nccl *nccl, bool p2p, void *stream, bool captured)
{
	union told_body body;

	if (nccl->version < 5)
		return;
	memset(&body, 0, sizeof(body));
	if (p2p)
		body.p2p_api = (struct told_p2p_api){.stream = stream, .captured = captured};
	else
		body.collective_api =
			(struct told_collective_api){.stream = stream, .captured = captured};
	nccl->api = tell(nccl, p2p ? TOLD_P2P_API : TOLD_COLLECTIVE_API, NULL, &body);
	assert_non_null(nccl->api);
	nccl->plugin->stop(nccl->api);
	memset(&body, 0, sizeof(body));
	body.launch_stream = stream;
	assert_null(tell(nccl, TOLD_KERNEL_LAUNCH, NULL, &body));
}

static void post(struct nccl *nccl)
{
	void *group = tell(nccl, TOLD_GROUP, NULL, NULL);

	assert_non_null(group); /* else older ones tell of no task */
	nccl->plugin->stop(group);
}

static void collective(struct nccl *nccl, const char *function, uint8_t number, uint64_t sequence,
		       uint64_t count)
{
	union told_body body;

	memset(&body, 0, sizeof(body));
	if (nccl->version == 1)
		body.collective_1 = (struct told_collective_1){.hash = HASH,
							       .sequence = sequence,
							       .function = number,
							       .count = count,
							       .root = 2,
							       .type = 7,
							       .op = 2};
	else if (nccl->version < 4)
		body.collective_2 = (struct told_collective_2){.hash = HASH,
							       .sequence = sequence,
							       .function = function,
							       .count = count,
							       .root = 2,
							       .type = "ncclFloat32"};
	else
		body.collective_4 = (struct told_collective_4){.sequence = sequence,
							       .function = function,
							       .count = count,
							       .root = 2,
							       .type = "ncclFloat32"};
	assert_null(tell(nccl, TOLD_COLLECTIVE, nccl->api, &body)); /* nobody need stop it */
}

static void send_to(struct nccl *nccl, int peer, uint64_t count)
{
	union told_body body;

	memset(&body, 0, sizeof(body));
	if (nccl->version == 1)
		body.p2p_1 = (struct told_p2p_1){
			.hash = HASH, .function = 6, .type = 9, .count = count, .peer = peer};
	else if (nccl->version < 4)
		body.p2p_2 = (struct told_p2p_2){.hash = HASH,
						 .function = "Send",
						 .type = "ncclBfloat16",
						 .count = count,
						 .peer = peer};
	else
		body.p2p_4 = (struct told_p2p_4){
			.function = "Send", .type = "ncclBfloat16", .count = count, .peer = peer};
	assert_null(tell(nccl, TOLD_P2P, nccl->api, &body));
}

/* ---- the agent's side */

static uint32_t take(struct collective_record *records, uint32_t max)
{
	uint32_t nr_lost;

	record_ring_snapshot(ring.agent, &ring.snapshot);
	int got = record_ring_read_collectives(ring.agent, &ring.snapshot, false, records, max,
					       &nr_lost);
	assert_true(got >= 0);
	test_ring_release(&ring);
	return (uint32_t)got;
}

static struct collective_record take_one(void)
{
	struct collective_record records[2];

	assert_int_equal(take(records, 2), 1);
	return records[0];
}

static bool take_definition(struct definition_communicator *communicator)
{
	uint32_t type;
	int size = test_ring_definition(&ring, &type, communicator, sizeof(*communicator));

	assert_true(size < 0 || type == DEFINITION_COMMUNICATOR);
	assert_true(size < 0 || size == sizeof(*communicator));
	return size > 0;
}

static uint64_t counted(enum ledger_reason reason)
{
	return test_ring_ledger(&ring, LEDGER_DEVICE_NONE, reason).count;
}

/* ---- tests */

static void nothing_is_asked_for_before_the_guest_is_there(void **state)
{
	struct nccl nccl;

	(void)state;
	for (uint32_t version = 1; version <= VERSIONS; version++) {
		begin(&nccl, version, HASH);
		assert_int_equal(nccl.mask, 0);
		assert_null(nccl.context);
	}
	nccl_profiler_expect(); /* as one that waits for somebody to attach */
	begin(&nccl, 5, HASH);
	assert_int_not_equal(nccl.mask, 0);
	assert_non_null(nccl.context);
	post(&nccl);
	collective(&nccl, "AllReduce", 4, 0, 1); /* numbered, not recorded */
	end(&nccl);
	assert_int_equal(lifecycle_start(nothing), 0);
	assert_int_equal(launch_thread_init(), 0);
	nccl_profiler_start(&(struct nccl_profiler_parts){
		.ring = ring.guest, .definitions = &definitions, .is_recording = is_recording});
	struct collective_record record;
	assert_int_equal(take(&record, 1), 0);
}

static void the_layout_is_nccls(void **state)
{
	(void)state;
	/* By hand from the interface's headers, for 64 bits. */
	assert_int_equal(offsetof(struct nccl_event_v1, parent), 8);
	assert_int_equal(offsetof(struct nccl_event_v1, rank), 16);
	assert_int_equal(offsetof(struct nccl_event_v1, collective_v1), 24);
	assert_int_equal(offsetof(struct nccl_event_v5, parent), 8);
	assert_int_equal(offsetof(struct nccl_event_v5, rank), 16);
	assert_int_equal(offsetof(struct nccl_event_v5, collective), 24);
	assert_int_equal(offsetof(struct nccl_collective_v1, function), 24);
	assert_int_equal(offsetof(struct nccl_collective_v1, count), 48);
	assert_int_equal(offsetof(struct nccl_collective_v1, root), 56);
	assert_int_equal(offsetof(struct nccl_collective_v1, data_type), 60);
	assert_int_equal(offsetof(struct nccl_collective_v1, reduce_op), 64);
	assert_int_equal(offsetof(struct nccl_p2p_v1, data_type), 32);
	assert_int_equal(offsetof(struct nccl_p2p_v1, count), 40);
	assert_int_equal(offsetof(struct nccl_p2p_v1, peer), 48);
	assert_int_equal(offsetof(struct nccl_collective_v2, count), 48);
	assert_int_equal(offsetof(struct nccl_collective_v2, data_type), 64);
	assert_int_equal(offsetof(struct nccl_p2p_v2, data_type), 32);
	assert_int_equal(offsetof(struct nccl_p2p_v2, peer), 48);
	assert_int_equal(offsetof(struct nccl_collective_v4, function), 8);
	assert_int_equal(offsetof(struct nccl_collective_v4, count), 32);
	assert_int_equal(offsetof(struct nccl_collective_v4, root), 40);
	assert_int_equal(offsetof(struct nccl_collective_v4, data_type), 48);
	assert_int_equal(offsetof(struct nccl_p2p_v4, data_type), 16);
	assert_int_equal(offsetof(struct nccl_p2p_v4, peer), 32);
	assert_int_equal(offsetof(struct nccl_collective_api_v5, stream), 32);
	assert_int_equal(offsetof(struct nccl_collective_api_v5, captured), 40);
	assert_int_equal(offsetof(struct nccl_p2p_api_v5, captured), 32);
	assert_int_equal(sizeof(struct nccl_profiler_v1), 48);
	assert_int_equal(sizeof(struct nccl_profiler_v4), 48);
	assert_int_equal(sizeof(struct nccl_profiler_v5), 48);
}

static void each_version_tells_the_same(void **state)
{
	struct definition_communicator communicator;
	struct nccl nccl;

	(void)state;
	for (uint32_t version = 1; version <= VERSIONS; version++) {
		begin(&nccl, version, HASH);
		assert_int_equal(nccl.mask & ~TOLD_KERNEL_LAUNCH, TOLD_COLLECTIVE | TOLD_P2P);
		assert_int_equal(!!(nccl.mask & TOLD_KERNEL_LAUNCH), version >= 5);
		assert_false(take_definition(&communicator)); /* who calls nothing is not told of */
		call(&nccl, false, (void *)0x5000, false);
		launched(40 + version, 1000);
		post(&nccl);
		collective(&nccl, "Reduce", 1, 6, 500);
		assert_true(take_definition(&communicator));
		assert_int_equal(communicator.key,
				 collective_hash(COLLECTIVE_HASH_START, &(uint64_t){HASH}, 8));
		assert_int_equal(communicator.rank, RANK);
		assert_int_equal(communicator.nr_ranks,
				 version < 4 ? COLLECTIVE_NOT_KNOWN : NR_RANKS);
		struct collective_record record = take_one();
		assert_int_equal(record.communicator_id, communicator.communicator_id);
		assert_int_equal(record.sequence, 1);
		assert_int_equal(record.function_sequence, 7);
		assert_int_equal(record.function, COLLECTIVE_REDUCE);
		assert_int_equal(record.data_type, COLLECTIVE_FLOAT32);
		assert_int_equal(record.reduce_op, version == 1 ? 2 : COLLECTIVE_OP_NONE);
		assert_int_equal(record.count, 500);
		assert_int_equal(record.peer, 2);
		assert_int_equal(record.correlation_id, 40 + version);
		assert_int_equal(record.stack_id, 77);
		assert_int_equal(record.cbid, 652);
		assert_int_equal(record.stream, version >= 5 ? 0x5000 : 0);
		assert_true(record.duration_ns > 0);
		assert_true(version >= 5 || record.start_ns == 1000);

		call(&nccl, true, NULL, false);
		launched(50 + version, 2000);
		post(&nccl);
		send_to(&nccl, 5, 30);
		record = take_one();
		assert_int_equal(record.sequence, 2);
		assert_int_equal(record.function_sequence, 1);
		assert_int_equal(record.function, COLLECTIVE_SEND);
		assert_int_equal(record.data_type, COLLECTIVE_BFLOAT16);
		assert_int_equal(record.peer, 5);
		assert_int_equal(record.correlation_id, 50 + version);
		assert_false(take_definition(&communicator));
		end(&nccl);
	}
}

static void tasks_of_one_plan_share_its_launch_and_the_next_does_not(void **state)
{
	struct collective_record records[4];
	struct nccl nccl;

	(void)state;
	begin(&nccl, 4, HASH);
	launched(7, 1000);
	post(&nccl);
	collective(&nccl, "AllReduce", 4, 0, 1);
	collective(&nccl, "AllGather", 2, 0, 2);
	post(&nccl); /* whose launch was not seen */
	collective(&nccl, "AllReduce", 4, 1, 3);
	assert_int_equal(take(records, 4), 3);
	assert_int_equal(records[0].correlation_id, 7);
	assert_int_equal(records[1].correlation_id, 7);
	assert_int_equal(records[2].correlation_id, 0);
	assert_int_equal(records[2].sequence, 3);
	assert_int_equal(records[0].peer, COLLECTIVE_NOT_KNOWN);
	end(&nccl);
}

static void what_is_captured_has_no_number(void **state)
{
	struct nccl nccl;

	(void)state;
	begin(&nccl, 5, HASH);
	call(&nccl, false, NULL, true);
	launched(8, 1000);
	post(&nccl);
	collective(&nccl, "AllReduce", 4, 0, 1);
	struct collective_record record = take_one();
	assert_int_equal(record.sequence, 0);
	assert_int_equal(record.function_sequence, 0);
	assert_int_equal(record.correlation_id, 0);
	call(&nccl, false, NULL, false);
	launched(9, 2000);
	post(&nccl);
	collective(&nccl, "AllReduce", 4, 0, 1);
	assert_int_equal(take_one().sequence, 1);
	end(&nccl);

	/* Of older ones the launch itself is known to have become a node. */
	begin(&nccl, 4, HASH);
	launched(10, 1000);
	launch_thread_own(ring.guest, 0)->last_launch.captured = true;
	post(&nccl);
	collective(&nccl, "AllReduce", 4, 0, 1);
	record = take_one();
	assert_int_equal(record.sequence, 0);
	assert_int_equal(record.correlation_id, 0);
	end(&nccl);
}

static void *replay(void *argument)
{
	struct nccl *nccl = argument;

	post(nccl);
	collective(nccl, "AllReduce", 4, 0, 1);
	errno = 0;
	return NULL;
}

static void a_thread_that_launches_nothing_carries_no_launch(void **state)
{
	struct nccl nccl;
	pthread_t thread;

	(void)state;
	for (uint32_t version = 4; version <= 5; version++) {
		begin(&nccl, version, HASH);
		call(&nccl, false, NULL, false);
		assert_int_equal(pthread_create(&thread, NULL, replay, &nccl), 0);
		pthread_join(thread, NULL);
		struct collective_record record = take_one();
		assert_int_equal(record.correlation_id, 0);
		assert_int_equal(record.stack_id, RECORD_STACK_NONE);
		/* That it is no replay is only known where NCCL tells of the call. */
		assert_int_equal(record.sequence, version == 5);
		end(&nccl);
	}
}

static void numbers_go_on_while_nothing_is_recorded(void **state)
{
	struct nccl nccl;
	uint64_t before = counted(LEDGER_COLLECTIVES);
	struct collective_record record;

	(void)state;
	begin(&nccl, 5, HASH);
	recording = false;
	for (uint64_t i = 0; i < 10; i++) {
		call(&nccl, false, NULL, false);
		post(&nccl);
		collective(&nccl, "AllReduce", 4, i, 1);
	}
	assert_int_equal(take(&record, 1), 0);
	assert_int_equal(counted(LEDGER_COLLECTIVES), before);
	recording = true;
	call(&nccl, false, NULL, false);
	post(&nccl);
	collective(&nccl, "AllReduce", 4, 10, 1);
	record = take_one();
	assert_int_equal(record.sequence, 11);
	assert_int_equal(record.function_sequence, 11);
	end(&nccl);
}

static void what_is_lost_is_counted(void **state)
{
	struct collective_record records[PLACES];
	uint64_t told = counted(LEDGER_COLLECTIVES), lost = counted(LEDGER_COLLECTIVE_LOST);
	struct nccl nccl, none;

	(void)state;
	begin(&nccl, 4, HASH);
	launched(1, 1);
	post(&nccl);
	for (uint64_t i = 0; i < PLACES + 5; i++)
		collective(&nccl, "AllReduce", 4, i, i);
	collective(&nccl, "AllToNobody", 99, 0, 1);
	none = nccl;
	none.context = NULL; /* one more communicator than there is room for */
	collective(&none, "AllReduce", 4, 0, 1);
	collective(&nccl, NULL, 4, 0, 1);
	assert_int_equal(counted(LEDGER_COLLECTIVES) - told, PLACES + 8);
	assert_int_equal(counted(LEDGER_COLLECTIVE_LOST) - lost, 8u);
	assert_int_equal(take(records, PLACES), PLACES);
	assert_int_equal(records[PLACES - 1].sequence, PLACES);
	collective(&nccl, "AllReduce", 4, PLACES + 5, 1);
	assert_int_equal(take_one().sequence, PLACES + 8); /* two had no known function */
	end(&nccl);
}

static void a_definition_waits_for_nobody(void **state)
{
	struct definition_communicator communicator;
	uint64_t lost = counted(LEDGER_COLLECTIVE_LOST);
	struct collective_record record;
	struct nccl nccl;

	(void)state;
	while (take_definition(&communicator))
		;
	begin(&nccl, 5, HASH);
	post(&nccl);
	pthread_mutex_lock(&definitions.lock);
	collective(&nccl, "AllReduce", 4, 0, 1);
	pthread_mutex_unlock(&definitions.lock);
	assert_int_equal(take(&record, 1), 0);
	assert_int_equal(counted(LEDGER_COLLECTIVE_LOST), lost + 1);
	collective(&nccl, "AllReduce", 4, 1, 1);
	record = take_one();
	assert_int_equal(record.function_sequence, 2);
	assert_true(take_definition(&communicator));
	assert_int_equal(record.communicator_id, communicator.communicator_id);
	end(&nccl);
}

static void communicators_are_numbered_without_gaps_and_their_places_used_again(void **state)
{
	struct definition_communicator first, second;
	struct collective_record records[2];
	struct nccl nccl, other;

	(void)state;
	while (take_definition(&first))
		;
	begin(&nccl, 5, HASH);
	begin(&other, 5, HASH + 1);
	assert_ptr_not_equal(nccl.context, other.context);
	post(&other);
	collective(&other, "AllReduce", 4, 0, 1);
	post(&nccl);
	collective(&nccl, "AllReduce", 4, 0, 1);
	assert_int_equal(take(records, 2), 2);
	assert_true(take_definition(&first));
	assert_true(take_definition(&second));
	assert_int_equal(second.communicator_id, first.communicator_id + 1);
	assert_int_not_equal(second.key, first.key);
	end(&other);
	end(&nccl);

	for (uint32_t i = 0; i <= NCCL_PROFILER_COMMUNICATORS; i++) {
		begin(&nccl, 5, HASH);
		assert_non_null(nccl.context);
		end(&nccl);
	}
	static struct nccl all[NCCL_PROFILER_COMMUNICATORS];
	for (uint32_t i = 0; i < NCCL_PROFILER_COMMUNICATORS; i++)
		begin(&all[i], 5, HASH);
	begin(&nccl, 5, HASH);
	assert_null(nccl.context);
	for (uint32_t i = 0; i < NCCL_PROFILER_COMMUNICATORS; i++)
		end(&all[i]);
	begin(&nccl, 5, HASH);
	assert_non_null(nccl.context);
	end(&nccl);
}

static void names_are_nccls(void **state)
{
	static const struct {
		const char *name;
		uint32_t function;
	} functions[] = {{"AllReduce", COLLECTIVE_ALL_REDUCE},
			 {"Broadcast", COLLECTIVE_BROADCAST},
			 {"Reduce", COLLECTIVE_REDUCE},
			 {"AllGather", COLLECTIVE_ALL_GATHER},
			 {"ReduceScatter", COLLECTIVE_REDUCE_SCATTER},
			 {"Send", COLLECTIVE_SEND},
			 {"Recv", COLLECTIVE_RECV},
			 {"AlltoAll", COLLECTIVE_ALL_TO_ALL},
			 {"Gather", COLLECTIVE_GATHER},
			 {"Scatter", COLLECTIVE_SCATTER},
			 {"PutSignal", COLLECTIVE_FUNCTIONS},
			 {"", COLLECTIVE_FUNCTIONS},
			 {NULL, COLLECTIVE_FUNCTIONS}};

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		assert_int_equal(nccl_profiler_function(functions[i].name), functions[i].function);
	assert_int_equal(nccl_profiler_type("ncclInt8"), COLLECTIVE_INT8);
	assert_int_equal(nccl_profiler_type("ncclFloat8e5m2"), COLLECTIVE_FLOAT8_E5M2);
	assert_int_equal(nccl_profiler_type("Unknown"), COLLECTIVE_TYPE_NONE);
	assert_int_equal(nccl_profiler_type(NULL), COLLECTIVE_TYPE_NONE);
}

#define THREADS 4
#define EACH_OF 2000u

static struct nccl shared[THREADS];

static void *call_often(void *argument)
{
	struct nccl *nccl = argument;

	for (uint32_t i = 0; i < EACH_OF; i++) {
		call(nccl, false, NULL, false);
		launched(i + 1, i + 1);
		post(nccl);
		collective(nccl, "AllReduce", 4, i, i);
	}
	return NULL;
}

static void threads_record_at_once(void **state)
{
	static struct collective_record records[PLACES];
	uint64_t told = counted(LEDGER_COLLECTIVES), lost = counted(LEDGER_COLLECTIVE_LOST);
	uint64_t received = 0;
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		begin(&shared[i], 5, HASH + (unsigned int)i);
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, &shared[i]), 0);
	}
	for (uint64_t done = 0; done < THREADS * EACH_OF;) {
		uint32_t got = take(records, PLACES);

		for (uint32_t i = 0; i < got; i++) {
			assert_int_equal(records[i].sequence, records[i].count + 1);
			assert_int_equal(records[i].correlation_id, records[i].sequence);
		}
		received += got;
		done = received + counted(LEDGER_COLLECTIVE_LOST) - lost;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		end(&shared[i]);
	}
	assert_int_equal(counted(LEDGER_COLLECTIVES) - told, THREADS * EACH_OF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_asked_for_before_the_guest_is_there),
		cmocka_unit_test(the_layout_is_nccls),
		cmocka_unit_test(each_version_tells_the_same),
		cmocka_unit_test(tasks_of_one_plan_share_its_launch_and_the_next_does_not),
		cmocka_unit_test(what_is_captured_has_no_number),
		cmocka_unit_test(a_thread_that_launches_nothing_carries_no_launch),
		cmocka_unit_test(numbers_go_on_while_nothing_is_recorded),
		cmocka_unit_test(what_is_lost_is_counted),
		cmocka_unit_test(a_definition_waits_for_nobody),
		cmocka_unit_test(
			communicators_are_numbered_without_gaps_and_their_places_used_again),
		cmocka_unit_test(names_are_nccls),
		cmocka_unit_test(threads_record_at_once),
	};

	test_ring_init_sizes(&ring, &(struct record_ring_sizes){
					    .launch_lanes = 16,
					    .launch_lane_records = 64,
					    .activity_records = 64,
					    .definition_bytes = 512u << 10,
					    .stacks = 16,
					    .stack_words = 256,
					    .codes = 4,
					    .code_words = 64,
					    .collectives = PLACES,
				    });
	definitions = DEFINITION_WRITER_INIT(ring.guest);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
