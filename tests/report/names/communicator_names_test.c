#include "report/names/communicator_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/names/text_width.h"
#include "tests/report/straggler/straggler_fixture.h"
#include "tests/support/cmocka_test.h"

#define RANKS_MAX 1024u

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static uint32_t allocations_left = UINT32_MAX;

void *__wrap_calloc(size_t count, size_t size)
{
	if (allocations_left == 0)
		return NULL;
	allocations_left -= allocations_left != UINT32_MAX;
	return __real_calloc(count, size);
}

/* ---- sets of ranks */

/* The name of count ranks from first on, each step apart, of a job with as many ranks as world_size. */
static void assert_named(int32_t first, int32_t step, uint32_t count, int32_t world_size,
			 const char *expected)
{
	int32_t ranks[RANKS_MAX];
	char text[COMMUNICATOR_NAME_SIZE];

	for (uint32_t i = 0; i < count; i++)
		ranks[i] = first + (int32_t)i * step;
	communicator_names_write(ranks, count, world_size, text);
	assert_string_equal(text, expected);
}

static void assert_list(const int32_t *ranks, uint32_t count, const char *expected)
{
	char text[COMMUNICATOR_NAME_SIZE];

	communicator_names_write(ranks, count, RANKS_MAX, text);
	assert_string_equal(text, expected);
}

static void neighbours_are_a_range(void **state)
{
	(void)state;
	assert_named(4, 1, 4, 8, "ranks 4-7");
	assert_named(0, 1, 2, 8, "ranks 0-1");
	assert_named(3, 1, 1, 8, "rank 3");
}

static void a_step_is_named_where_that_is_shorter(void **state)
{
	(void)state;
	assert_named(1, 2, 4, 8, "ranks 1 3 5 7");
	assert_named(0, 8, 2, 16, "ranks 0 8");
	assert_named(0, 4, 4, 16, "ranks 0 4 8 12");
	assert_named(0, 4, 5, 20, "ranks 0-16 by 4");
	assert_named(0, 4, 128, 512, "ranks 0-508 by 4");
}

static void other_ranks_are_a_list_of_ranges(void **state)
{
	static const int32_t ranks[] = {0, 1, 2, 3, 8, 12, 13};

	(void)state;
	assert_list(ranks, 7, "ranks 0-3 8 12-13");
}

static void all_ranks_are_those_of_a_known_world(void **state)
{
	(void)state;
	assert_named(0, 1, 8, 8, "all ranks");
	assert_named(0, 1, 1, 1, "all ranks");
	assert_named(0, 1, 8, -1, "ranks 0-7");
	assert_named(0, 1, 8, 0, "ranks 0-7");
}

static void a_long_list_is_cut_between_numbers(void **state)
{
	/* As wide as a list may be, and one column more. */
	static const int32_t fits[] = {10, 100, 105, 111, 203, 205, 210};
	static const int32_t does_not[] = {100, 105, 111, 203, 205, 210, 300};
	const char *cut = "ranks 100 105 111 203 205 210 …";

	(void)state;
	assert_list(fits, 7, "ranks 10 100 105 111 203 205 210");
	assert_list(does_not, 7, cut);
	assert_int_equal(text_width_of(cut), strlen(cut) - 2);
	assert_int_equal(text_width_of("ranks 10 100 105 111 203 205 210"),
			 COMMUNICATOR_NAME_COLUMNS);
}

static void no_list_is_wider_than_its_bound(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (uint32_t round = 0; round < 1000; round++) {
		int32_t ranks[64], next = 0;
		char text[COMMUNICATOR_NAME_SIZE];
		uint32_t count = 1 + (uint32_t)(job_uniform(&seed) * 63);

		for (uint32_t i = 0; i < count; i++)
			ranks[i] = next +=
				1 + (int32_t)(job_uniform(&seed) * (round % 2 ? 3 : 1e6));
		communicator_names_write(ranks, count, -1, text);
		assert_true(text_width_of(text) <= COMMUNICATOR_NAME_COLUMNS);
		assert_ptr_equal(strstr(text, "rank"), text);
	}
}

