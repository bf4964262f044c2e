#include "unwind_check.h"

#include <execinfo.h>
#include <stdio.h>

#include "unwind/unwind_table.h"

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

static void report(const uint64_t *frames, uint32_t nr, void *const *expected, int nr_expected,
		   enum unwind_end end)
{
	fprintf(stderr, "%u frames, end %d; backtrace has %d\n", nr, (int)end, nr_expected);
	for (uint32_t i = 0; i < nr || (int)i < nr_expected; i++)
		fprintf(stderr, "%3u %16lx %16lx\n", i, i < nr ? frames[i] : 0,
			(int)i < nr_expected ? (unsigned long)expected[i] : 0);
}

static bool agrees(struct unwind_check *check, const uint64_t *frames, uint32_t nr,
		   void *const *expected, int nr_expected)
{
	if ((int)nr > nr_expected)
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (frames[i] != (uint64_t)expected[i])
			return false;
	check->frames += nr;
	return true;
}

/* The oracle's own frames, and a sanitizer's, come before ours. */
static int skip_to(uint64_t pc, void *const *frames, int nr)
{
	int i = 0;

	while (i < nr && (uint64_t)frames[i] != pc)
		i++;
	return i;
}

static void compare(struct unwind_check *check, const struct unwind_start *start, bool interrupted)
{
	uint64_t frames[UNWIND_CHECK_DEPTH], high = check->high;
	void *expected[UNWIND_CHECK_DEPTH + 8];
	enum unwind_end end;
	uint32_t epoch = unwind_tables_epoch(check->tables);
	bool cut = next(&check->seed) % 16 == 0 && high > start->sp;

	if (cut)
		high = start->sp + next(&check->seed) % (high - start->sp);

	uint32_t nr = unwind_walk(check->tables, &check->cache, start, high, NULL, frames,
				  UNWIND_CHECK_DEPTH, &end);
	record_check_walk(&check->record, check->tables, &check->cache, epoch, start, high, frames,
			  nr, UNWIND_CHECK_DEPTH, end);
	int nr_expected = backtrace(expected, UNWIND_CHECK_DEPTH + 8);
	int skipped = skip_to(start->pc, expected, nr_expected);
	bool whole = nr == (uint32_t)(nr_expected - skipped) || nr == UNWIND_CHECK_DEPTH;
	bool right = agrees(check, frames, nr, expected + skipped, nr_expected - skipped);

	check->walks++;
	if (right && whole && (end == UNWIND_ROOT || end == UNWIND_FULL))
		return;
	if (right && nr > 0 && end == UNWIND_NO_RULE && cut)
		check->cut++;
	else if (right && nr > 0 && end == UNWIND_NO_RULE && interrupted)
		check->without_rule++;
	else if (right && nr > 0 && end == UNWIND_NOT_READY)
		check->not_ready++;
	else if (check->disagreements++ == 0 && !check->quiet)
		report(frames, nr, expected + skipped, nr_expected - skipped, end);
}

__attribute__((noinline)) void unwind_check_here(struct unwind_check *check)
{
	const struct unwind_start start = UNWIND_START_HERE();

	compare(check, &start, false);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void unwind_check_interrupted(struct unwind_check *check)
{
	const struct unwind_start start = UNWIND_START_HERE();

	compare(check, &start, true);
	__asm__ volatile("" ::: "memory");
}
