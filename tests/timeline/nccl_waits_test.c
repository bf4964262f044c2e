#include "tests/support/cmocka_test.h"

#include <stdint.h>

#include "aggregator/profile/collective_log.h"
#include "timeline/trace/nccl_waits.h"

#define RANKS 3u
#define KEY   0xabcdu

static struct collective_folds *folds;

static int set_up(void **state)
{
	(void)state;
	folds = collective_folds_create();
	return folds ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	collective_folds_destroy(folds);
	return 0;
}

/* Process r has rank r - 1. */
static void add_ranks(uint32_t nr_ranks)
{
	for (uint32_t process = 1; process <= RANKS; process++) {
		const struct communicator communicator = {.key = KEY,
							  .communicator_id = 1,
							  .rank = process - 1,
							  .nr_ranks = nr_ranks};

		assert_int_equal(collective_folds_process(folds, process, 1, 1), 0);
		assert_int_equal(collective_log_put(folds->log, process, &communicator), 0);
	}
}

/* A call of this number, whose kernel took so long; its correlation id is 100 * number + process. */
static void add_call(uint32_t process, uint64_t sequence, uint8_t function, uint64_t ns)
{
	const struct collective_log_call call = {
		.process = process,
		.call = {.start_ns = 1000 * sequence,
			 .duration_ns = 10,
			 .sequence = sequence,
			 .function_sequence = sequence,
			 .communicator_id = 1,
			 .correlation_id = (uint32_t)(100 * sequence + process),
			 .function = function},
		.gpu = {.known = true, .clock_known = true, .start_ns = 5000 * sequence, .ns = ns},
	};

	assert_int_equal(collective_log_load_call(folds->log, &call), 0);
}

static void kernels_wait_as_long_as_they_are_longer_than_the_shortest(void **state)
{
	struct nccl_waits nccl;
	uint64_t wait_ns = 7;

	(void)state;
	add_ranks(RANKS);
	for (uint32_t process = 1; process <= RANKS; process++)
		add_call(process, 1, COLLECTIVE_ALL_REDUCE, 1000 + 50 * process);
	assert_int_equal(nccl_waits_init(&nccl, folds), 0);
	assert_int_equal(nccl.nr_kernels, RANKS);
	for (uint32_t process = 1; process <= RANKS; process++) {
		assert_true(nccl_waits_find(&nccl, process, 100 + process, 1000 + 50 * process,
					    &wait_ns));
		assert_int_equal(wait_ns, 50 * (process - 1));
	}
	/* A number that comes again has another duration, as kernels of other processes have. */
	assert_false(nccl_waits_find(&nccl, 1, 101, 1051, &wait_ns));
	assert_false(nccl_waits_find(&nccl, 2, 101, 1050, &wait_ns));
	assert_false(nccl_waits_find(&nccl, 4, 104, 1050, &wait_ns));
	nccl_waits_fini(&nccl);
}

static void a_collective_without_all_ranks_is_not_split(void **state)
{
	struct nccl_waits nccl;
	uint64_t wait_ns;

	(void)state;
	add_ranks(RANKS);
	add_call(1, 1, COLLECTIVE_ALL_REDUCE, 1000);
	add_call(2, 1, COLLECTIVE_ALL_REDUCE, 2000);
	for (uint32_t process = 1; process <= RANKS; process++)
		add_call(process, 2, COLLECTIVE_BROADCAST, 1000);
	assert_int_equal(nccl_waits_init(&nccl, folds), 0);
	assert_int_equal(nccl.nr_kernels, RANKS);
	assert_false(nccl_waits_find(&nccl, 1, 101, 1000, &wait_ns));
	assert_true(nccl_waits_find(&nccl, 1, 201, 1000, &wait_ns));
	nccl_waits_fini(&nccl);
}

static void sends_and_unknown_sizes_are_not_split(void **state)
{
	struct nccl_waits nccl;

	(void)state;
	add_ranks(COLLECTIVE_NOT_KNOWN);
	for (uint32_t process = 1; process <= RANKS; process++) {
		add_call(process, 1, COLLECTIVE_SEND, 1000);
		add_call(process, 2, COLLECTIVE_ALL_REDUCE, 1000);
	}
	assert_int_equal(nccl_waits_init(&nccl, folds), 0);
	assert_int_equal(nccl.nr_kernels, 0);
	nccl_waits_fini(&nccl);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernels_wait_as_long_as_they_are_longer_than_the_shortest),
		TEST(a_collective_without_all_ranks_is_not_split),
		TEST(sends_and_unknown_sizes_are_not_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