/* ---- communicators of a job */

static void call(uint32_t process, uint32_t communicator)
{
	const struct collective call = job_all_reduce(communicator, 1, 0, 1000, 10);

	job_call(process, &call);
}

/* A member of a communicator with this key, and its call. */
static void join(uint32_t process, uint32_t id, uint64_t key, uint32_t rank, uint32_t nr_ranks)
{
	job_communicator(process, id, key, rank, nr_ranks);
	call(process, id);
}

static struct communicator_names *names_of_job(void)
{
	struct profile *profile = job_profile();
	struct collective_folds *folds = job_collectives();
	struct communicator_names *names;

	assert_int_equal(communicator_names_create(profile->collection, folds, &names), 0);
	collective_folds_destroy(folds);
	profile_destroy(profile);
	return names;
}

static void assert_name(const struct communicator_names *names, uint64_t key, const char *expected)
{
	assert_string_equal(communicator_names_of(names, key), expected);
}

/* A job of 8 ranks, whose processes are defined in this order of ranks. */
static void begin_job(uint32_t *processes, bool backwards)
{
	job_world(8);
	for (int32_t i = 0; i < 8; i++) {
		int32_t rank = backwards ? 7 - i : i;

		processes[rank] = job_process(rank);
	}
}

static void a_communicator_is_named_by_its_ranks_of_the_job(void **state)
{
	uint32_t processes[8];

	(void)state;
	begin_job(processes, false);
	for (uint32_t i = 0; i < 8; i++) {
		join(processes[i], 1, 100, i, 8);
		join(processes[i], 2, 200 + i / 4, i % 4, 4);
		join(processes[i], 3, 300 + i % 2, i / 2, COLLECTIVE_NOT_KNOWN);
	}
	join(processes[3], 4, 400, 0, 1);
	job_commit();
	struct communicator_names *names = names_of_job();

	assert_name(names, 100, "all ranks");
	assert_name(names, 200, "ranks 0-3");
	assert_name(names, 201, "ranks 4-7");
	assert_name(names, 300, "ranks 0 2 4 6");
	assert_name(names, 301, "ranks 1 3 5 7");
	assert_name(names, 400, "rank 3");
	assert_name(names, 0, "");
	assert_name(names, 500, "");
	communicator_names_destroy(names);
}

static void a_member_whose_rank_is_not_known_leaves_the_key(void **state)
{
	(void)state;
	job_world(8);
	uint32_t known = job_process(0), other = job_process(-1);

	join(known, 1, 0xfeed, 0, 2);
	join(other, 1, 0xfeed, 1, 2);
	join(known, 2, 0xbeef, 0, 4);
	join(known, 3, 0xf00d, 0, 8);
	job_commit();
	struct communicator_names *names = names_of_job();

	assert_name(names, 0xfeed, "000000000000feed");
	/* Three members are not in the profile. Of as many as the job has, all are known. */
	assert_name(names, 0xbeef, "000000000000beef");
	assert_name(names, 0xf00d, "all ranks");
	communicator_names_destroy(names);
}

static void several_members_in_one_process_leave_the_key(void **state)
{
	(void)state;
	job_world(8);
	uint32_t process = job_process(0);

	for (uint32_t i = 0; i < 2; i++) {
		join(process, 1 + 2 * i, 0xfeed, i, 2);
		join(process, 2 + 2 * i, 0xbeef, COLLECTIVE_NOT_KNOWN, COLLECTIVE_NOT_KNOWN);
	}
	job_commit();
	struct communicator_names *names = names_of_job();

	assert_name(names, 0xfeed, "000000000000feed");
	assert_name(names, 0xbeef, "000000000000beef");
	communicator_names_destroy(names);
}

