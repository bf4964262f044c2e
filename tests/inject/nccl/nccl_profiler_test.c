/* What the guest makes of NCCL's calls: which launch each has, its numbers, and what is lost of them. */
#include "inject/nccl/nccl_profiler.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/launch/launch_thread.h"
#include "nccl_fixture.h"

static void tasks_of_one_plan_share_its_launch_and_the_next_does_not(void **state)
{
	struct collective_record records[4];
	struct nccl_fixture_caller nccl;

	(void)state;
	nccl_fixture_begin(&nccl, 4, NCCL_FIXTURE_HASH);
	nccl_fixture_launched(7, 1000);
	nccl_fixture_post(&nccl);
	nccl_fixture_collective(&nccl, "AllReduce", 4, 0, 1);
	nccl_fixture_collective(&nccl, "AllGather", 2, 0, 2);
	nccl_fixture_post(&nccl); /* whose launch was not seen */
	nccl_fixture_collective(&nccl, "AllReduce", 4, 1, 3);
	assert_int_equal(nccl_fixture_take(records, 4), 3);
	assert_int_equal(records[0].correlation_id, 7);
	assert_int_equal(records[1].correlation_id, 7);
	assert_int_equal(records[2].correlation_id, 0);
	assert_int_equal(records[2].sequence, 3);
	assert_int_equal(records[0].peer, COLLECTIVE_NOT_KNOWN);
	nccl_fixture_end(&nccl);
}

static void what_is_captured_has_no_number(void **state)
{
	struct nccl_fixture_caller nccl;

	(void)state;
	nccl_fixture_begin(&nccl, 5, NCCL_FIXTURE_HASH);
	nccl_fixture_call(&nccl, false, NULL, true);
	nccl_fixture_launched(8, 1000);
	nccl_fixture_post(&nccl);
	nccl_fixture_collective(&nccl, "AllReduce", 4, 0, 1);
	struct collective_record record = nccl_fixture_take_one();
	assert_int_equal(record.sequence, 0);
	assert_int_equal(record.function_sequence, 0);
	assert_int_equal(record.correlation_id, 0);
	nccl_fixture_call(&nccl, false, NULL, false);
	nccl_fixture_launched(9, 2000);
	nccl_fixture_post(&nccl);
	nccl_fixture_collective(&nccl, "AllReduce", 4, 0, 1);
	assert_int_equal(nccl_fixture_take_one().sequence, 1);
	nccl_fixture_end(&nccl);

	/* Of older ones the launch itself is known to have become a node. */
	nccl_fixture_begin(&nccl, 4, NCCL_FIXTURE_HASH);
	nccl_fixture_launched(10, 1000);
	launch_thread_own(nccl_fixture.ring.guest, 0)->last_launch.captured = true;
	nccl_fixture_post(&nccl);
	nccl_fixture_collective(&nccl, "AllReduce", 4, 0, 1);
	record = nccl_fixture_take_one();
	assert_int_equal(record.sequence, 0);
	assert_int_equal(record.correlation_id, 0);
	nccl_fixture_end(&nccl);
}

static void *replay(void *argument)
{
	struct nccl_fixture_caller *nccl = argument;

	nccl_fixture_post(nccl);
	nccl_fixture_collective(nccl, "AllReduce", 4, 0, 1);
	errno = 0;
	return NULL;
}

static void a_thread_that_launches_nothing_carries_no_launch(void **state)
{
	struct nccl_fixture_caller nccl;
	pthread_t thread;

	(void)state;
	for (uint32_t version = 4; version <= 5; version++) {
		nccl_fixture_begin(&nccl, version, NCCL_FIXTURE_HASH);
		nccl_fixture_call(&nccl, false, NULL, false);
		assert_int_equal(pthread_create(&thread, NULL, replay, &nccl), 0);
		pthread_join(thread, NULL);
		struct collective_record record = nccl_fixture_take_one();
		assert_int_equal(record.correlation_id, 0);
		assert_int_equal(record.stack_id, RECORD_STACK_NONE);
		/* That it is no replay is only known where NCCL tells of the call. */
		assert_int_equal(record.sequence, version == 5);
		nccl_fixture_end(&nccl);
	}
}

