#include "unwind/stack_bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096u

static uintptr_t here(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

__attribute__((no_sanitize("address"))) static void *check_thread_bounds(void *user)
{
	struct stack_bounds bounds = {0};
	uintptr_t sp = here(), high = stack_bounds_high(&bounds, sp, 1);
	uintptr_t *reached = user;

	*reached = high > sp ? high - sp : 0;
	/* All of it is readable. */
	for (uintptr_t at = sp & ~(uintptr_t)7; at + 8 <= high; at += 8)
		__asm__ volatile("" ::"r"(*(volatile uintptr_t *)at));
	return NULL;
}

static void bounds_of_a_thread_hold_its_whole_stack_and_no_more(void **state)
{
	pthread_t thread;
	uintptr_t reached = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, check_thread_bounds, &reached), 0);
	pthread_join(thread, NULL);
	assert_true(reached > 256);
	assert_true(reached < 4u << 20); /* the thread had just begun: its top is near, but for
					    thread-local data */
}

/* ThreadSanitizer's threads do not start on a stack that is this small. */
#ifndef __SANITIZE_THREAD__
/* Bounds of a stack in the test's memory, `size` bytes with a page that cannot be read in the middle. */
struct given_stack {
	uintptr_t base, size;
	uintptr_t low[2], high[2], holed;
};

static void *ask_given_stack(void *user)
{
	struct given_stack *given = user;
	struct stack_bounds bounds = {0};
	uintptr_t sp = here();

	given->high[0] = stack_bounds_high(&bounds, sp, 1);
	given->low[0] = bounds.low;
	given->high[1] = stack_bounds_high(&bounds, sp - 5 * PAGE, 1);
	given->low[1] = bounds.low;
	given->holed = stack_bounds_high(&bounds, given->base + PAGE, 1);
	return NULL;
}

