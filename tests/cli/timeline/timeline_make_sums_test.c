/* What `flamegrid timeline --sums` says of each outcome. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/profile/collection.h"
#include "cli/base/verbs.h"
#include "cli/timeline/timeline_make_sums.h"
#include "timeline/slice/cell_maker.h"

static struct cell_made outcome;

int __wrap_cell_maker_make(struct timeline_source *source, uint64_t first_ns, uint64_t last_ns,
			   uint32_t nr_cells, struct cell_made *made);

int __wrap_cell_maker_make(struct timeline_source *source, uint64_t first_ns, uint64_t last_ns,
			   uint32_t nr_cells, struct cell_made *made)
{
	assert_non_null(source);
	assert_int_equal(first_ns, 1000000000);
	assert_int_equal(last_ns, 10000000000);
	assert_int_equal(nr_cells, 0);
	*made = outcome;
	return mock_type(int);
}

struct fixture {
	struct profile profile;
	struct timeline_source *source;
	char said[512];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->profile.collection = collection_create();
	assert_non_null(f->profile.collection);
	f->source = timeline_source_create("p.db", &f->profile, NULL);
	assert_non_null(f->source);
	outcome = (struct cell_made){.nr_cells = 9};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	timeline_source_destroy(f->source);
	collection_destroy(f->profile.collection);
	free(f);
	return 0;
}

/* Makes sums, with standard output in a file meanwhile. */
static int say(struct fixture *f, const char *name)
{
	FILE *file = tmpfile();
	const int kept = dup(STDOUT_FILENO);

	assert_non_null(file);
	assert_true(kept >= 0);
	fflush(stdout);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
	const int status = timeline_make_sums(name, f->source, 1000000000, 10000000000);
	fflush(stdout);
	assert_true(dup2(kept, STDOUT_FILENO) >= 0);
	close(kept);
	rewind(file);
	f->said[fread(f->said, 1, sizeof(f->said) - 1, file)] = '\0';
	fclose(file);
	return status;
}

static void assert_says(struct fixture *f, int error, const char *words)
{
	will_return(__wrap_cell_maker_make, error);
	assert_int_equal(say(f, "p.db"), EXIT_OK);
	assert_string_equal(f->said, words);
}

#define HAS  "p.db has sums for long ranges: "
#define NONE "p.db has no sums for long ranges: "

static void cells_without_sums_are_told_with_their_reason(void **state)
{
	struct fixture *f = *state;

	assert_says(f, 0, HAS "9 of 9 cells of 1.000 s\n");
	outcome.nr_empty = outcome.nr_late = 1;
	assert_says(f, 0,
		    HAS "8 of 9 cells of 1.000 s; the others would not be exact, because some "
			"launches came later than their work by more than a cell\n");
	outcome.nr_late = 0;
	outcome.nr_gone = 1;
	assert_says(f, 0,
		    HAS "8 of 9 cells of 1.000 s; the others would not be exact, because some "
			"launches may have come too long before their work\n");
	outcome.nr_empty = 2;
	outcome.nr_late = 1;
	assert_says(f, 0,
		    HAS "7 of 9 cells of 1.000 s; the others would not be exact, because some "
			"launches came later than their work by more than a cell, or too long "
			"before it\n");
}

static void a_log_whose_sums_would_not_be_exact_says_why(void **state)
{
	static const char *const words[] = {
		[CELL_MAKER_CELLS] = "some launches may have come too long before their work",
		[CELL_MAKER_DAMAGED] = "parts of the timeline's files are damaged",
		[CELL_MAKER_NO_ZSTD] =
			"the timeline is compressed, and libzstd is missing (Debian: libzstd1)",
		[CELL_MAKER_CLOCKS] = "the clock of some events was never compared",
		[CELL_MAKER_NAMES] = "some events name what the profile does not know",
		[CELL_MAKER_IDS] = "correlation ids came again while the first ones may still have "
				   "had work",
		[CELL_MAKER_DISORDER] = "GPU records are too far out of order",
		[CELL_MAKER_SIZE] =
			"a process has too many streams, or a cell too many stacks and kernels",
	};
	struct fixture *f = *state;
	char line[256];

	outcome.nr_empty = outcome.nr_gone = 9;
	for (uint32_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		outcome.lack = i;
		snprintf(line, sizeof(line), NONE "they would not be exact, because %s\n",
			 words[i]);
		assert_says(f, -EAGAIN, line);
	}
}

static void other_reasons_are_told_apart(void **state)
{
	struct fixture *f = *state;

	assert_says(f, -ENODATA,
		    "p.db needs no sums for long ranges: its events are so few that they are read "
		    "as quickly\n");
	assert_says(f, -EBUSY, NONE "it has no timeline of its own\n");
	f->profile.written = true;
	assert_says(f, -EBUSY, NONE "it is being written\n");
	assert_int_equal(say(f, "another.db"), EXIT_OK);
	assert_string_equal(f->said,
			    "another.db has no sums for long ranges: it has several parts, "
			    "which `flamegrid merge` makes one\n");
}

static void a_failure_says_nothing_of_sums(void **state)
{
	struct fixture *f = *state;

	will_return(__wrap_cell_maker_make, -ENOSPC);
	assert_int_equal(say(f, "p.db"), EXIT_FAILED);
	assert_string_equal(f->said, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cells_without_sums_are_told_with_their_reason),
		TEST(a_log_whose_sums_would_not_be_exact_says_why),
		TEST(other_reasons_are_told_apart),
		TEST(a_failure_says_nothing_of_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
