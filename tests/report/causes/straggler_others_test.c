#include "report/causes/straggler_others.h"

#include <stdlib.h>

#include "tests/support/cmocka_test.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_fold.h"
#include "report/profile/profile.h"
#include "tests/report/straggler/straggler_fixture.h"

#define RANKS 512u

static struct collective_fold_member members[RANKS + 1];

/* Each rank has a process, and rank 3 another one, which is the last member. */
static struct profile *make_ranks(void)
{
	for (uint32_t i = 0; i <= RANKS; i++)
		members[i].process = job_process((int32_t)(i < RANKS ? i : 3));
	job_commit();
	return job_profile();
}

static uint32_t choose(const struct profile *profile, uint32_t count, uint32_t late,
		       const uint32_t *left_out, uint32_t nr_left_out,
		       uint32_t chosen[static 1 + STRAGGLER_OTHERS_MAX])
{
	const struct collective_fold fold = {.members = members, .nr_members = count};

	return straggler_others_choose(profile->collection->roster, &fold, late, left_out,
				       nr_left_out, chosen);
}

/* Whatever the distance of ranks with like places, each place has its share of those that are compared. */
static void of_many_ranks_each_place_is_compared(void **state)
{
	static const uint32_t sizes[] = {2, 65, 66, 130, RANKS};
	struct profile *profile = make_ranks();
	uint32_t chosen[1 + STRAGGLER_OTHERS_MAX];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		const uint32_t late = sizes[i] - 1;
		const uint32_t count = choose(profile, sizes[i], late, NULL, 0, chosen);
		bool seen[RANKS] = {false};

		assert_int_equal(count, sizes[i] < 65 ? sizes[i] : 65);
		assert_int_equal(chosen[0], late);
		for (uint32_t j = 0; j < count; j++) {
			assert_true(chosen[j] < sizes[i] && !seen[chosen[j]]);
			seen[chosen[j]] = true;
		}
		for (uint32_t places = 2; places <= 8 && sizes[i] > 66; places *= 2) {
			uint32_t of_place[8] = {0};

			for (uint32_t j = 1; j < count; j++)
				of_place[chosen[j] % places]++;
			for (uint32_t j = 0; j < places; j++)
				assert_true(of_place[j] >= 64 / places / 3);
		}
	}
	profile_destroy(profile);
}

static void the_group_and_the_ranks_other_processes_are_left_out(void **state)
{
	static const uint32_t group[] = {2, 4, 5};
	struct profile *profile = make_ranks();
	uint32_t chosen[1 + STRAGGLER_OTHERS_MAX], sum = 0;

	(void)state;
	/* Of rank 3 the late process is the last member. The others are ranks 0 and 1. */
	members[6] = members[RANKS];
	assert_int_equal(choose(profile, 7, 6, group, 3, chosen), 3);
	for (uint32_t i = 1; i < 3; i++)
		sum += 1u << chosen[i];
	assert_int_equal(sum, 1u << 0 | 1u << 1);
	profile_destroy(profile);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(of_many_ranks_each_place_is_compared),
		TEST(the_group_and_the_ranks_other_processes_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
