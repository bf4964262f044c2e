#include "unwind/unwind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "unwind/eh_frame.h"
#include "unwind/unwind_table.h"
#include "loaded_segments.h"
#include "made_frames.h"

#define PAGE     4096u
#define LEVELS   12
#define MAX      128u
#define KEEP()   __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline))

/* A walk, and the stack that it saw. */
struct seen {
	struct unwind_start start;
	uint64_t high;
	const struct unwind_stops *stops;
	uint32_t max;
	uint64_t frames[MAX];
	uint32_t nr;
	enum unwind_end end;
};

static struct unwind_tables *tables;
static struct unwind_cache *cache;
static struct seen seen, before;
static uint64_t main_high; /* what the tests read of the main thread's stack */

static NOINLINE void look(void)
{
	seen.start = UNWIND_START_HERE();
	seen.nr = unwind_walk(tables, cache, &seen.start, seen.high, seen.stops, seen.frames,
			      seen.max, &seen.end);
	KEEP();
}

static NOINLINE void nest(int levels, void (*leaf)(void))
{
	if (levels)
		nest(levels - 1, leaf);
	else
		leaf();
	KEEP();
}

static int set_up_all(void **state)
{
	(void)state;
	cache = calloc(1, sizeof(*cache));
	tables = unwind_tables_create(UNWIND_BYTES_MAX);
	assert_non_null(tables);
	loaded_segments_enter(tables);
	assert_true(unwind_tables_build(tables, UNWIND_BUILD_ALL) > 0);
	return 0;
}

static int tear_down_all(void **state)
{
	(void)state;
	unwind_tables_destroy(tables);
	free(cache);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof(seen));
	seen.high = main_high;
	seen.max = MAX;
	return 0;
}

static void whole_stack_ends_at_the_root(void **state)
{
	(void)state;
	nest(LEVELS, look);
	assert_int_equal(seen.end, UNWIND_ROOT);
	assert_true(seen.nr > LEVELS + 3);
	assert_int_equal(seen.frames[0], seen.start.pc);
	for (int i = 2; i < LEVELS; i++)
		assert_int_equal(seen.frames[i], seen.frames[i + 1]);
}

static void most_frames_asked_for_is_most_that_come(void **state)
{
	uint32_t whole;

	(void)state;
	nest(LEVELS, look);
	whole = seen.nr;
	for (seen.max = 0; seen.max < whole; seen.max++) {
		nest(LEVELS, look);
		assert_int_equal(seen.nr, seen.max);
		assert_int_equal(seen.end, UNWIND_FULL);
	}
	nest(LEVELS, look);
	assert_int_equal(seen.nr, whole);
	assert_int_equal(seen.end, UNWIND_ROOT);
}

static NOINLINE void stopping(void)
{
	nest(3, look);
	KEEP();
}

static void walk_ends_with_the_first_frame_in_a_stop(void **state)
{
	struct unwind_stops stops = {.nr = 3};
	uint64_t address = (uint64_t)(uintptr_t)stopping;
	struct unwind_module own;

	(void)state;
	assert_true(loaded_segment_at((const void *)address, &own));
	assert_true(eh_frame_function(&own.image, own.eh_frame_hdr, own.eh_frame_hdr_size, address,
				      &stops.ranges[1].start, &stops.ranges[1].end));
	stops.ranges[0].start = 100, stops.ranges[0].end = 200;
	stops.ranges[2].start = UINT64_MAX - 10, stops.ranges[2].end = UINT64_MAX;
	seen.stops = &stops;
	stopping();
	assert_int_equal(seen.end, UNWIND_STOP);
	assert_int_equal(seen.nr, 5);
	assert_true(seen.frames[4] > address && seen.frames[4] <= stops.ranges[1].end);
	/* The call is not in it: another set, since a set stays as it is once a walk has had it. */
	struct unwind_stops before_it = stops, none = {.nr = 0};
	before_it.ranges[1].end = seen.frames[4] - 1;
	seen.stops = &before_it;
	stopping();
	assert_int_equal(seen.end, UNWIND_ROOT);
	seen.stops = &none;
	stopping();
	assert_int_equal(seen.end, UNWIND_ROOT);
}

