/* A tree leads each stack to its own record, whatever the others are. Stacks are made up, and lie in memory of the
 * test. */
#include "inject/launch/known_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define PAGE       4096u
#define PAGES      8u
#define STACKS     2000u
#define UNITS_EACH 24u /* of one record */
#define FUNCTIONS  9u
#define DEPTH_MIN  4u
#define DEPTH_MAX  50u
#define START      512u /* bytes from the memory's begin to the first stack pointer */

struct fixture {
	struct known_tree tree;
	char *records;  /* owns */
	uint8_t *stack; /* owns */
	uint64_t random;
	struct unwind_start start;
	struct walk_reads reads; /* of the present stack */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->records =
		aligned_alloc(KNOWN_RECORD_UNIT, (STACKS + 1) * UNITS_EACH * KNOWN_RECORD_UNIT);
	fixture->stack = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fixture->start.pc = 1;
	fixture->start.sp = (uint64_t)(uintptr_t)fixture->stack + START;
	*state = fixture;
	return fixture->records && fixture->stack != MAP_FAILED ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	munmap(fixture->stack, PAGES * PAGE);
	free(fixture->records);
	free(fixture);
	return 0;
}

static uint32_t below(struct fixture *fixture, uint32_t limit)
{
	fixture->random ^= fixture->random << 13;
	fixture->random ^= fixture->random >> 7;
	fixture->random ^= fixture->random << 17;
	return (uint32_t)(fixture->random >> 32) % limit;
}

static struct known_tree_stack stack_of(struct fixture *fixture, uint64_t hash)
{
	return (struct known_tree_stack){hash, &fixture->start,
					 (uint64_t)(uintptr_t)fixture->stack + PAGES * PAGE};
}

static void put(struct fixture *fixture, uint32_t at, uint64_t value)
{
	memcpy((void *)(uintptr_t)(fixture->start.sp + at), &value, sizeof(value));
}

static void add_read(struct fixture *fixture, uint32_t at, bool is_place, uint64_t value)
{
	struct walk_reads *reads = &fixture->reads;

	reads->reads[reads->nr++] =
		(struct walk_read){.at = at, .is_place = is_place, .value = value};
	reads->reach = at + (uint32_t)sizeof(value);
	put(fixture, at, is_place ? fixture->start.sp + value : value);
}

static void begin(struct fixture *fixture)
{
	fixture->reads.pc = 1;
	fixture->reads.nr = fixture->reads.reach = 0;
	fixture->reads.fp_distance = WALK_RECORD_FP_ANY;
}

/* Makes the stack of this number, with any values in all other words. The function says how large a frame is, but for
 * one, whose caller is found by its frame pointer. The frame that it called has saved that. */
static void make_stack(struct fixture *fixture, uint32_t number)
{
	uint32_t at = 0, size = 32, function, depth;

	fixture->random = (number + 1) * 0x9e3779b97f4a7c15u;
	for (uint32_t i = 0; i < PAGES * PAGE - START; i += 8)
		put(fixture, i, fixture->start.sp + below(fixture, PAGE));
	depth = DEPTH_MIN + below(fixture, DEPTH_MAX - DEPTH_MIN);
	begin(fixture);
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t caller = at + size, caller_size;

		function = i < 3 ? i % 2 : below(fixture, FUNCTIONS);
		caller_size = 16 + function * 40 % 208;
		if (function == FUNCTIONS - 1) {
			caller_size = 32 + 8 * below(fixture, 3);
			add_read(fixture, at, true, caller + caller_size - 16);
		}
		add_read(fixture, caller - 8, false,
			 0x400000 + function * 64 + 5 * below(fixture, 2));
		at = caller;
		size = caller_size;
	}
	add_read(fixture, at + size - 8, false, 0);
}

static struct known_record *write_record(struct fixture *fixture, uint32_t number)
{
	struct known_record *record = known_record_at(fixture->records, number);

	*record = (struct known_record){.stack_id = number};
	walk_record_head(&record->walk, &fixture->reads);
	assert_true(sizeof(*record) + walk_record_bytes(&record->walk) <=
		    UNITS_EACH * KNOWN_RECORD_UNIT);
	walk_record_write(&record->walk, &fixture->reads);
	return record;
}

