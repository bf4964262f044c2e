/* Stacks of many shapes that are recognised have the ids that walks give. */
#include "inject/launch/known_stacks.h"

#include "tests/support/cmocka_test.h"

#include <pthread.h>

#include "known_fixture.h"

#define CAPTURES 15000u
#define THREADS  3u
#define MANY     1000u
#define DEPTH    KNOWN_FIXTURE_DEPTH
#define KEEP()   __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline))

/* ---- stacks of many shapes */

static void *capture_many(void *user)
{
	struct captor *captor = user;

	while (captor->captures < CAPTURES) {
		/* Stacks come again in runs, as in a loop of a program. */
		uint64_t random = captor->random;

		for (uint32_t i = 0; i < 3; i++) {
			captor->random = random;
			if (captor_below(captor, 3))
				captor_descend(captor, 1 + captor_below(captor, DEPTH));
			else
				captor_enter_python(captor, 1 + captor_below(captor, DEPTH));
			KEEP();
		}
	}
	return NULL;
}

static void capture_in_threads(struct known_fixture *fixture, uint32_t hits)
{
	struct captor *captors[THREADS];
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		captors[i] = captor_create(fixture, i);
		assert_int_equal(pthread_create(&threads[i], NULL, capture_many, captors[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(captors[i]->differ, 0);
		assert_true(captors[i]->known.known.hits > hits);
		assert_int_equal(captors[i]->walk.known.hits, 0);
		captor_destroy(captors[i]);
	}
}

static void recognised_stacks_have_the_ids_of_walked_ones(void **state)
{
	struct known_fixture *fixture = *state;

	capture_in_threads(fixture, CAPTURES / 4);
}

static void stacks_of_all_frames_are_recognised_rightly(void **state)
{
	struct known_fixture *fixture = *state;

	fixture->recognises.options.mode = fixture->walks.options.mode = STACK_MODE_FULL;
	capture_in_threads(fixture, CAPTURES / 4);
}

static void stacks_of_python_alone_are_recognised_rightly(void **state)
{
	struct known_fixture *fixture = *state;

	fixture->recognises.options.mode = fixture->walks.options.mode = STACK_MODE_PYTHON;
	/* Nearly all of these stacks are new, so that looking for them pauses. */
	capture_in_threads(fixture, CAPTURES / 64);
}

/* ---- many stacks at one stack pointer */

/* The outermost frames choose the place that they call from. Frames of some bytes make the stack several pages. */
static NOINLINE void path(struct captor *captor, uint32_t places, uint32_t depth)
{
	volatile char room[200];

	__asm__ volatile("" ::"r"(room) : "memory");
	if (depth == 0) {
		captor_look(captor);
	} else if (places & 1) {
		path(captor, places >> 1, depth - 1);
		__asm__ volatile("nop"); /* or the compiler would make one place of both */
	} else {
		path(captor, places >> 1, depth - 1);
		KEEP();
	}
	KEEP();
}

static void many_stacks_at_one_stack_pointer_are_recognised(void **state)
{
	static const uint32_t depths[] = {11, 24, 36};
	struct captor *captor = captor_create(*state, 0);

	/* From one place, and one set of stacks after the other. */
	for (volatile uint32_t i = 0; i < 3 * 3 * MANY; i++) {
		uint32_t depth = depths[i / (3 * MANY)];

		if (i % (3 * MANY) == 0)
			known_stacks_clear(&captor->known.known);
		path(captor, i % MANY * 7919 % MANY, depth);
		if (i % (3 * MANY) == 3 * MANY - 1) {
			assert_int_equal(captor->known.known.nr_records, MANY);
			assert_int_equal(captor->known.known.hits, MANY);
		}
	}
	assert_int_equal(captor->differ, 0);
	captor_destroy(captor);
}

static void truncated_stacks_are_recognised_rightly(void **state)
{
	struct known_fixture *fixture = *state;

	for (uint32_t depth = 4; depth < DEPTH; depth += 3) {
		fixture->recognises.options.native_depth = depth;
		fixture->walks.options.native_depth = depth;
		fixture->recognises.options.python_depth = depth / 2;
		fixture->walks.options.python_depth = depth / 2;
		capture_in_threads(fixture, CAPTURES / 8);
	}
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, known_fixture_set_up, known_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(recognised_stacks_have_the_ids_of_walked_ones),
		TEST(stacks_of_all_frames_are_recognised_rightly),
		TEST(stacks_of_python_alone_are_recognised_rightly),
		TEST(many_stacks_at_one_stack_pointer_are_recognised),
		TEST(truncated_stacks_are_recognised_rightly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
