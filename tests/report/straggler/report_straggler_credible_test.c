/* Stores that say what cannot be: made whole, then changed. */
#include "report/straggler/report_straggler_credible.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/store/database.h"
#include "report/model/report_build.h"
#include "report/writers/straggler/straggler_rows.h"
#include "report/writers/straggler/straggler_text.h"
#include "report/writers/straggler/straggler_writer.h"
#include "straggler_fixture.h"
#include "straggler_training.h"

#define STEPS 3000 /* so many that most are folded */

static void damage(const char *sql)
{
	struct database *database;

	assert_int_equal(database_open(job_path(), false, &database, NULL), 0);
	assert_int_equal(database_execute(database, sql), 0);
	database_close(database);
}

static char *written(const struct report_straggler *found)
{
	struct profile *profile = job_profile();
	struct report_tree *tree;
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, true), 0);
	assert_int_equal(straggler_rows_json(out, found, tree), 0);
	fclose(out);
	report_tree_destroy(tree);
	profile_destroy(profile);
	return text;
}

/* Says why the job's only communicator is left out. */
static void expect(const char *sql, const char *wrong)
{
	const struct training training = {
		.ranks = 4, .steps = STEPS, .noise_ms = 1, .gpu_alone = true, .seed = 5};
	char line[STRAGGLER_TEXT_SIZE], expected[256];
	void *state = NULL;

	assert_int_equal(job_set_up(&state), 0);
	training_play(&training);
	struct report_straggler *found = job_straggler();
	assert_int_equal(found->nr_communicators, 1);
	assert_int_equal(found->nr_wrong, 0);
	report_straggler_destroy(found);
	damage(sql);
	found = job_straggler();
	assert_int_equal(found->nr_communicators, 0);
	assert_int_equal(found->nr_wrong, 1);
	assert_string_equal(found->wrong[0], wrong);
	snprintf(expected, sizeof(expected), "late: not known: damaged: %s", wrong);
	assert_string_equal(straggler_text_line(found, line, sizeof(line)), expected);
	char *text = written(found);
	snprintf(expected, sizeof(expected), "note: damaged: %s: left out\n", wrong);
	assert_non_null(strstr(text, expected));
	snprintf(expected, sizeof(expected), ",\"damaged\":[\"%s\"],", wrong);
	assert_non_null(strstr(text, expected));
	free(text);
	report_straggler_destroy(found);
	assert_int_equal(job_tear_down(&state), 0);
}

static void sums_that_cannot_be_are_named_and_left_out(void **state)
{
	(void)state;
	expect("UPDATE collective_sums SET others_ns = 9000000000000000000 WHERE process = 3",
	       "ranks 0-3: the communicator's rank 2 is waited for longer than the run takes");
	expect("UPDATE collective_sums SET last = 1000000 WHERE process = 2",
	       "ranks 0-3: the communicator's rank 1 is last in more collectives than were "
	       "compared");
	expect("UPDATE collective_sums SET last = 2000",
	       "ranks 0-3: several ranks are the last one in the same collective");
	expect("UPDATE collective_folds SET collectives = 3",
	       "ranks 0-3: more collectives are compared than there are");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_that_cannot_be_are_named_and_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