static uint32_t find(struct fixture *fixture, uint64_t hash)
{
	struct known_tree_stack stack = stack_of(fixture, hash);

	return known_tree_find(&fixture->tree, fixture->records, &stack);
}

static bool enter(struct fixture *fixture, uint64_t hash, uint32_t number)
{
	struct known_tree_stack stack = stack_of(fixture, hash);

	return known_tree_enter(&fixture->tree, fixture->records, number, &stack);
}

static bool holds(struct fixture *fixture, uint32_t number)
{
	return number && walk_record_holds(&known_record_at(fixture->records, number)->walk,
					   &fixture->start, stack_of(fixture, 0).high, 0);
}

static void each_stack_is_led_to_its_record(void **state)
{
	struct fixture *fixture = *state;
	uint32_t entered = 0, steps = 0;

	for (uint32_t i = 0; i < STACKS; i++) {
		make_stack(fixture, i);
		if (holds(fixture, find(fixture, 7)))
			continue; /* a stack with these words came before */
		write_record(fixture, 1 + i * UNITS_EACH);
		assert_true(enter(fixture, 7, 1 + i * UNITS_EACH));
		entered++;
		assert_int_equal(find(fixture, 7), 1 + i * UNITS_EACH);
	}
	assert_true(entered > STACKS * 3 / 4);
	assert_int_equal(fixture->tree.nr_nodes, entered - 1);
	for (uint32_t i = 0; i < STACKS; i++) {
		make_stack(fixture, i);
		steps += holds(fixture, find(fixture, 7));
	}
	assert_int_equal(steps, STACKS);
	assert_int_equal(find(fixture, 8), 0);
}

/* As on a fiber whose stack is shorter than that of the records, with nothing mapped above it. */
static void pages_above_a_difference_are_not_read(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < 2; i++) {
		begin(fixture);
		add_read(fixture, 8, false, 5);
		add_read(fixture, 40, true, 640);
		add_read(fixture, 64 + PAGE, false, 6);
		add_read(fixture, 64 + 2 * PAGE, false, 7 + i);
		write_record(fixture, 1 + i * UNITS_EACH);
		assert_true(enter(fixture, 7, 1 + i * UNITS_EACH));
	}
	put(fixture, 64 + 2 * PAGE, 7);
	assert_int_equal(find(fixture, 7), 1);
	assert_int_equal(mprotect(fixture->stack + 2 * PAGE, PAGE, PROT_NONE), 0);
	put(fixture, 64 + PAGE, 9);
	assert_int_equal(find(fixture, 7), 0);
	assert_int_equal(mprotect(fixture->stack + PAGE, PAGE, PROT_NONE), 0);
	put(fixture, 40, fixture->start.sp + 648);
	assert_int_equal(find(fixture, 7), 0);
	put(fixture, 8, 4);
	assert_int_equal(find(fixture, 7), 0);
}

static void words_above_the_end_of_the_stack_are_not_read(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < 2; i++) {
		begin(fixture);
		add_read(fixture, 8, false, 5);
		add_read(fixture, PAGE - START + 64, false, 7 + i);
		write_record(fixture, 1 + i * UNITS_EACH);
		assert_true(enter(fixture, 7, 1 + i * UNITS_EACH));
	}
	assert_int_equal(find(fixture, 7), 1 + UNITS_EACH);
	assert_int_equal(mprotect(fixture->stack + PAGE, PAGE, PROT_NONE), 0);
	for (uint64_t end = 0; end <= PAGE - START; end += 8) {
		struct known_tree_stack stack = stack_of(fixture, 7);

		stack.high = fixture->start.sp + end;
		assert_int_equal(known_tree_find(&fixture->tree, fixture->records, &stack), 0);
	}
	fixture->start.sp++;
	assert_int_equal(find(fixture, 7), 0);
}

