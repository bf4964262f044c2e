#include "inject/capture/guest_sizes.h"

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
	.data = MEMORY_LIMIT_NONE,
	.thread_stack = 8 * MIB,
	.ranks = 1,
};

static uint64_t sum(const struct guest_sizes *sizes)
{
	return record_ring_bytes(&sizes->ring) + (uint64_t)sizes->nr_buffers * sizes->buffer_bytes +
	       sizes->ring.launch_lanes * sizeof(struct launch_thread) + sizes->table_bytes +
	       sizes->name_bytes;
}

static void without_limits_all_is_as_large_as_it_may_be(void **state)
{
	const struct record_ring_sizes full = RECORD_RING_SIZES_DEFAULT;
	struct guest_sizes sizes;

	(void)state;
	guest_sizes_make(&unlimited, &sizes);
	assert_memory_equal(&sizes.ring, &full, sizeof(full));
	assert_int_equal(sizes.nr_buffers, BUFFER_POOL_MAX);
	assert_int_equal(sizes.buffer_bytes, BUFFER_POOL_BYTES);
	assert_int_equal(sizes.limit, GUEST_SIZES_UNLIMITED);
	assert_false(guest_sizes_are_tight(&sizes));
	assert_int_equal(sizes.bound, sum(&sizes) + GUEST_SIZES_FIXED);
}

/* From a tiny cgroup to one that is no limit: all sizes are within their share or at the floor, and never shrink. */
static void more_memory_is_never_a_smaller_budget(void **state)
{
	struct guest_sizes sizes;
	uint64_t before = 0;

	(void)state;
	for (uint64_t limit = MIB; limit <= 64 * GIB; limit += limit / 4) {
		struct memory_limits limits = unlimited;

		limits.cgroup = limit;
		guest_sizes_make(&limits, &sizes);
		assert_true(record_ring_bytes(&sizes.ring) > 0);
		assert_int_equal(sizes.bound, sum(&sizes) + GUEST_SIZES_FIXED);
		assert_true(sum(&sizes) <= limit / 8 || sum(&sizes) <= FLOOR);
		assert_true(sizes.bound >= before);
		assert_true(sizes.ring.launch_lanes >= 128);
		assert_int_equal(sizes.nr_buffers % BUFFER_POOL_MIN, 0);
		before = sizes.bound;
	}
	assert_int_equal(sizes.limit, GUEST_SIZES_UNLIMITED);
}