static void nonsense_bounds_give_the_first_frame_alone(void **state)
{
	(void)state;
	look();
	struct unwind_start start = seen.start;
	const struct {
		uint64_t sp, high;
	} bad[] = {
		{start.sp, start.sp},      {start.sp, start.sp - 8}, {start.sp, 0},
		{start.sp + 4, main_high}, {UINT64_MAX, main_high},  {UINT64_MAX - 7, UINT64_MAX},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start.sp = bad[i].sp;
		assert_int_equal(unwind_walk(tables, cache, &start, bad[i].high, NULL, seen.frames,
					     MAX, &seen.end),
				 1);
		assert_int_equal(seen.end, UNWIND_NO_RULE);
	}
}

static struct unwind_tables *fresh;
static uint32_t fresh_rounds;

static NOINLINE void look_until_ready(void)
{
	const struct unwind_start start = UNWIND_START_HERE();
	struct unwind_cache *empty = calloc(1, sizeof(*empty));
	uint32_t last = 0;

	do {
		seen.nr = unwind_walk(fresh, empty, &start, main_high, NULL, seen.frames, MAX,
				      &seen.end);
		assert_true(seen.nr > last);
		last = seen.nr;
		fresh_rounds++;
	} while (seen.end == UNWIND_NOT_READY &&
		 unwind_tables_build(fresh, UNWIND_BUILD_WANTED) == 1);
	free(empty);
}

static void table_that_is_not_ready_ends_the_walk_and_is_wanted(void **state)
{
	(void)state;
	fresh = unwind_tables_create(UNWIND_BYTES_MAX);
	loaded_segments_enter(fresh);
	nest(LEVELS, look_until_ready);
	assert_int_equal(seen.end, UNWIND_ROOT);
	assert_true(fresh_rounds > 3); /* this program, the test library, the C library */
	unwind_tables_destroy(fresh);
}

static void rules_of_an_earlier_epoch_are_not_used(void **state)
{
	struct unwind_tables *own = unwind_tables_create(UNWIND_BYTES_MAX);
	static const uint8_t larger[] = {0x0e, 24};
	struct made_frames made[2];
	uint64_t stack[8] = {0}, frames[8];
	struct unwind_start start;
	enum unwind_end end;

	(void)state;
	for (int i = 0; i < 2; i++) {
		made_frames_init(&made[i]);
		made_frames_function(&made[i], 0, 4096, larger, i ? sizeof(larger) : 0);
		made_frames_finish(&made[i], MADE_SORTED);
		made[i].module.identity = (uint64_t)i;
		unwind_tables_add(own, &made[i].module);
	}
	unwind_tables_build(own, UNWIND_BUILD_ALL);
	start = (struct unwind_start){made[0].module.start + 9, (uint64_t)(uintptr_t)stack, 0};
	stack[0] = 0x1234567; /* by the first file's rule, then nothing */
	stack[2] = 0x7654321; /* by the second's */
	assert_int_equal(unwind_walk(own, cache, &start, (uint64_t)(uintptr_t)(stack + 8), NULL,
				     frames, 8, &end),
			 2);
	assert_int_equal(frames[1], 0x1234567);

	/* The second file takes the first one's place. */
	struct unwind_module moved = made[1].module;
	moved.start = made[0].module.start, moved.end = made[0].module.end;
	moved.eh_frame_hdr += made[0].module.start - made[1].module.start;
	moved.image = made[0].module.image;
	unwind_tables_add(own, &moved);
	assert_int_equal(unwind_walk(own, cache, &start, (uint64_t)(uintptr_t)(stack + 8), NULL,
				     frames, 8, &end),
			 2);
	assert_int_equal(frames[1], 0x7654321);
	made_frames_fini(&made[0]);
	made_frames_fini(&made[1]);
	unwind_tables_destroy(own);
}

static uint64_t stops_of_all(struct unwind_tables *of)
{
	uint64_t start, stops, sum = 0;

	for (uint32_t i = 0; unwind_tables_stops(of, i, &start, &stops); i++)
		sum += stops;
	return sum;
}