/* A frame pointer that only one of two stacks depends on does not hide the other. */
static void places_further_up_do_not_matter(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < 2; i++) {
		begin(fixture);
		add_read(fixture, 8, false, 5);
		if (i == 0)
			add_read(fixture, 16, true, 3 * PAGE);
		add_read(fixture, 64 + PAGE, false, 6 + i);
		write_record(fixture, 1 + i * UNITS_EACH);
		assert_true(enter(fixture, 7, 1 + i * UNITS_EACH));
	}
	for (uint64_t any = 0; any < 100; any++) {
		put(fixture, 16, any);
		assert_int_equal(find(fixture, 7), 1 + UNITS_EACH);
	}
}

/* The first frame of both is left by the frame pointer. */
static void frame_pointer_of_the_start_counts(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 2; i++) {
			begin(fixture);
			fixture->reads.fp_distance = (int32_t)(32 + i * 16);
			fixture->start.fp = fixture->start.sp + 32 + i * 16;
			add_read(fixture, 40 + i * 16, false, 5);
			if (round == 0) {
				write_record(fixture, 1 + i * UNITS_EACH);
				assert_true(enter(fixture, 7, 1 + i * UNITS_EACH));
			}
			assert_int_equal(find(fixture, 7), 1 + i * UNITS_EACH);
		}
	}
}

static void records_that_read_the_same_stand_in_a_row(void **state)
{
	struct fixture *fixture = *state;
	uint32_t nr = 0;

	make_stack(fixture, 1);
	for (uint32_t i = 0; i < KNOWN_TREE_ROW; i++) {
		write_record(fixture, 1 + i * UNITS_EACH);
		assert_true(enter(fixture, 7, 1 + i * UNITS_EACH));
	}
	for (uint32_t at = find(fixture, 7); at; at = known_record_at(fixture->records, at)->older)
		assert_int_equal(at, 1 + (KNOWN_TREE_ROW - ++nr) * UNITS_EACH);
	assert_int_equal(nr, KNOWN_TREE_ROW);
	/* A full row begins anew. */
	write_record(fixture, 1 + KNOWN_TREE_ROW * UNITS_EACH);
	assert_true(enter(fixture, 7, 1 + KNOWN_TREE_ROW * UNITS_EACH));
	assert_int_equal(find(fixture, 7), 1 + KNOWN_TREE_ROW * UNITS_EACH);
	assert_int_equal(known_record_at(fixture->records, 1 + KNOWN_TREE_ROW * UNITS_EACH)->older,
			 0);
	assert_int_equal(fixture->tree.nr_nodes, 0);
}

static void nodes_are_bounded(void **state)
{
	struct fixture *fixture = *state;

	make_stack(fixture, 1);
	write_record(fixture, 1);
	assert_true(enter(fixture, 7, 1));
	make_stack(fixture, 2);
	write_record(fixture, 1 + UNITS_EACH);
	fixture->tree.nr_nodes = KNOWN_TREE_NODES;
	assert_false(enter(fixture, 7, 1 + UNITS_EACH));
	assert_true(enter(fixture, 8, 1 + UNITS_EACH));
	assert_int_equal(find(fixture, 7), 1);
	assert_int_equal(find(fixture, 8), 1 + UNITS_EACH);
}

static void hashes_without_room_give_way(void **state)
{
	struct fixture *fixture = *state;
	uint32_t found = 0, last = 4 * KNOWN_TREE_WAYS;

	for (uint32_t i = 1; i <= last; i++) {
		make_stack(fixture, i);
		write_record(fixture, 1 + i * UNITS_EACH);
		assert_true(enter(fixture, i, 1 + i * UNITS_EACH));
		assert_int_equal(find(fixture, i), 1 + i * UNITS_EACH);
	}
	for (uint32_t i = 1; i <= last; i++) {
		uint32_t number = find(fixture, i);

		assert_true(number == 0 || number == 1 + i * UNITS_EACH);
		found += number != 0;
	}
	assert_int_equal(found, 2 * KNOWN_TREE_WAYS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_stack_is_led_to_its_record),
		TEST(pages_above_a_difference_are_not_read),
		TEST(words_above_the_end_of_the_stack_are_not_read),
		TEST(places_further_up_do_not_matter),
		TEST(frame_pointer_of_the_start_counts),
		TEST(records_that_read_the_same_stand_in_a_row),
		TEST(nodes_are_bounded),
		TEST(hashes_without_room_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