static void each_limit_shrinks_the_budget_and_is_named(void **state)
{
	const struct {
		struct memory_limits limits;
		enum guest_sizes_limit limit;
		uint64_t most; /* of the sum */
		bool is_tight;
		const char *text;
	} cases[] = {
		{{200 * MIB, 64 * GIB, MEMORY_LIMIT_NONE, 0, MEMORY_LIMIT_NONE, 8 * MIB, 1,
		  MEMORY_LIMIT_NONE},
		 GUEST_SIZES_CGROUP,
		 FLOOR,
		 true,
		 "at most 68 MiB, because the cgroup's memory limit is 200 MiB"},
		{{MEMORY_LIMIT_NONE, 4 * GIB, MEMORY_LIMIT_NONE, 0, MEMORY_LIMIT_NONE, 8 * MIB, 1,
		  MEMORY_LIMIT_NONE},
		 GUEST_SIZES_MACHINE,
		 GIB,
		 false,
		 "because the machine's memory is 4096 MiB"},
		{{MEMORY_LIMIT_NONE, 64 * GIB, 1700 * MIB, 200 * MIB, MEMORY_LIMIT_NONE, 8 * MIB, 1,
		  MEMORY_LIMIT_NONE},
		 GUEST_SIZES_ADDRESS_SPACE,
		 750 * MIB - GUEST_SIZES_FIXED - GUEST_SIZES_HEAP - 8 * MIB,
		 false,
		 "because the limit on address space (ulimit -v) is 1700 MiB"},
		{{MEMORY_LIMIT_NONE, 64 * GIB, MEMORY_LIMIT_NONE, 0, 40 * MIB, 8 * MIB, 1,
		  MEMORY_LIMIT_NONE},
		 GUEST_SIZES_FILE,
		 UINT64_MAX,
		 true,
		 "because the limit on file sizes (ulimit -f) is 40 MiB"},
		/* Eight ranks share the eighth. */
		{{32 * GIB, MEMORY_LIMIT_NONE, MEMORY_LIMIT_NONE, 0, MEMORY_LIMIT_NONE, 8 * MIB, 8,
		  MEMORY_LIMIT_NONE},
		 GUEST_SIZES_CGROUP,
		 512 * MIB,
		 false,
		 "because the cgroup's memory limit is 32768 MiB"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct guest_sizes sizes;
		char text[GUEST_SIZES_TEXT_MAX];

		guest_sizes_make(&cases[i].limits, &sizes);
		guest_sizes_text(&sizes, &cases[i].limits, text);
		assert_int_equal(sizes.limit, cases[i].limit);
		assert_true(sum(&sizes) <= cases[i].most);
		assert_true(record_ring_bytes(&sizes.ring) <= cases[i].limits.file);
		assert_int_equal(sizes.needed, 0);
		assert_non_null(strstr(text, cases[i].text));
		assert_int_equal(guest_sizes_are_tight(&sizes), cases[i].is_tight);
	}
}

static bool is_tight(const struct memory_limits *limits, char text[static GUEST_SIZES_TEXT_MAX])
{
	struct guest_sizes sizes;

	guest_sizes_make(limits, &sizes);
	guest_sizes_text(&sizes, limits, text);
	return guest_sizes_are_tight(&sizes);
}

/* The limit that the text names is the least one that does. */
static void a_limit_that_loses_bursts_says_what_would_not(void **state)
{
	struct memory_limits limits[] = {
		{200 * MIB, 64 * GIB, MEMORY_LIMIT_NONE, 0, MEMORY_LIMIT_NONE, 8 * MIB, 1,
		 MEMORY_LIMIT_NONE},
		{400 * MIB, 64 * GIB, MEMORY_LIMIT_NONE, 0, MEMORY_LIMIT_NONE, 8 * MIB, 4,
		 MEMORY_LIMIT_NONE},
		{MEMORY_LIMIT_NONE, 64 * GIB, 450 * MIB, 10 * MIB, MEMORY_LIMIT_NONE, 8 * MIB, 1,
		 MEMORY_LIMIT_NONE},
		{MEMORY_LIMIT_NONE, 64 * GIB, MEMORY_LIMIT_NONE, 0, 40 * MIB, 8 * MIB, 1,
		 MEMORY_LIMIT_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		uint64_t *const fields[] = {&limits[i].cgroup, &limits[i].address_space,
					    &limits[i].file};
		uint64_t *limit = fields[i < 2 ? 0 : i - 1];
		char text[GUEST_SIZES_TEXT_MAX];

		assert_true(is_tight(&limits[i], text));
		const char *enough = strstr(text, "MiB; ");
		assert_non_null(enough);
		const uint64_t kib = strtoull(enough + strlen("MiB; "), NULL, 10);
		assert_non_null(strstr(enough, " KiB are enough"));
		*limit = kib << 10;
		assert_false(is_tight(&limits[i], text));
		assert_null(strstr(text, "enough"));
		*limit = (kib - 1) << 10;
		assert_true(is_tight(&limits[i], text));
	}
	/* Nobody can raise the machine's memory. */
	struct memory_limits small = {
		MEMORY_LIMIT_NONE, 128 * MIB, MEMORY_LIMIT_NONE, 0, MEMORY_LIMIT_NONE,
		8 * MIB,           1,         MEMORY_LIMIT_NONE};
	char text[GUEST_SIZES_TEXT_MAX];
	assert_true(is_tight(&small, text));
	assert_null(strstr(text, "enough"));
}

/* The program has half of the address space that is left, and CUPTI's thread has its part of the guest's half. */
static void least_sizes_that_exceed_a_limit_say_what_they_need(void **state)
{
	struct memory_limits limits = unlimited;
	struct guest_sizes sizes;

	(void)state;
	limits.address_space_used = 100 * MIB;
	for (limits.address_space = MIB; limits.address_space < 600 * MIB;
	     limits.address_space += MIB) {
		guest_sizes_make(&limits, &sizes);
		if (!sizes.needed)
			break;
		assert_int_equal(sizes.limit, GUEST_SIZES_ADDRESS_SPACE);
		assert_true(sizes.needed > limits.address_space);
	}
	assert_true(
		2 * (sizes.bound + sizes.table_bytes + GUEST_SIZES_HEAP + limits.thread_stack) <=
		limits.address_space - limits.address_space_used);
	limits.address_space -= MIB;
	guest_sizes_make(&limits, &sizes);
	assert_true(sizes.needed > limits.address_space);
	limits.address_space = sizes.needed;
	guest_sizes_make(&limits, &sizes);
	assert_int_equal(sizes.needed, 0);

	limits = unlimited;
	limits.file = 4096;
	guest_sizes_make(&limits, &sizes);
	assert_int_equal(sizes.limit, GUEST_SIZES_FILE);
	assert_int_equal(sizes.needed, record_ring_bytes(&sizes.ring));
	limits.file = sizes.needed;
	guest_sizes_make(&limits, &sizes);
	assert_int_equal(sizes.needed, 0);

	/* Past a share of memory the guest takes the least sizes. */
	limits = unlimited;
	limits.cgroup = MIB;
	guest_sizes_make(&limits, &sizes);
	assert_int_equal(sizes.needed, 0);
}

/* Whichever limit made the sizes: the program keeps its half. */
static void what_comes_on_top_is_within_the_guests_half(void **state)
{
	struct memory_limits limits = unlimited;
	uint32_t nr_left = 0, nr_not = 0;
	struct guest_sizes sizes;

	(void)state;
	guest_sizes_make(&limits, &sizes);
	assert_true(guest_sizes_leave(&sizes, &limits, 128 * MIB));
	limits.ranks = 4;
	limits.address_space_used = 300 * MIB;
	for (limits.cgroup = GIB; limits.cgroup <= 64 * GIB; limits.cgroup *= 2)
		for (limits.address_space = GIB; limits.address_space < 16 * GIB;
		     limits.address_space += 50 * MIB) {
			guest_sizes_make(&limits, &sizes);
			bool fits =
				2 * (sizes.bound + sizes.table_bytes + sizes.table_bytes / 32 +
				     MIB + GUEST_SIZES_HEAP + limits.thread_stack + 128 * MIB) <=
				limits.address_space - limits.address_space_used;
			assert_int_equal(guest_sizes_leave(&sizes, &limits, 128 * MIB), fits);
			nr_left += fits;
			nr_not += !fits && sizes.limit == GUEST_SIZES_CGROUP;
		}
	assert_true(nr_left > 0 && nr_not > 0);
}

static void lack_of_memory_names_the_limit_and_its_value(void **state)
{
	struct memory_limits limits = unlimited;
	char text[GUEST_SIZES_TEXT_MAX];

	(void)state;
	limits.address_space = 80000ull << 10;
	limits.address_space_used = 60000ull << 10;
	guest_sizes_lack(&limits, text);
	assert_non_null(strstr(text, "80000 KiB (ulimit -v), 60000 KiB were in use"));
	guest_sizes_lack(&unlimited, text);
	assert_string_equal(text, "the kernel gives none");
	limits.data = 60000ull << 10;
	guest_sizes_lack(&limits, text);
	assert_non_null(strstr(text, "the limit of data is 60000 KiB (ulimit -d)"));
	limits.data = 90000ull << 10;
	guest_sizes_lack(&limits, text);
	assert_non_null(strstr(text, "80000 KiB (ulimit -v)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_limits_all_is_as_large_as_it_may_be),
		cmocka_unit_test(more_memory_is_never_a_smaller_budget),
		cmocka_unit_test(each_limit_shrinks_the_budget_and_is_named),
		cmocka_unit_test(a_limit_that_loses_bursts_says_what_would_not),
		cmocka_unit_test(least_sizes_that_exceed_a_limit_say_what_they_need),
		cmocka_unit_test(what_comes_on_top_is_within_the_guests_half),
		cmocka_unit_test(lack_of_memory_names_the_limit_and_its_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
