/* What happens when memory runs out: every allocation is made to fail once, and everything says
 * -ENOMEM and nothing else. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/core/correlator.h"
#include "report/writers/folded_writer.h"
#include "report/profile/profile.h"
#include "report/model/report_build.h"
#include "report/model/report_busy.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/store/store.h"
#include "proto/batch/batch_decode.h"
#include "scenario.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static uint64_t left = UINT64_MAX; /* allocations before one fails */

static int fails(void)
{
	return left != UINT64_MAX && left-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

static struct scenario scenario;
static struct batch_decoder *decoder;

static int set_up(void **state)
{
	(void)state;
	scenario_init(&scenario, 1);
	decoder = batch_decoder_create();
	return decoder ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	batch_decoder_destroy(decoder);
	scenario_fini(&scenario);
	return 0;
}

static int apply_all(struct collection *collection)
{
	const char *reason;
	struct agent_session *session = collection_session(collection, scenario.epoch);
	int error = session ? agent_session_hello(session, collection->catalog, collection->roster,
						  &scenario.hello)
			    : -ENOMEM;

	for (uint32_t i = 0; i < scenario.nr_frames && !error; i++) {
		struct message message;
		uint64_t saved = left;

		left = UINT64_MAX; /* the decoder has a test of its own */
		assert_int_equal(batch_decode(decoder, scenario.frames[i].bytes,
					      scenario.frames[i].size, &message),
				 0);
		left = saved;
		error = session_apply(session, collection, &message, &reason);
	}
	return error;
}

static int live(void)
{
	struct collection *collection = collection_create();
	int error = collection ? apply_all(collection) : -ENOMEM;

	collection_destroy(collection);
	return error;
}

static char path[96];

static int load_and_report(void)
{
	struct profile *profile;
	struct report_tree *tree = NULL;
	struct report_busy *busy = NULL;
	char *error_text, buffer[4096];
	int error = profile_load(path, &profile, &error_text);

	free(error_text);
	if (error)
		return error;
	error = report_tree_build(profile, NULL, &tree);
	if (!error)
		error = report_busy_create(profile, &busy);
	if (!error) {
		uint64_t saved = left;

		left = UINT64_MAX; /* libc's own buffers are not ours */
		FILE *out = fmemopen(buffer, sizeof(buffer), "w");
		left = saved;
		error = folded_writer_write(out, tree, NULL);
		left = left == UINT64_MAX ? left : left + 1;
		fclose(out);
		left = left == UINT64_MAX ? left : left - 1;
		/* The page is small, the profile is not. */
		error = error == -ENOSPC ? 0 : error;
	}
	report_busy_destroy(busy);
	report_tree_destroy(tree);
	profile_destroy(profile);
	return error;
}

/* Runs it with the n-th allocation failing, for every n in steps, until there are no more. */
static void fail_each(int (*run)(void), uint64_t step)
{
	for (uint64_t n = 0;; n += step) {
		left = n;
		int error = run();
		int spent = left == UINT64_MAX;
		left = UINT64_MAX;
		if (!spent) {
			assert_int_equal(error, 0);
			assert_true(n > 0);
			return;
		}
		assert_int_equal(error, -ENOMEM);
	}
}

static void an_agents_life_without_memory_is_an_error(void **state)
{
	(void)state;
	fail_each(live, 1);
}

static void reading_a_profile_without_memory_is_an_error(void **state)
{
	(void)state;
	struct store *store;
	struct collection *collection = collection_create();

	snprintf(path, sizeof(path), "/tmp/flamegrid_memory_%d.db", (int)getpid());
	assert_int_equal(store_open(path, NULL, &store, NULL), 0);
	assert_int_equal(apply_all(collection), 0);
	assert_int_equal(store_commit(store, collection), 0);
	collection_destroy(collection);
	store_close(store);
	fail_each(load_and_report, 1);
	unlink(path);
}

static void a_correlator_without_memory_says_so(void **state)
{
	(void)state;
	struct fold_table *table;
	struct correlator *correlator;

	left = 0;
	assert_null(fold_table_create());
	left = UINT64_MAX;
	table = fold_table_create();
	for (uint64_t n = 0; n < 2; n++) {
		left = n;
		assert_null(correlator_create(1, NULL, table));
		left = UINT64_MAX;
	}
	correlator = correlator_create(1, NULL, table);
	assert_non_null(correlator);
	left = 0;
	struct launch_record launch = {.correlation_id = 1, .window = 1};
	assert_int_equal(correlator_launch(correlator, &launch), -ENOMEM);
	left = UINT64_MAX;
	correlator_destroy(correlator);
	fold_table_destroy(table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_agents_life_without_memory_is_an_error),
		TEST(reading_a_profile_without_memory_is_an_error),
		TEST(a_correlator_without_memory_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