static void stop_for_want_of_a_rule_is_counted(void **state)
{
	struct unwind_tables *own = unwind_tables_create(UNWIND_BYTES_MAX);
	/* CFA by rbx; rbp in a register, then CFA by rbp */
	static const uint8_t by_rbx[] = {0x0c, 3, 16}, lost[] = {0x09, 6, 12},
			     by_rbp[] = {0x0c, 6, 16};
	uint64_t stack[8] = {0}, frames[8];
	struct made_frames made;
	enum unwind_end end;

	(void)state;
	made_frames_init(&made);
	made_frames_function(&made, 0, 16, by_rbx, sizeof(by_rbx));
	made_frames_function(&made, 16, 16, lost, sizeof(lost));
	made_frames_function(&made, 32, 16, by_rbp, sizeof(by_rbp));
	made_frames_finish(&made, MADE_SORTED);
	unwind_tables_add(own, &made.module);
	unwind_tables_build(own, UNWIND_BUILD_ALL);

	struct unwind_start start = {made.module.start + 1, (uint64_t)(uintptr_t)stack, 0};
	uint64_t high = (uint64_t)(uintptr_t)(stack + 8);
	assert_int_equal(unwind_walk(own, cache, &start, high, NULL, frames, 8, &end), 1);
	assert_int_equal(end, UNWIND_NO_RULE);
	assert_int_equal(stops_of_all(own), 1);

	start.pc = made.module.start + 20;
	stack[0] = made.module.start + 40;
	assert_int_equal(unwind_walk(own, cache, &start, high, NULL, frames, 8, &end), 2);
	assert_int_equal(stops_of_all(own), 2);

	start.pc =
		made.module.start + 40; /* rbp is known but leads nowhere: not the rules' fault */
	assert_int_equal(unwind_walk(own, cache, &start, high, NULL, frames, 8, &end), 1);
	assert_int_equal(end, UNWIND_NO_RULE);
	assert_int_equal(stops_of_all(own), 2);
	made_frames_fini(&made);
	unwind_tables_destroy(own);
}

/* ---- code in no file ---- */

typedef void calls_function(void (*function)(void));

static calls_function *make_code(const uint8_t *code, size_t size)
{
	uint8_t *memory =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	calls_function *function;

	assert_ptr_not_equal(memory, MAP_FAILED);
	memcpy(memory, code, size);
	mprotect(memory, PAGE, PROT_READ | PROT_EXEC);
	memcpy(&function, &memory, sizeof(function));
	return function;
}

static calls_function *inner_code;

static void look_through_inner(void)
{
	inner_code(look);
	KEEP();
}

/* What is seen through the code is the code, then what a direct look sees. */
static void check_looks_through(calls_function *code)
{
	for (int i = 0; i < 2; i++) {
		look();
		before = seen;
		code(look);
		assert_int_equal(seen.end, UNWIND_ROOT);
		assert_int_equal(seen.nr, before.nr + 1);
		assert_memory_equal(seen.frames + 2, before.frames + 1,
				    (before.nr - 1) * sizeof(seen.frames[0]));
		inner_code = code;
		code(look_through_inner);
		assert_int_equal(seen.end, UNWIND_ROOT);
		assert_int_equal(seen.nr, before.nr + 3);
	}
}

static void code_without_a_file_is_left_by_its_frame_pointer(void **state)
{
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	/* sub $1008,%rsp before the call, leave after it */
	static const uint8_t large[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0xf0,
					0x03, 0,    0,    0xff, 0xd7, 0xc9, 0xc3};

	(void)state;
	check_looks_through(make_code(code, sizeof(code)));
	check_looks_through(make_code(large, sizeof(large)));
}

static void interpreters_trampoline_is_known_by_its_code(void **state)
{
	static const uint8_t code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3};

	(void)state;
	check_looks_through(make_code(code, sizeof(code)));
}

