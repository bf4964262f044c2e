#include "nccl_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "inject/launch/launch_thread.h"
#include "inject/base/lifecycle.h"
#include "inject/nccl/nccl_plugin.h"
#include "inject/nccl/nccl_profiler.h"
#include "tests/support/fake_nccl/profiler_interface.h"

struct nccl_fixture nccl_fixture;

static bool recording = true;

static bool is_recording(void)
{
	return recording;
}

static void nothing(void)
{
}

void nccl_fixture_init(void)
{
	test_ring_init_sizes(&nccl_fixture.ring, &(struct record_ring_sizes){
							 .launch_lanes = 16,
							 .launch_lane_records = 64,
							 .activity_records = 64,
							 .definition_bytes = 512u << 10,
							 .stacks = 16,
							 .stack_words = 256,
							 .codes = 4,
							 .code_words = 64,
							 .collectives = NCCL_FIXTURE_PLACES,
						 });
	nccl_fixture.definitions = DEFINITION_WRITER_INIT(nccl_fixture.ring.guest);
}

void nccl_fixture_start(void)
{
	assert_int_equal(lifecycle_start(nothing), 0);
	assert_int_equal(launch_thread_init(LAUNCH_THREADS_KEPT), 0);
	nccl_profiler_start(&(struct nccl_profiler_parts){.ring = nccl_fixture.ring.guest,
							  .definitions = &nccl_fixture.definitions,
							  .is_recording = is_recording});
}

void nccl_fixture_record(bool on)
{
	recording = on;
}

/* ---- NCCL's side */

static struct told_plugin *plugin_of(uint32_t version)
{
	const void *const plugins[NCCL_FIXTURE_VERSIONS] = {
		&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3, &ncclProfiler_v4,
		&ncclProfiler_v5, &ncclProfiler_v6, &ncclProfiler_v7};

	return (struct told_plugin *)(uintptr_t)plugins[version - 1];
}

void nccl_fixture_begin(struct nccl_fixture_caller *nccl, uint32_t version, uint64_t hash)
{
	*nccl = (struct nccl_fixture_caller){
		.version = version, .plugin = plugin_of(version), .mask = -1};
	int result;

	if (version < 4)
		result = nccl->plugin->init_1(&nccl->context, &nccl->mask);
	else if (version == 4)
		result = nccl->plugin->init_4(&nccl->context, &nccl->mask, "name", hash, 1,
					      NCCL_FIXTURE_RANKS, NCCL_FIXTURE_RANK, NULL);
	else
		result = nccl->plugin->init_5(&nccl->context, hash, &nccl->mask, NULL, 1,
					      NCCL_FIXTURE_RANKS, NCCL_FIXTURE_RANK, NULL);
	assert_int_equal(result, 0);
}

void nccl_fixture_end(struct nccl_fixture_caller *nccl)
{
	assert_int_equal(nccl->plugin->finalize(nccl->context), 0);
}

static void *tell(struct nccl_fixture_caller *nccl, uint32_t type, void *parent,
		  const union told_body *body)
{
	struct told_event_1 event_1;
	struct told_event_5 event_5;
	void *handle = &event_1, *event = &event_1;

	memset(&event_1, 0, sizeof(event_1));
	memset(&event_5, 0, sizeof(event_5));
	event_1.head = (struct told_head_1){(uint8_t)type, parent, NCCL_FIXTURE_RANK};
	event_5.head = (struct told_head_5){type, parent, NCCL_FIXTURE_RANK};
	if (body)
		event_1.body = event_5.body = *body;
	if (nccl->version >= 5)
		event = &event_5;
	assert_int_equal(nccl->plugin->start(nccl->context, &handle, event), 0);
	return handle;
}

void nccl_fixture_launched(uint32_t correlation_id, uint64_t time_ns)
{
	struct launch_thread *thread = launch_thread_own(nccl_fixture.ring.guest, time_ns);

	assert_non_null(thread);
	thread->outer_stack_id = 77;
	thread->last_launch = (struct launch_mark){
		.time_ns = time_ns, .correlation_id = correlation_id, .cbid = 652};
}

void nccl_fixture_call(struct nccl_fixture_caller *nccl, bool p2p, void *stream, bool captured)
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

void nccl_fixture_post(struct nccl_fixture_caller *nccl)
{
	void *group = tell(nccl, TOLD_GROUP, NULL, NULL);

	assert_non_null(group); /* else older ones tell of no task */
	nccl->plugin->stop(group);
}

void nccl_fixture_collective(struct nccl_fixture_caller *nccl, const char *function, uint8_t number,
			     uint64_t sequence, uint64_t count)
{
	union told_body body;

	memset(&body, 0, sizeof(body));
	if (nccl->version == 1)
		body.collective_1 = (struct told_collective_1){.hash = NCCL_FIXTURE_HASH,
							       .sequence = sequence,
							       .function = number,
							       .count = count,
							       .root = 2,
							       .type = 7,
							       .op = 2};
	else if (nccl->version < 4)
		body.collective_2 = (struct told_collective_2){.hash = NCCL_FIXTURE_HASH,
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

void nccl_fixture_send_to(struct nccl_fixture_caller *nccl, int peer, uint64_t count)
{
	union told_body body;

	memset(&body, 0, sizeof(body));
	if (nccl->version == 1)
		body.p2p_1 = (struct told_p2p_1){.hash = NCCL_FIXTURE_HASH,
						 .function = 6,
						 .type = 9,
						 .count = count,
						 .peer = peer};
	else if (nccl->version < 4)
		body.p2p_2 = (struct told_p2p_2){.hash = NCCL_FIXTURE_HASH,
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

uint32_t nccl_fixture_take(struct collective_record *records, uint32_t max)
{
	uint32_t nr_lost;

	record_ring_snapshot(nccl_fixture.ring.agent, &nccl_fixture.ring.snapshot);
	int got = record_ring_read_collectives(nccl_fixture.ring.agent, &nccl_fixture.ring.snapshot,
					       false, records, max, &nr_lost);
	assert_true(got >= 0);
	test_ring_release(&nccl_fixture.ring);
	return (uint32_t)got;
}

struct collective_record nccl_fixture_take_one(void)
{
	struct collective_record records[2];

	assert_int_equal(nccl_fixture_take(records, 2), 1);
	return records[0];
}

bool nccl_fixture_take_definition(struct definition_communicator *communicator)
{
	uint32_t type;
	int size = test_ring_definition(&nccl_fixture.ring, &type, communicator,
					sizeof(*communicator));

	assert_true(size < 0 || type == DEFINITION_COMMUNICATOR);
	assert_true(size < 0 || size == sizeof(*communicator));
	return size > 0;
}

uint64_t nccl_fixture_counted(enum ledger_reason reason)
{
	return test_ring_ledger(&nccl_fixture.ring, LEDGER_DEVICE_NONE, reason).count;
}
