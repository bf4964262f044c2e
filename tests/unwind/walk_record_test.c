/* A record holds only where the walk is the recorded one: every word of a stack is changed, one at a time. The stack is
 * that of a thread that waits. */
#include "unwind/walk_record.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "loaded_segments.h"
#include "record_check.h"
#include "tests/bench/cold/cold_frames.h"
#include "unwind/stack_bounds.h"
#include "unwind/unwind_table.h"

#define PAGE 4096u

#define FRAMES      24u
#define STACKS      12u
#define REGISTERS   64u /* bytes around the start's registers that are tried */
#define UNSANITISED __attribute__((no_sanitize("address"), no_sanitize("thread")))

/* A thread that waits at the end of a path of frames. */
struct waiter {
	pthread_t thread;
	pthread_barrier_t ready, done;
	cold_frame *frames[FRAMES + 1];
	uint8_t sites[FRAMES + 1];
	struct unwind_start start;
	uint64_t high;
};

struct walked {
	uint64_t frames[WALK_READS_FRAMES];
	uint32_t nr;
	enum unwind_end end;
};

static struct unwind_tables *tables;
static struct unwind_cache *cache;
static struct walk_reads reads;
static union {
	struct walk_record record;
	char bytes[RECORD_CHECK_BYTES];
} known;
static struct walked recorded;
static uint32_t frames_max = WALK_READS_FRAMES;
static uint64_t held, refused, differed;

static void wait_here(struct cold_path *path)
{
	struct waiter *waiter = path->user;

	waiter->start = UNWIND_START_HERE();
	pthread_barrier_wait(&waiter->ready);
	pthread_barrier_wait(&waiter->done);
}

static void *run(void *user)
{
	struct waiter *waiter = user;
	struct stack_bounds bounds = {0};
	struct cold_path path = {waiter->frames, waiter->sites, waiter, 77, 0};

	waiter->high = stack_bounds_high(&bounds, (uintptr_t)__builtin_frame_address(0), 1);
	cold_path_next(&path);
	__asm__ volatile("" ::: "memory");
	return NULL;
}

static void begin(struct waiter *waiter, uint32_t number)
{
	uint64_t random = 88172645463325252u + number;

	for (uint32_t i = 0; i < FRAMES; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		waiter->frames[i] = cold_frames[(random >> 33) % COLD_FRAMES];
		waiter->sites[i] = (uint8_t)(random >> 20) & 1;
	}
	/* The innermost frames of some have a frame pointer, so that the walk begins with it. */
	if (number % 3 > 0)
		waiter->frames[FRAMES - 1] = cold_frames[number % 3 == 1 ? 7 : 21];
	waiter->frames[FRAMES] = wait_here;
	pthread_barrier_init(&waiter->ready, NULL, 2);
	pthread_barrier_init(&waiter->done, NULL, 2);
	assert_int_equal(pthread_create(&waiter->thread, NULL, run, waiter), 0);
	pthread_barrier_wait(&waiter->ready);
}

static void end(struct waiter *waiter)
{
	pthread_barrier_wait(&waiter->done);
	pthread_join(waiter->thread, NULL);
	pthread_barrier_destroy(&waiter->ready);
	pthread_barrier_destroy(&waiter->done);
}

static void walk(const struct unwind_start *start, uint64_t high, struct walked *walked)
{
	cache->trail.nr = 0;
	walked->nr = unwind_walk(tables, cache, start, high, NULL, walked->frames, frames_max,
				 &walked->end);
}

/* Compares what the record says with what a walk finds. */
static bool compare(const struct unwind_start *start, uint64_t high)
{
	bool holds = walk_record_holds(&known.record, start, high, unwind_tables_epoch(tables));
	struct walked now;

	walk(start, high, &now);
	bool same = now.nr == recorded.nr && now.end == recorded.end &&
		    memcmp(now.frames, recorded.frames, now.nr * sizeof(now.frames[0])) == 0;
	held += holds;
	refused += !holds;
	differed += !same;
	assert_true(same || !holds);
	return holds;
}