/* push %rbp; sub $16,%rsp; a false frame pointer; call *%rdi; add $16,%rsp; pop %rbp; ret */
static void check_false_frame_pointer(const uint8_t *set, size_t size)
{
	static const uint8_t head[] = {0x55, 0x48, 0x83, 0xec, 16};
	static const uint8_t tail[] = {0xff, 0xd7, 0x48, 0x83, 0xc4, 16, 0x5d, 0xc3};
	uint8_t code[sizeof(head) + sizeof(tail) + 16];

	memcpy(code, head, sizeof(head));
	memcpy(code + sizeof(head), set, size);
	memcpy(code + sizeof(head) + size, tail, sizeof(tail));
	make_code(code, sizeof(head) + size + sizeof(tail))(look);
	assert_int_equal(seen.nr, 1);
	assert_int_equal(seen.end, UNWIND_NO_RULE);
}

static void code_without_a_file_and_frame_pointer_ends_the_walk(void **state)
{
	static const uint8_t zero[] = {0x31, 0xed}, below[] = {0x48, 0x8d, 0x6c, 0x24, 0xc0},
			     odd[] = {0x48, 0x8d, 0x6c, 0x24, 0x01},
			     itself[] = {0x48, 0x89, 0xe5, 0x48, 0x89, 0x65, 0};

	(void)state;
	check_false_frame_pointer(zero, sizeof(zero));
	check_false_frame_pointer(below, sizeof(below));
	check_false_frame_pointer(odd, sizeof(odd));
	check_false_frame_pointer(itself, sizeof(itself));
}

/* ---- another stack ---- */

static void on_signal(int number)
{
	(void)number;
	look();
	KEEP();
}