static void two_recordings_of_one_member_are_one(void **state)
{
	(void)state;
	job_world(8);
	const uint32_t processes[] = {job_process(2), job_process(2), job_process(5)};

	for (uint32_t i = 0; i < 3; i++)
		join(processes[i], 1, 0xfeed, i / 2, 2);
	job_commit();
	struct communicator_names *names = names_of_job();

	assert_name(names, 0xfeed, "ranks 2 5");
	communicator_names_destroy(names);
}

static void equal_names_are_numbered_as_the_lowest_rank_used_them(void **state)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		uint32_t processes[8];

		if (backwards)
			assert_int_equal(job_set_up(state), 0);
		begin_job(processes, backwards);
		/* Rank 0 has key 9 first, the others key 8. */
		for (uint32_t i = 0; i < 8; i++) {
			uint32_t first = backwards ? 7 - i : i;

			join(processes[first], 1, first ? 8 : 9, first, 8);
			join(processes[first], 2, first ? 9 : 8, first, 8);
			join(processes[first], 3, 7, first, 8);
		}
		job_commit();
		struct communicator_names *names = names_of_job();

		assert_name(names, 9, "all ranks");
		assert_name(names, 8, "all ranks #2");
		assert_name(names, 7, "all ranks #3");
		communicator_names_destroy(names);
		if (!backwards)
			assert_int_equal(job_tear_down(state), 0);
	}
}

static void a_communicator_without_calls_takes_no_number(void **state)
{
	uint32_t processes[8];

	(void)state;
	begin_job(processes, false);
	for (uint32_t i = 0; i < 8; i++) {
		job_communicator(processes[i], 1, 1, i, 8);
		join(processes[i], 2, 2, i, 8);
	}
	job_commit();
	struct communicator_names *names = names_of_job();

	assert_name(names, 1, "");
	assert_name(names, 2, "all ranks");
	communicator_names_destroy(names);
}

static void names_that_are_cut_alike_are_numbered(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t process = job_process((int32_t)(1000 + i * i));

		join(process, 1, 1, i, 20);
		if (i < 19)
			join(process, 2, 2, i, 19);
	}
	job_commit();
	struct communicator_names *names = names_of_job();

	assert_name(names, 1, "ranks 1000-1001 1004 1009 1016 …");
	assert_name(names, 2, "ranks 1000-1001 1004 1009 1016 … #2");
	communicator_names_destroy(names);
}

static void without_memory_there_are_no_names(void **state)
{
	uint32_t processes[8], refused = 0;

	(void)state;
	begin_job(processes, false);
	join(processes[0], 1, 100, 0, 8);
	job_commit();
	struct profile *profile = job_profile();
	struct collective_folds *folds = job_collectives();
	struct communicator_names *names;

	for (uint32_t i = 0;; i++) {
		allocations_left = i;
		int error = communicator_names_create(profile->collection, folds, &names);

		allocations_left = UINT32_MAX;
		if (!error)
			break;
		assert_int_equal(error, -ENOMEM);
		assert_null(names);
		refused++;
	}
	assert_int_equal(refused, 5);
	assert_name(names, 100, "all ranks");
	communicator_names_destroy(names);
	communicator_names_destroy(NULL);
	collective_folds_destroy(folds);
	profile_destroy(profile);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_are_a_range),
		cmocka_unit_test(a_step_is_named_where_that_is_shorter),
		cmocka_unit_test(other_ranks_are_a_list_of_ranges),
		cmocka_unit_test(all_ranks_are_those_of_a_known_world),
		cmocka_unit_test(a_long_list_is_cut_between_numbers),
		cmocka_unit_test(no_list_is_wider_than_its_bound),
		TEST(a_communicator_is_named_by_its_ranks_of_the_job),
		TEST(a_member_whose_rank_is_not_known_leaves_the_key),
		TEST(several_members_in_one_process_leave_the_key),
		TEST(two_recordings_of_one_member_are_one),
		TEST(equal_names_are_numbered_as_the_lowest_rank_used_them),
		TEST(a_communicator_without_calls_takes_no_number),
		TEST(names_that_are_cut_alike_are_numbered),
		TEST(without_memory_there_are_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
