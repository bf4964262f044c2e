#include "inject/capture/memory_budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/cupti/buffer_pool.h"
#include "inject/launch/launch_thread.h"

#define MIB   (1ull << 20)
#define GIB   (1ull << 30)
#define FLOOR (28 * MIB)

static const struct memory_limits unlimited = {
	.cgroup = MEMORY_LIMIT_NONE,
	.machine = MEMORY_LIMIT_NONE,
	.address_space = MEMORY_LIMIT_NONE,
	.file = MEMORY_LIMIT_NONE,
	.ranks = 1,
};

static uint64_t sum(const struct memory_budget *budget)
{
	return record_ring_bytes(&budget->ring) +
	       (uint64_t)budget->nr_buffers * budget->buffer_bytes +
	       budget->ring.launch_lanes * sizeof(struct launch_thread) + budget->table_bytes +
	       budget->name_bytes;
}

static void without_limits_all_is_as_large_as_it_may_be(void **state)
{
	const struct record_ring_sizes full = RECORD_RING_SIZES_DEFAULT;
	struct memory_budget budget;

	(void)state;
	memory_budget_make(&unlimited, &budget);
	assert_memory_equal(&budget.ring, &full, sizeof(full));
	assert_int_equal(budget.nr_buffers, BUFFER_POOL_MAX);
	assert_int_equal(budget.buffer_bytes, BUFFER_POOL_BYTES);
	assert_int_equal(budget.limit, MEMORY_BUDGET_UNLIMITED);
	assert_int_equal(budget.bound, sum(&budget) + MEMORY_BUDGET_FIXED);
}

/* From a tiny cgroup to one that is no limit: each budget is within its share or the floor, and never shrinks. */
static void more_memory_is_never_a_smaller_budget(void **state)
{
	struct memory_budget budget;
	uint64_t before = 0;

	(void)state;
	for (uint64_t limit = MIB; limit <= 64 * GIB; limit += limit / 4) {
		struct memory_limits limits = unlimited;

		limits.cgroup = limit;
		memory_budget_make(&limits, &budget);
		assert_true(record_ring_bytes(&budget.ring) > 0);
		assert_int_equal(budget.bound, sum(&budget) + MEMORY_BUDGET_FIXED);
		assert_true(sum(&budget) <= limit / 8 || sum(&budget) <= FLOOR);
		assert_true(budget.bound >= before);
		assert_true(budget.ring.launch_lanes >= 128);
		assert_int_equal(budget.nr_buffers % BUFFER_POOL_MIN, 0);
		before = budget.bound;
	}
	assert_int_equal(budget.limit, MEMORY_BUDGET_UNLIMITED);
}

static void each_limit_shrinks_the_budget_and_is_named(void **state)
{
	const struct {
		struct memory_limits limits;
		enum memory_budget_limit limit;
		uint64_t most; /* of the sum */
		const char *text;
	} cases[] = {
		{{200 * MIB, 64 * GIB, MEMORY_LIMIT_NONE, 0, MEMORY_LIMIT_NONE, 1},
		 MEMORY_BUDGET_CGROUP,
		 FLOOR,
		 "at most 60 MiB, because the cgroup's memory limit is 200 MiB"},
		{{MEMORY_LIMIT_NONE, 4 * GIB, MEMORY_LIMIT_NONE, 0, MEMORY_LIMIT_NONE, 1},
		 MEMORY_BUDGET_MACHINE,
		 GIB,
		 "because the machine's memory is 4096 MiB"},
		{{MEMORY_LIMIT_NONE, 64 * GIB, 1400 * MIB, 200 * MIB, MEMORY_LIMIT_NONE, 1},
		 MEMORY_BUDGET_ADDRESS_SPACE,
		 600 * MIB,
		 "because the limit on address space (ulimit -v) is 1400 MiB"},
		{{MEMORY_LIMIT_NONE, 64 * GIB, MEMORY_LIMIT_NONE, 0, 40 * MIB, 1},
		 MEMORY_BUDGET_FILE,
		 UINT64_MAX,
		 "because the limit on file sizes (ulimit -f) is 40 MiB"},
		/* Eight ranks share the eighth. */
		{{32 * GIB, MEMORY_LIMIT_NONE, MEMORY_LIMIT_NONE, 0, MEMORY_LIMIT_NONE, 8},
		 MEMORY_BUDGET_CGROUP,
		 512 * MIB,
		 "because the cgroup's memory limit is 32768 MiB"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct memory_budget budget;
		char text[MEMORY_BUDGET_TEXT_MAX];

		memory_budget_make(&cases[i].limits, &budget);
		memory_budget_text(&budget, &cases[i].limits, text);
		assert_int_equal(budget.limit, cases[i].limit);
		assert_true(sum(&budget) <= cases[i].most);
		assert_true(record_ring_bytes(&budget.ring) <= cases[i].limits.file);
		assert_non_null(strstr(text, cases[i].text));
	}
}

static void lack_of_memory_names_the_limit_and_its_value(void **state)
{
	struct memory_limits limits = unlimited;
	char text[MEMORY_BUDGET_TEXT_MAX];

	(void)state;
	limits.address_space = 80000ull << 10;
	limits.address_space_used = 60000ull << 10;
	memory_budget_lack(&limits, text);
	assert_non_null(strstr(text, "80000 KiB (ulimit -v); 60000 KiB were in use"));
	memory_budget_lack(&unlimited, text);
	assert_string_equal(text, "the kernel gives none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_limits_all_is_as_large_as_it_may_be),
		cmocka_unit_test(more_memory_is_never_a_smaller_budget),
		cmocka_unit_test(each_limit_shrinks_the_budget_and_is_named),
		cmocka_unit_test(lack_of_memory_names_the_limit_and_its_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