static void signal_on_another_stack_ends_with_the_interrupted_frame(void **state)
{
	stack_t other = {.ss_size = 64 * PAGE};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	struct unwind_module libc, own_libc;

	(void)state;
	other.ss_sp = mmap(NULL, other.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	assert_true(loaded_segment_at(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &own_libc));
	assert_int_equal(sigaltstack(&other, NULL), 0);
	sigaction(SIGUSR1, &action, NULL);
	seen.high = (uint64_t)(uintptr_t)other.ss_sp + other.ss_size;
	pthread_kill(pthread_self(), SIGUSR1);
	/* The handler (a sanitizer has its own around it), the return from it, and where the signal
	 * came. */
	assert_true(seen.nr >= 3);
	assert_int_equal(seen.end, UNWIND_NO_RULE);
	for (uint32_t i = seen.nr - 2; i < seen.nr; i++)
		assert_true(loaded_segment_at((const void *)seen.frames[i], &libc) &&
			    libc.start == own_libc.start);
}

/* ---- hostile stacks ---- */

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* The stack that was seen, between two pages that fault: flush with one or the other. */
struct copy {
	uint8_t *memory;
	uint64_t low, high, size, delta;
};

static uint64_t original[4096]; /* what the last look saw, as it was then */

static void copy_init(struct copy *copy)
{
	copy->size = seen.high - seen.start.sp;
	uint64_t room = (copy->size + PAGE - 1) / PAGE * PAGE;

	copy->memory = mmap(NULL, room + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(copy->memory, MAP_FAILED);
	assert_int_equal(mprotect(copy->memory + PAGE, room, PROT_READ | PROT_WRITE), 0);
	copy->low = (uint64_t)(uintptr_t)copy->memory + PAGE;
	copy->high = copy->low + room;
}

/* Words that point into the stack point into the copy. */
static void copy_fill(struct copy *copy, bool at_top)
{
	uint64_t to = at_top ? copy->high - copy->size : copy->low;

	copy->delta = to - seen.start.sp;
	for (uint64_t at = 0; at + 8 <= copy->size; at += 8) {
		uint64_t word = original[at / 8];

		if (word - seen.start.sp < copy->size)
			word += copy->delta;
		*(volatile uint64_t *)(to + at) = word;
	}
}

static uint32_t walk_copy(const struct copy *copy, struct unwind_start start, enum unwind_end *end)
{
	static uint64_t frames[MAX];

	start.sp += copy->delta;
	if (start.fp - seen.start.sp < copy->size)
		start.fp += copy->delta;
	return unwind_walk(tables, cache, &start, seen.high + copy->delta, NULL, frames, MAX, end);
}

__attribute__((no_sanitize("address"))) static NOINLINE void look_and_keep(void)
{
	look();
	assert_true(seen.high - seen.start.sp <= sizeof(original));
	for (uint64_t at = seen.start.sp; at < seen.high; at += 8)
		original[(at - seen.start.sp) / 8] = *(const volatile uint64_t *)at;
	KEEP();
}

static NOINLINE void aligned_leaf(void)
{
	volatile int vector[16] __attribute__((aligned(64))) = {1};
	volatile char *room = __builtin_alloca((size_t)(vector[0] + 99));

	room[0] = 1;
	nest(3, look_and_keep);
	KEEP();
}

static int compare(const void *a, const void *b)
{
	if (seen.nr == 0)
		nest(4, aligned_leaf);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void see_a_varied_stack(void)
{
	int values[] = {3, 1, 2};

	seen.nr = 0;
	seen.high = (uint64_t)(uintptr_t)__builtin_frame_address(0) & ~(uint64_t)15;
	qsort(values, 3, sizeof(values[0]), compare);
	KEEP();
}

static void corrupted_stack_never_faults_and_always_ends(void **state)
{
	enum unwind_end end;
	struct copy copy;
	uint64_t ends[5] = {0};
	struct unwind_module own;

	(void)state;
	see_a_varied_stack();
	assert_true(seen.nr > 12);
	copy_init(&copy);
	for (int top = 0; top < 2; top++) {
		copy_fill(&copy, top);
		assert_int_equal(walk_copy(&copy, seen.start, &end), seen.nr);
		assert_int_equal(end, seen.end);
	}
	assert_true(loaded_segment_at((const void *)seen.start.pc, &own));
	for (int round = 0; round < 40000; round++) {
		struct unwind_start start = seen.start;

		copy_fill(&copy, round % 2);
		for (uint64_t i = next() % 24 + 1; i > 0; i--) {
			uint64_t at = next() % (copy.size / 8) * 8 + seen.start.sp + copy.delta;
			uint64_t how = next() % 4;

			if (how == 0)
				*(uint8_t *)(at + next() % 8) = (uint8_t)next();
			else if (how == 1)
				*(uint64_t *)at = copy.low - 64 + next() % (copy.size + 128);
			else if (how == 2)
				*(uint64_t *)at = own.start + next() % (own.end - own.start);
			else
				*(uint64_t *)at = next();
		}
		if (round % 4 == 1)
			start.pc = own.start + next() % (own.end - own.start);
		if (round % 8 == 2)
			start.fp = next();
		uint32_t nr = walk_copy(&copy, start, &end);
		assert_true(nr >= 1 && nr <= MAX);
		assert_true(end <= UNWIND_NO_RULE);
		ends[end]++;
	}
	printf("ends: %lu root, %lu stop, %lu full, %lu not ready, %lu no rule\n",
	       ends[UNWIND_ROOT], ends[UNWIND_STOP], ends[UNWIND_FULL], ends[UNWIND_NOT_READY],
	       ends[UNWIND_NO_RULE]);
	assert_true(ends[UNWIND_NO_RULE] > 10000);
	munmap(copy.memory, (copy.high - copy.low) + 2 * PAGE);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(whole_stack_ends_at_the_root),
		TEST(most_frames_asked_for_is_most_that_come),
		TEST(walk_ends_with_the_first_frame_in_a_stop),
		TEST(nonsense_bounds_give_the_first_frame_alone),
		TEST(table_that_is_not_ready_ends_the_walk_and_is_wanted),
		TEST(rules_of_an_earlier_epoch_are_not_used),
		TEST(stop_for_want_of_a_rule_is_counted),
		TEST(code_without_a_file_is_left_by_its_frame_pointer),
		TEST(interpreters_trampoline_is_known_by_its_code),
		TEST(code_without_a_file_and_frame_pointer_ends_the_walk),
		TEST(signal_on_another_stack_ends_with_the_interrupted_frame),
		TEST(corrupted_stack_never_faults_and_always_ends),
	};

	(void)argc;
	main_high = (uint64_t)(uintptr_t)argv; /* the kernel puts it above the first frame */
	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
