/* The guest as a plugin of NCCL: each version of the interface, called as NCCL calls it, with that of fake NCCL, which
 * is written down on its own. */
#include "inject/nccl/nccl_plugin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/nccl/nccl_profiler.h"
#include "nccl_fixture.h"
#include "tests/support/fake_nccl/profiler_interface.h"

static void nothing_is_asked_for_before_the_guest_is_there(void **state)
{
	struct nccl_fixture_caller nccl;

	(void)state;
	for (uint32_t version = 1; version <= NCCL_FIXTURE_VERSIONS; version++) {
		nccl_fixture_begin(&nccl, version, NCCL_FIXTURE_HASH);
		assert_int_equal(nccl.mask, 0);
		assert_null(nccl.context);
	}
	nccl_profiler_expect(); /* as one that waits for somebody to attach */
	nccl_fixture_begin(&nccl, 5, NCCL_FIXTURE_HASH);
	assert_int_not_equal(nccl.mask, 0);
	assert_non_null(nccl.context);
	nccl_fixture_post(&nccl);
	nccl_fixture_collective(&nccl, "AllReduce", 4, 0, 1); /* numbered, not recorded */
	nccl_fixture_end(&nccl);
	nccl_fixture_start();
	struct collective_record record;
	assert_int_equal(nccl_fixture_take(&record, 1), 0);
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
	struct nccl_fixture_caller nccl;

	(void)state;
	for (uint32_t version = 1; version <= NCCL_FIXTURE_VERSIONS; version++) {
		nccl_fixture_begin(&nccl, version, NCCL_FIXTURE_HASH);
		assert_int_equal(nccl.mask & ~TOLD_KERNEL_LAUNCH, TOLD_COLLECTIVE | TOLD_P2P);
		assert_int_equal(!!(nccl.mask & TOLD_KERNEL_LAUNCH), version >= 5);
		assert_false(nccl_fixture_take_definition(
			&communicator)); /* who calls nothing is not told of */
		nccl_fixture_call(&nccl, false, (void *)0x5000, false);
		nccl_fixture_launched(40 + version, 1000);
		nccl_fixture_post(&nccl);
		nccl_fixture_collective(&nccl, "Reduce", 1, 6, 500);
		assert_true(nccl_fixture_take_definition(&communicator));
		assert_int_equal(
			communicator.key,
			collective_hash(COLLECTIVE_HASH_START, &(uint64_t){NCCL_FIXTURE_HASH}, 8));
		assert_int_equal(communicator.rank, NCCL_FIXTURE_RANK);
		assert_int_equal(communicator.nr_ranks,
				 version < 4 ? COLLECTIVE_NOT_KNOWN : NCCL_FIXTURE_RANKS);
		struct collective_record record = nccl_fixture_take_one();
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

		nccl_fixture_call(&nccl, true, NULL, false);
		nccl_fixture_launched(50 + version, 2000);
		nccl_fixture_post(&nccl);
		nccl_fixture_send_to(&nccl, 5, 30);
		record = nccl_fixture_take_one();
		assert_int_equal(record.sequence, 2);
		assert_int_equal(record.function_sequence, 1);
		assert_int_equal(record.function, COLLECTIVE_SEND);
		assert_int_equal(record.data_type, COLLECTIVE_BFLOAT16);
		assert_int_equal(record.peer, 5);
		assert_int_equal(record.correlation_id, 50 + version);
		assert_false(nccl_fixture_take_definition(&communicator));
		nccl_fixture_end(&nccl);
	}
}

static void communicators_are_numbered_without_gaps_and_their_places_used_again(void **state)
{
	struct definition_communicator first, second;
	struct collective_record records[2];
	struct nccl_fixture_caller nccl, other;

	(void)state;
	while (nccl_fixture_take_definition(&first))
		;
	nccl_fixture_begin(&nccl, 5, NCCL_FIXTURE_HASH);
	nccl_fixture_begin(&other, 5, NCCL_FIXTURE_HASH + 1);
	assert_ptr_not_equal(nccl.context, other.context);
	nccl_fixture_post(&other);
	nccl_fixture_collective(&other, "AllReduce", 4, 0, 1);
	nccl_fixture_post(&nccl);
	nccl_fixture_collective(&nccl, "AllReduce", 4, 0, 1);
	assert_int_equal(nccl_fixture_take(records, 2), 2);
	assert_true(nccl_fixture_take_definition(&first));
	assert_true(nccl_fixture_take_definition(&second));
	assert_int_equal(second.communicator_id, first.communicator_id + 1);
	assert_int_not_equal(second.key, first.key);
	nccl_fixture_end(&other);
	nccl_fixture_end(&nccl);

	for (uint32_t i = 0; i <= NCCL_PROFILER_COMMUNICATORS; i++) {
		nccl_fixture_begin(&nccl, 5, NCCL_FIXTURE_HASH);
		assert_non_null(nccl.context);
		nccl_fixture_end(&nccl);
	}
	static struct nccl_fixture_caller all[NCCL_PROFILER_COMMUNICATORS];
	for (uint32_t i = 0; i < NCCL_PROFILER_COMMUNICATORS; i++)
		nccl_fixture_begin(&all[i], 5, NCCL_FIXTURE_HASH);
	nccl_fixture_begin(&nccl, 5, NCCL_FIXTURE_HASH);
	assert_null(nccl.context);
	for (uint32_t i = 0; i < NCCL_PROFILER_COMMUNICATORS; i++)
		nccl_fixture_end(&all[i]);
	nccl_fixture_begin(&nccl, 5, NCCL_FIXTURE_HASH);
	assert_non_null(nccl.context);
	nccl_fixture_end(&nccl);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_asked_for_before_the_guest_is_there),
		cmocka_unit_test(the_layout_is_nccls),
		cmocka_unit_test(each_version_tells_the_same),
		cmocka_unit_test(
			communicators_are_numbered_without_gaps_and_their_places_used_again),
		cmocka_unit_test(names_are_nccls),
	};

	nccl_fixture_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