static void record(const struct waiter *waiter)
{
	walk(&waiter->start, waiter->high, &recorded);
	assert_int_equal(recorded.end, frames_max > FRAMES ? UNWIND_ROOT : UNWIND_FULL);
	assert_true(recorded.nr > FRAMES || recorded.nr == frames_max);
	assert_true(walk_reads_collect(tables, cache, &waiter->start, waiter->high, recorded.end,
				       recorded.frames, recorded.nr, &reads));
	assert_true(sizeof(known) >= sizeof(struct walk_record) + 10u * reads.nr);
	walk_record_head(&known.record, &reads);
	walk_record_write(&known.record, &reads);
	assert_true(compare(&waiter->start, waiter->high));
}

/* As on a fiber whose stack is shorter than that of the record, with nothing mapped above it. */
static void pages_above_a_difference_are_not_read(void **state)
{
	static struct walk_reads made;
	uint8_t *pages =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t sp = (uint64_t)(uintptr_t)pages + PAGE - 64;
	const struct unwind_start start = {.pc = 1, .sp = sp};

	(void)state;
	assert_true(pages != MAP_FAILED);
	made = (struct walk_reads){.pc = 1,
				   .reach = 2 * PAGE,
				   .fp_distance = WALK_RECORD_FP_ANY,
				   .nr = 3,
				   .reads = {{.at = 8, .value = 5},
					     {.at = 72, .is_place = true, .value = 640},
					     {.at = 64 + PAGE, .value = 6}}};
	memcpy((void *)(uintptr_t)(sp + 8), &(uint64_t){5}, 8);
	memcpy((void *)(uintptr_t)(sp + 72), &(uint64_t){sp + 640}, 8);
	memcpy((void *)(uintptr_t)(sp + 64 + PAGE), &(uint64_t){6}, 8);
	walk_record_head(&known.record, &made);
	walk_record_write(&known.record, &made);
	assert_true(walk_record_holds(&known.record, &start, sp + 2 * PAGE, 0));
	memcpy((void *)(uintptr_t)(sp + 72), &(uint64_t){sp + 648}, 8);
	assert_int_equal(mprotect(pages + 2 * PAGE, PAGE, PROT_NONE), 0);
	assert_false(walk_record_holds(&known.record, &start, sp + 2 * PAGE, 0));
	memcpy((void *)(uintptr_t)(sp + 8), &(uint64_t){7}, 8);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	assert_false(walk_record_holds(&known.record, &start, sp + 2 * PAGE, 0));
	munmap(pages, 3 * PAGE);
}

static bool was_read(uint64_t at)
{
	for (uint32_t i = 0; i < reads.nr; i++)
		if (reads.reads[i].at == at)
			return true;
	return false;
}

static UNSANITISED void change_words(const struct waiter *waiter)
{
	for (uint64_t at = 0; at < reads.reach; at += sizeof(uint64_t)) {
		uint64_t *word = (uint64_t *)(uintptr_t)(waiter->start.sp + at), old = *word;
		const uint64_t values[] = {0,
					   UINT64_MAX,
					   old + 8,
					   old - 8,
					   old + 64,
					   old ^ 1,
					   old ^ 1ull << 32,
					   waiter->start.sp + at,
					   waiter->start.sp + at + 64,
					   waiter->high,
					   recorded.frames[recorded.nr / 2]};

		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			*word = values[i];
			bool holds = compare(&waiter->start, waiter->high);
			bool is_old = *word == old;

			*word = old;
			assert_true(holds == (is_old || !was_read(at)));
		}
	}
}

static void change_registers(const struct waiter *waiter)
{
	for (uint64_t by = 1; by < REGISTERS; by++) {
		struct unwind_start start = waiter->start;

		start.fp += by;
		compare(&start, waiter->high);
		start.fp = waiter->start.fp - by;
		compare(&start, waiter->high);
		start.fp = waiter->start.sp + 8 * by;
		compare(&start, waiter->high);
		start = waiter->start;
		start.sp += by;
		assert_false(compare(&start, waiter->high));
		start = waiter->start;
		start.pc += by;
		assert_false(compare(&start, waiter->high));
	}
}

static void change_bounds(const struct waiter *waiter)
{
	struct unwind_start start = waiter->start;

	for (uint64_t high = start.sp; high < start.sp + reads.reach; high += 8)
		assert_false(compare(&start, high));
	assert_true(compare(&start, start.sp + reads.reach));
	assert_false(walk_record_holds(&known.record, &start, start.sp - 8,
				       unwind_tables_epoch(tables)));
	start.sp = UINT64_MAX - 7;
	assert_false(walk_record_holds(&known.record, &start, waiter->high,
				       unwind_tables_epoch(tables)));
}

