/* The latest launches of a process: which are found, which have gone, and what is told of either. */
#include "tests/support/cmocka_test.h"

#include <errno.h>

#include "timeline/slice/recent_launches.h"

#define ROOM ((size_t)64 << 20)

struct fixture {
	struct recent_launches launches;
	size_t room_bytes;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){.room_bytes = ROOM};
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	recent_launches_fini(&f->launches);
	return 0;
}

static void add(struct fixture *f, uint32_t id, uint64_t time_ns, uint16_t flags)
{
	const struct timeline_launch launch = {.time_ns = time_ns,
					       .correlation_id = id,
					       .window = 1,
					       .tid = id % 1000,
					       .flags = flags};

	assert_int_equal(recent_launches_add(&f->launches, &launch, &f->room_bytes), 0);
}

static struct timeline_work work_of(uint32_t id, uint8_t kind, uint64_t end_ns)
{
	return (struct timeline_work){
		.end_ns = end_ns, .correlation_id = id, .window = 1, .kind = kind};
}

/* Returns when the launch was that the work finds; 0: it finds none. */
static uint64_t find(struct fixture *f, uint32_t id, uint8_t kind, uint64_t end_ns)
{
	const struct timeline_work work = work_of(id, kind, end_ns);
	const struct recent_launch *launch = recent_launches_find(&f->launches, &work);

	return launch ? launch->time_ns : 0;
}

static bool lacks_surely(struct fixture *f, uint32_t id, uint8_t kind)
{
	const struct timeline_work work = work_of(id, kind, 0);
	bool is_sure;

	assert_int_equal(recent_launches_lacks(&f->launches, &work, &f->room_bytes, &is_sure), 0);
	return is_sure;
}

static void work_finds_the_launch_of_its_window_and_id(void **state)
{
	struct fixture *f = *state;
	struct timeline_work work = work_of(7, RECORD_GPU_KERNEL, 100);

	assert_int_equal(find(f, 7, RECORD_GPU_KERNEL, 100), 0);
	add(f, 7, 50, 0);
	assert_int_equal(find(f, 7, RECORD_GPU_KERNEL, 100), 50);
	assert_int_equal(find(f, 7, RECORD_GPU_KERNEL, 200), 50);
	assert_int_equal(find(f, 8, RECORD_GPU_KERNEL, 100), 0);
	work.window = 2;
	assert_null(recent_launches_find(&f->launches, &work));
	assert_false(f->launches.is_odd);
}

static void a_call_is_found_by_waits_alone(void **state)
{
	struct fixture *f = *state;

	add(f, 7, 50, RECORD_LAUNCH_HOST);
	assert_int_equal(find(f, 7, RECORD_GPU_KERNEL, 100), 0);
	assert_int_equal(find(f, 7, RECORD_GPU_SYNC, 100), 50);
}

static void a_wait_is_of_the_last_one_before_its_end(void **state)
{
	struct fixture *f = *state;

	add(f, 7, 50, 0);
	add(f, 7, 60, RECORD_LAUNCH_HOST);
	assert_int_equal(find(f, 7, RECORD_GPU_SYNC, 100), 60);
	assert_int_equal(find(f, 7, RECORD_GPU_SYNC, 55), 50);
	assert_int_equal(find(f, 7, RECORD_GPU_SYNC, 40), 50);
	assert_false(f->launches.is_odd);
}

static void what_a_list_may_find_otherwise_is_odd(void **state)
{
	struct fixture *f = *state;

	add(f, 7, 50, 0);
	add(f, 7, 51, 0);
	assert_true(f->launches.is_odd);
	f->launches.is_odd = false;
	add(f, 8, 50, 0);
	assert_int_equal(find(f, 8, RECORD_GPU_KERNEL, 100), 50);
	add(f, 8, 60, RECORD_LAUNCH_HOST);
	assert_true(f->launches.is_odd);
	f->launches.is_odd = false;
	add(f, 9, 50, 0);
	add(f, 9, 50, RECORD_LAUNCH_HOST);
	assert_int_equal(find(f, 9, RECORD_GPU_SYNC, 100), 50);
	assert_true(f->launches.is_odd);
	f->launches.is_odd = false;
	add(f, 10, 150, 0);
	add(f, 10, 120, RECORD_LAUNCH_HOST);
	assert_int_equal(find(f, 10, RECORD_GPU_KERNEL, 100), 150);
	assert_true(f->launches.is_odd);
}