static void numbers_go_on_while_nothing_is_recorded(void **state)
{
	struct nccl_fixture_caller nccl;
	uint64_t before = nccl_fixture_counted(LEDGER_COLLECTIVES);
	struct collective_record record;

	(void)state;
	nccl_fixture_begin(&nccl, 5, NCCL_FIXTURE_HASH);
	nccl_fixture_record(false);
	for (uint64_t i = 0; i < 10; i++) {
		nccl_fixture_call(&nccl, false, NULL, false);
		nccl_fixture_post(&nccl);
		nccl_fixture_collective(&nccl, "AllReduce", 4, i, 1);
	}
	assert_int_equal(nccl_fixture_take(&record, 1), 0);
	assert_int_equal(nccl_fixture_counted(LEDGER_COLLECTIVES), before);
	nccl_fixture_record(true);
	nccl_fixture_call(&nccl, false, NULL, false);
	nccl_fixture_post(&nccl);
	nccl_fixture_collective(&nccl, "AllReduce", 4, 10, 1);
	record = nccl_fixture_take_one();
	assert_int_equal(record.sequence, 11);
	assert_int_equal(record.function_sequence, 11);
	nccl_fixture_end(&nccl);
}

static uint64_t number_to(struct nccl_fixture_caller *nccl, int peer)
{
	nccl_fixture_send_to(nccl, peer, 1);
	return nccl_fixture_take_one().function_sequence;
}

static void sends_are_numbered_by_peer(void **state)
{
	static struct nccl_fixture_caller nccl[300];

	(void)state;
	nccl_fixture_begin(&nccl[0], 5, NCCL_FIXTURE_HASH);
	nccl_fixture_begin(&nccl[1], 5, NCCL_FIXTURE_HASH + 1);
	nccl_fixture_post(&nccl[0]);
	assert_int_equal(number_to(&nccl[0], 5), 1);
	assert_int_equal(number_to(&nccl[0], 6), 1);
	assert_int_equal(number_to(&nccl[0], 5), 2);
	assert_int_equal(number_to(&nccl[1], 5), 1);
	assert_int_equal(number_to(&nccl[0], NCCL_PROFILER_PEERS - 1), 1);
	assert_int_equal(number_to(&nccl[0], NCCL_PROFILER_PEERS), 0);
	nccl_fixture_record(false);
	nccl_fixture_send_to(&nccl[0], 6, 1);
	nccl_fixture_record(true);
	assert_int_equal(number_to(&nccl[0], 6), 3);
	for (uint32_t i = 2; i < 300; i++) {
		nccl_fixture_begin(&nccl[i], 5, NCCL_FIXTURE_HASH + i);
		assert_int_equal(number_to(&nccl[i], 5), i < 256); /* there are 256 tables */
	}
	nccl_fixture_end(&nccl[1]);
	assert_int_equal(number_to(&nccl[299], 5), 1);
	for (uint32_t i = 0; i < 300; i++)
		if (i != 1)
			nccl_fixture_end(&nccl[i]);
}

static void what_is_lost_is_counted(void **state)
{
	struct collective_record records[NCCL_FIXTURE_PLACES];
	uint64_t told = nccl_fixture_counted(LEDGER_COLLECTIVES),
		 lost = nccl_fixture_counted(LEDGER_COLLECTIVE_LOST);
	struct nccl_fixture_caller nccl, none;

	(void)state;
	nccl_fixture_begin(&nccl, 4, NCCL_FIXTURE_HASH);
	nccl_fixture_launched(1, 1);
	nccl_fixture_post(&nccl);
	for (uint64_t i = 0; i < NCCL_FIXTURE_PLACES + 5; i++)
		nccl_fixture_collective(&nccl, "AllReduce", 4, i, i);
	nccl_fixture_collective(&nccl, "AllToNobody", 99, 0, 1);
	none = nccl;
	none.context = NULL; /* one more communicator than there is room for */
	nccl_fixture_collective(&none, "AllReduce", 4, 0, 1);
	nccl_fixture_collective(&nccl, NULL, 4, 0, 1);
	assert_int_equal(nccl_fixture_counted(LEDGER_COLLECTIVES) - told, NCCL_FIXTURE_PLACES + 8);
	assert_int_equal(nccl_fixture_counted(LEDGER_COLLECTIVE_LOST) - lost, 8u);
	assert_int_equal(nccl_fixture_take(records, NCCL_FIXTURE_PLACES), NCCL_FIXTURE_PLACES);
	assert_int_equal(records[NCCL_FIXTURE_PLACES - 1].sequence, NCCL_FIXTURE_PLACES);
	nccl_fixture_collective(&nccl, "AllReduce", 4, NCCL_FIXTURE_PLACES + 5, 1);
	assert_int_equal(nccl_fixture_take_one().sequence,
			 NCCL_FIXTURE_PLACES + 8); /* two had no known function */
	nccl_fixture_end(&nccl);
}