/* The limit that stack_bounds.h tells. */
static void a_fiber_right_below_a_threads_stack_counts_as_part_of_it(void **state)
{
	struct given_stack given = {.size = 48 * PAGE};
	pthread_attr_t attributes;
	pthread_t thread;
	void *base =
		mmap(NULL, given.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	given.base = (uintptr_t)base;
	pthread_attr_init(&attributes);
	assert_int_equal(
		pthread_attr_setstack(&attributes, (char *)base + 8 * PAGE, given.size - 8 * PAGE),
		0);
	assert_int_equal(pthread_create(&thread, &attributes, ask_given_stack, &given), 0);
	pthread_join(thread, NULL);
	assert_int_equal(given.holed, given.high[0]);
	munmap(base, given.size);
}

static void near_the_top_the_kernel_is_asked_page_by_page(void **state)
{
	struct given_stack given = {.size = 48 * PAGE};
	pthread_attr_t attributes;
	pthread_t thread;
	void *base =
		mmap(NULL, given.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	given.base = (uintptr_t)base;
	assert_int_equal(mprotect((char *)base + 8 * PAGE, PAGE, PROT_NONE), 0);
	pthread_attr_init(&attributes);
	assert_int_equal(pthread_attr_setstack(&attributes, base, given.size), 0);
	assert_int_equal(pthread_create(&thread, &attributes, ask_given_stack, &given), 0);
	pthread_join(thread, NULL);
	assert_in_range(given.high[0], given.base + given.size / 2, given.base + given.size);
	/* No further than was asked: the mapping itself begins lower. */
	assert_int_equal(given.low[0] - given.low[1], 5 * PAGE);
	assert_int_equal(given.high[1], given.high[0]);
	/* Behind a page that cannot be read lies another stack, of which the page is all that is known. */
	assert_int_equal(given.holed, given.base + 2 * PAGE);
	munmap(base, given.size);
}
#endif

static void bounds_of_the_main_thread_reach_its_arguments(void **state)
{
	struct stack_bounds bounds = {0};
	uintptr_t sp = here(), high = stack_bounds_high(&bounds, sp, 1);

	(void)state;
	assert_true(high > (uintptr_t)environ[0] - PAGE * 64 && high > sp);
	assert_int_equal(stack_bounds_high(&bounds, sp - 100000, 1), high);
}

static void foreign_stack_is_read_within_its_page(void **state)
{
	struct stack_bounds bounds = {0};
	uint8_t *fiber =
		mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t sp = (uintptr_t)fiber + PAGE + 128;

	(void)state;
	/* It may lie below the thread's control block: the page between tells it from the thread's own stack. */
	assert_int_equal(mprotect(fiber + 3 * PAGE, PAGE, PROT_NONE), 0);
	stack_bounds_high(&bounds, here(), 1);
	struct stack_bounds known = bounds;
	assert_int_equal(stack_bounds_high(&bounds, sp, 2), (uintptr_t)fiber + 2 * PAGE);
	assert_int_equal(bounds.high, known.high); /* the thread's own stack is still known */
	munmap(fiber, 4 * PAGE);
}

static uintptr_t control_block(void)
{
	uintptr_t pointer = 0;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
#endif
	return pointer;
}

/* No page lies between a fiber's stack and the main thread's control block, which the kernel puts among mappings. */
static void a_fiber_below_the_main_threads_control_block_is_no_part_of_its_stack(void **state)
{
	struct stack_bounds bounds = {0};
	const uintptr_t block = control_block(),
			below = (block & ~(uintptr_t)(PAGE - 1)) - 16 * PAGE;
	uintptr_t sp = 0;

	(void)state;
	/* All that is not mapped between there and the block is mapped now. */
	for (uintptr_t at = below; block && at < block; at += PAGE) {
		void *page = mmap((void *)at, PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (!sp && page == (void *)at)
			sp = at + 128;
	}
	if (!sp)
		sp = below + 128;
	assert_int_equal(stack_bounds_high(&bounds, sp, 1), (sp | (PAGE - 1)) + 1);
	struct stack_bounds own = {0};
	assert_int_equal(stack_bounds_high(&bounds, here(), UINT64_MAX / 2),
			 stack_bounds_high(&own, here(), 1));
	assert_int_equal(stack_bounds_high(&bounds, sp, UINT64_MAX / 2), (sp | (PAGE - 1)) + 1);
}

static void mapping_is_found_in_text_that_comes_in_pieces(void **state)
{
	int pipes[2];
	uintptr_t low, high;
	const char *text = "00400000-00452000 r-xp 00000000 08:02 173521  /usr/bin/x\n"
			   "00651000-00652000 r--p 00051000 08:02 173521  /usr/bin/x\n"
			   "7ffc0000a000-7ffc0002b000 rw-p 00000000 00:00 0 [stack]\n";

	(void)state;
	const struct {
		uintptr_t address, low, high;
		int result;
	} cases[] = {
		{0x7ffc0000a000, 0x7ffc0000a000, 0x7ffc0002b000, 0},
		{0x7ffc0002afff, 0x7ffc0000a000, 0x7ffc0002b000, 0},
		{0x7ffc0002b000, 0, 0, -ENOENT},
		{0x651800, 0, 0, -ENOENT}, /* not writable */
		{0x400000, 0, 0, -ENOENT},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(pipe(pipes), 0);
		assert_int_equal(write(pipes[1], text, strlen(text)), (int)strlen(text));
		close(pipes[1]);
		assert_int_equal(stack_bounds_mapping(pipes[0], cases[i].address, &low, &high),
				 cases[i].result);
		assert_int_equal(low, cases[i].low);
		assert_int_equal(high, cases[i].high);
		close(pipes[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_of_a_thread_hold_its_whole_stack_and_no_more),
#ifndef __SANITIZE_THREAD__
		cmocka_unit_test(near_the_top_the_kernel_is_asked_page_by_page),
		cmocka_unit_test(a_fiber_right_below_a_threads_stack_counts_as_part_of_it),
#endif
		cmocka_unit_test(bounds_of_the_main_thread_reach_its_arguments),
		cmocka_unit_test(foreign_stack_is_read_within_its_page),
		cmocka_unit_test(
			a_fiber_below_the_main_threads_control_block_is_no_part_of_its_stack),
		cmocka_unit_test(mapping_is_found_in_text_that_comes_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
