/* A walk that follows the last one's trail sees what a walk without one sees. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "loaded_segments.h"
#include "record_check.h"
#include "unwind/stack_bounds.h"
#include "unwind/unwind.h"
#include "unwind/unwind_table.h"

#define MAX      128u
#define DEPTH    24u
#define WALKS    60000u
#define THREADS  4u
#define KEEP()   __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline, noclone))

static struct unwind_tables *tables;

struct walker {
	struct unwind_cache *with, *without;
	uint64_t high, random;
	const struct unwind_stops *stops;
	uint32_t walks, differ, followed;
	struct record_check *records;
};

/* What the calls go through: each changes one thing between two walks. */
static void descend(struct walker *walker, uint32_t depth);

static uint32_t random_below(struct walker *walker, uint32_t limit)
{
	walker->random ^= walker->random << 13;
	walker->random ^= walker->random >> 7;
	walker->random ^= walker->random << 17;
	return (uint32_t)(walker->random >> 32) % limit;
}

static NOINLINE void compare(struct walker *walker)
{
	uint64_t with[MAX], without[MAX];
	enum unwind_end with_end, without_end;
	const struct unwind_start start = UNWIND_START_HERE();
	uint32_t max = random_below(walker, 8) ? MAX : 1 + random_below(walker, DEPTH + 4);

	walker->without->trail.nr = 0;
	uint32_t nr_with = unwind_walk(tables, walker->with, &start, walker->high, walker->stops,
				       with, max, &with_end);
	uint32_t nr_without = unwind_walk(tables, walker->without, &start, walker->high,
					  walker->stops, without, max, &without_end);
	if (nr_with != nr_without || with_end != without_end ||
	    memcmp(with, without, nr_with * sizeof(with[0])) != 0)
		walker->differ++;
	record_check_walk(walker->records, tables, walker->with, unwind_tables_epoch(tables),
			  &start, walker->high, with, nr_with, max, with_end);
	walker->followed += walker->with->trail.nr > walker->with->trail.nr_fresh;
	walker->walks++;
}

/* Three places to call from, so that a frame at the same address may return elsewhere. */
static NOINLINE void plain(struct walker *walker, uint32_t depth)
{
	switch (random_below(walker, 3)) {
	case 0:
		descend(walker, depth);
		break;
	case 1:
		descend(walker, depth);
		KEEP();
		break;
	default:
		descend(walker, depth);
		KEEP();
		compare(walker);
		break;
	}
	KEEP();
}

static NOINLINE void sized(struct walker *walker, uint32_t depth)
{
	volatile char *space = alloca(16 + 16 * random_below(walker, 3));

	space[0] = 1;
	descend(walker, depth);
	KEEP();
}

static NOINLINE void aligned(struct walker *walker, uint32_t depth)
{
	_Alignas(64) volatile char space[64];

	__asm__ volatile("" ::"r"(space) : "memory");
	descend(walker, depth);
	KEEP();
}

static NOINLINE void twice(struct walker *walker, uint32_t depth)
{
	descend(walker, depth);
	KEEP();
	descend(walker, depth < 3 ? depth : 3);
	KEEP();
}

static NOINLINE void descend(struct walker *walker, uint32_t depth)
{
	if (depth == 0 || walker->walks >= WALKS) {
		compare(walker);
		KEEP();
		return;
	}
	switch (random_below(walker, 7)) {
	case 0:
		sized(walker, depth - 1);
		break;
	case 1:
		aligned(walker, depth - 1);
		break;
	case 2:
		twice(walker, depth - 1);
		break;
	default:
		plain(walker, depth - 1);
		break;
	}
	KEEP();
}

static void *walk(void *user)
{
	struct walker *walker = user;
	static const struct unwind_stops nowhere = {.nr = 1, .ranges = {{1, 2}}};
	struct stack_bounds bounds = {0};

	walker->high = stack_bounds_high(&bounds, (uintptr_t)__builtin_frame_address(0), 1);
	while (walker->walks < WALKS) {
		walker->stops = random_below(walker, 16) ? NULL : &nowhere;
		for (uint32_t i = 0; i < 8; i++)
			descend(walker, 1 + random_below(walker, DEPTH));
	}
	return NULL;
}

static void walks_with_and_without_a_trail_are_equal(void **state)
{
	struct walker walkers[THREADS] = {{0}};
	pthread_t threads[THREADS];
	uint32_t walks = 0, followed = 0;
	uint64_t records = 0, held = 0;

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++) {
		walkers[i].with = calloc(1, sizeof(*walkers[i].with));
		walkers[i].without = calloc(1, sizeof(*walkers[i].without));
		walkers[i].records = calloc(1, sizeof(*walkers[i].records));
		walkers[i].random = 88172645463325252u + i;
		assert_int_equal(pthread_create(&threads[i], NULL, walk, &walkers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(walkers[i].differ, 0);
		assert_int_equal(walkers[i].records->disagreements, 0);
		records += walkers[i].records->records;
		held += walkers[i].records->held;
		walks += walkers[i].walks;
		followed += walkers[i].followed;
		free(walkers[i].with);
		free(walkers[i].without);
		free(walkers[i].records);
	}
	print_message("%u walks, %u of them on a trail; %lu records, which held %lu times\n", walks,
		      followed, records, held);
	assert_true(held > 0);
	assert_true(walks >= THREADS * WALKS);
	assert_true(followed > walks / 2);
}

static NOINLINE uint32_t walk_here(struct unwind_cache *cache, uint64_t high, uint64_t *frames,
				   enum unwind_end *end)
{
	const struct unwind_start start = UNWIND_START_HERE();

	return unwind_walk(tables, cache, &start, high, NULL, frames, MAX, end);
}

static void a_new_epoch_forgets_the_trail(void **state)
{
	struct unwind_cache *cache = calloc(1, sizeof(*cache));
	struct stack_bounds bounds = {0};
	uint64_t high = stack_bounds_high(&bounds, (uintptr_t)__builtin_frame_address(0), 1);
	uint64_t frames[MAX];
	enum unwind_end end = UNWIND_FULL;
	struct unwind_module library = {.start = 0x1000, .end = 0x2000};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		if (i == 2) {
			assert_int_equal(unwind_tables_add(tables, &library), 0);
			unwind_tables_retire(tables, library.start);
		}
		walk_here(cache, high, frames, &end);
		assert_int_equal(end, UNWIND_ROOT);
		/* Only the first walk of an epoch finds all of its way itself. */
		assert_int_equal(cache->trail.nr_fresh == cache->trail.nr, i % 2 == 0);
	}
	free(cache);
}

static int set_up_all(void **state)
{
	(void)state;
	tables = unwind_tables_create(UNWIND_BYTES_MAX);
	assert_non_null(tables);
	loaded_segments_enter(tables);
	return unwind_tables_build(tables, UNWIND_BUILD_ALL) > 0 ? 0 : -1;
}

static int tear_down_all(void **state)
{
	(void)state;
	unwind_tables_destroy(tables);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_with_and_without_a_trail_are_equal),
		cmocka_unit_test(a_new_epoch_forgets_the_trail),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