static void change_all(void)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		struct waiter *waiter = calloc(1, sizeof(*waiter));

		begin(waiter, i);
		record(waiter);
		change_words(waiter);
		change_registers(waiter);
		change_bounds(waiter);
		end(waiter);
		free(waiter);
	}
	print_message("%lu stacks held, %lu did not; %lu walks differed\n", held, refused,
		      differed);
	assert_true(held > 0);
}

static void record_holds_only_for_the_words_that_the_walk_read(void **state)
{
	(void)state;
	change_all();
}

static void record_of_a_cut_walk_holds_only_for_these_words(void **state)
{
	(void)state;
	for (frames_max = 1; frames_max < FRAMES; frames_max += 7)
		change_all();
	frames_max = WALK_READS_FRAMES;
}

static void other_ends_and_other_frames_are_not_recorded(void **state)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	(void)state;
	begin(waiter, 1);
	walk(&waiter->start, waiter->high, &recorded);
	/* UNWIND_FULL: the stack has no more frames than these. */
	const enum unwind_end others[] = {UNWIND_FULL, UNWIND_NOT_READY, UNWIND_NO_RULE};
	for (size_t i = 0; i < 3; i++)
		assert_false(walk_reads_collect(tables, cache, &waiter->start, waiter->high,
						others[i], recorded.frames, recorded.nr, &reads));
	assert_false(walk_reads_collect(tables, cache, &waiter->start, waiter->high, UNWIND_ROOT,
					recorded.frames, recorded.nr - 1, &reads));
	assert_false(walk_reads_collect(tables, cache, &waiter->start, waiter->start.sp + 64,
					UNWIND_ROOT, recorded.frames, recorded.nr, &reads));
	recorded.frames[2]++;
	assert_false(walk_reads_collect(tables, cache, &waiter->start, waiter->high, UNWIND_ROOT,
					recorded.frames, recorded.nr, &reads));
	end(waiter);
	free(waiter);
}

static bool collected;

static __attribute__((noinline)) void collect_here(void)
{
	const struct unwind_start start = UNWIND_START_HERE();
	struct stack_bounds bounds = {0};
	uint64_t high = stack_bounds_high(&bounds, start.sp, 1);

	walk(&start, high, &recorded);
	assert_int_equal(recorded.end, UNWIND_ROOT);
	collected = walk_reads_collect(tables, cache, &start, high, recorded.end, recorded.frames,
				       recorded.nr, &reads);
}

/* Other code may come to its place without a new epoch. */
static void code_without_a_file_is_not_recorded(void **state)
{
	/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	/* the same as CPython's trampolines: sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
	static const uint8_t trampoline[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
					     0x48, 0x83, 0xc4, 0x08, 0xc3};
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(void (*)(void));

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, code, sizeof(code));
	memcpy(page + 64, trampoline, sizeof(trampoline));
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
	collect_here();
	assert_true(collected);
	for (uint32_t at = 0; at <= 64; at += 64) {
		uint8_t *function = page + at;

		memcpy(&call, &function, sizeof(call));
		call(collect_here);
		assert_false(collected);
	}
	munmap(page, 4096);
}

static int set_up_all(void **state)
{
	(void)state;
	cache = calloc(1, sizeof(*cache));
	tables = unwind_tables_create(UNWIND_BYTES_MAX);
	assert_non_null(tables);
	loaded_segments_enter(tables);
	return unwind_tables_build(tables, UNWIND_BUILD_ALL) > 0 ? 0 : -1;
}

static int tear_down_all(void **state)
{
	(void)state;
	unwind_tables_destroy(tables);
	free(cache);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_holds_only_for_the_words_that_the_walk_read),
		cmocka_unit_test(record_of_a_cut_walk_holds_only_for_these_words),
		cmocka_unit_test(pages_above_a_difference_are_not_read),
		cmocka_unit_test(other_ends_and_other_frames_are_not_recorded),
		cmocka_unit_test(code_without_a_file_is_not_recorded),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