/* However many wait, each has a place; a launch whose work came leaves its place to the next one. */
static void launches_that_wait_for_work_stay(void **state)
{
	struct fixture *f = *state;

	for (uint32_t id = 1; id <= 10000; id++)
		add(f, id, id, 0);
	for (uint32_t id = 1; id <= 10000; id++)
		assert_int_equal(find(f, id, RECORD_GPU_KERNEL, 20000), id);
	assert_in_range(f->launches.nr_places, 10000, 16384);
	for (uint32_t id = 10001; id <= 100000; id++) {
		add(f, id, id, 0);
		assert_int_equal(find(f, id, RECORD_GPU_KERNEL, 200000), id);
	}
	assert_in_range(f->launches.nr_places, 10000, 16384);
	assert_int_equal(find(f, 1, RECORD_GPU_KERNEL, 200000), 0);
}

/* After ten seconds another one may have the place of a launch without work. */
static void launches_do_not_wait_forever(void **state)
{
	struct fixture *f = *state;

	for (uint32_t id = 1; id <= 10000; id++)
		add(f, id, id * UINT64_C(1000000000), 0);
	assert_in_range(f->launches.nr_places, 1, 256);
}

static void work_surely_lacks_a_launch_that_has_not_gone(void **state)
{
	struct fixture *f = *state;

	for (uint32_t id = 1; id <= 10000; id++)
		if (id % 7) {
			add(f, id, id, id % 2 ? 0 : RECORD_LAUNCH_HOST);
			find(f, id, RECORD_GPU_SYNC, 20000);
		}
	for (uint32_t id = 1; id <= 9000; id++) {
		assert_int_equal(lacks_surely(f, id, RECORD_GPU_KERNEL),
				 id % 7 == 0 || id % 2 == 0);
		assert_int_equal(lacks_surely(f, id, RECORD_GPU_SYNC), id % 7 == 0);
	}
	assert_true(lacks_surely(f, 7000000, RECORD_GPU_KERNEL));
}

static void a_launch_behind_work_that_lacked_it_is_late(void **state)
{
	struct fixture *f = *state;

	assert_true(lacks_surely(f, 7, RECORD_GPU_KERNEL));
	add(f, 8, 50, 0);
	assert_false(f->launches.is_late);
	add(f, 7, 50, 0);
	assert_true(f->launches.is_late);
}

/* Then any launch may have gone, or come late. */
static void without_room_nothing_is_sure(void **state)
{
	struct fixture *f = *state;

	add(f, 1, 1, 0);
	f->room_bytes = 0;
	for (uint32_t id = 2; id <= 1000; id++)
		add(f, id, id, 0);
	assert_int_equal(find(f, 1000, RECORD_GPU_KERNEL, 2000), 1000);
	assert_false(lacks_surely(f, 123456, RECORD_GPU_KERNEL));
	assert_false(f->launches.is_late);
	add(f, 1001, 1001, 0);
	assert_true(f->launches.is_late);
}

static void the_first_launch_needs_room(void **state)
{
	struct fixture *f = *state;
	const struct timeline_launch launch = {.time_ns = 1, .correlation_id = 1};

	f->room_bytes = 100;
	assert_int_equal(recent_launches_add(&f->launches, &launch, &f->room_bytes), -ENOMEM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_finds_the_launch_of_its_window_and_id),
		TEST(a_call_is_found_by_waits_alone),
		TEST(a_wait_is_of_the_last_one_before_its_end),
		TEST(what_a_list_may_find_otherwise_is_odd),
		TEST(launches_that_wait_for_work_stay),
		TEST(launches_do_not_wait_forever),
		TEST(work_surely_lacks_a_launch_that_has_not_gone),
		TEST(a_launch_behind_work_that_lacked_it_is_late),
		TEST(without_room_nothing_is_sure),
		TEST(the_first_launch_needs_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