static void a_definition_waits_for_nobody(void **state)
{
	struct definition_communicator communicator;
	uint64_t lost = nccl_fixture_counted(LEDGER_COLLECTIVE_LOST);
	struct collective_record record;
	struct nccl_fixture_caller nccl;

	(void)state;
	while (nccl_fixture_take_definition(&communicator))
		;
	nccl_fixture_begin(&nccl, 5, NCCL_FIXTURE_HASH);
	nccl_fixture_post(&nccl);
	pthread_mutex_lock(&nccl_fixture.definitions.lock);
	nccl_fixture_collective(&nccl, "AllReduce", 4, 0, 1);
	pthread_mutex_unlock(&nccl_fixture.definitions.lock);
	assert_int_equal(nccl_fixture_take(&record, 1), 0);
	assert_int_equal(nccl_fixture_counted(LEDGER_COLLECTIVE_LOST), lost + 1);
	nccl_fixture_collective(&nccl, "AllReduce", 4, 1, 1);
	record = nccl_fixture_take_one();
	assert_int_equal(record.function_sequence, 2);
	assert_true(nccl_fixture_take_definition(&communicator));
	assert_int_equal(record.communicator_id, communicator.communicator_id);
	nccl_fixture_end(&nccl);
}

#define THREADS 4
#define EACH_OF 2000u

static struct nccl_fixture_caller shared[THREADS];

static void *call_often(void *argument)
{
	struct nccl_fixture_caller *nccl = argument;

	for (uint32_t i = 0; i < EACH_OF; i++) {
		nccl_fixture_call(nccl, false, NULL, false);
		nccl_fixture_launched(i + 1, i + 1);
		nccl_fixture_post(nccl);
		nccl_fixture_collective(nccl, "AllReduce", 4, i, i);
	}
	return NULL;
}

static void threads_record_at_once(void **state)
{
	static struct collective_record records[NCCL_FIXTURE_PLACES];
	uint64_t told = nccl_fixture_counted(LEDGER_COLLECTIVES),
		 lost = nccl_fixture_counted(LEDGER_COLLECTIVE_LOST);
	uint64_t received = 0;
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		nccl_fixture_begin(&shared[i], 5, NCCL_FIXTURE_HASH + (unsigned int)i);
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, &shared[i]), 0);
	}
	for (uint64_t done = 0; done < THREADS * EACH_OF;) {
		uint32_t got = nccl_fixture_take(records, NCCL_FIXTURE_PLACES);

		for (uint32_t i = 0; i < got; i++) {
			assert_int_equal(records[i].sequence, records[i].count + 1);
			assert_int_equal(records[i].correlation_id, records[i].sequence);
		}
		received += got;
		done = received + nccl_fixture_counted(LEDGER_COLLECTIVE_LOST) - lost;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		nccl_fixture_end(&shared[i]);
	}
	assert_int_equal(nccl_fixture_counted(LEDGER_COLLECTIVES) - told, THREADS * EACH_OF);
}

static int set_up(void **state)
{
	(void)state;
	nccl_fixture_start();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_of_one_plan_share_its_launch_and_the_next_does_not),
		cmocka_unit_test(what_is_captured_has_no_number),
		cmocka_unit_test(a_thread_that_launches_nothing_carries_no_launch),
		cmocka_unit_test(numbers_go_on_while_nothing_is_recorded),
		cmocka_unit_test(sends_are_numbered_by_peer),
		cmocka_unit_test(what_is_lost_is_counted),
		cmocka_unit_test(a_definition_waits_for_nobody),
		cmocka_unit_test(threads_record_at_once),
	};

	nccl_fixture_init();
	return cmocka_run_group_tests(tests, set_up, NULL);
}
