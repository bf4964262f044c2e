/* The metrics of a site's aggregator, while jobs come and go and a reader reads. */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "aggregator/metrics/metrics_board.h"
#include "job_fixture.h"
#include "metrics/metrics_text.h"

static struct reader {
	struct metrics_board *board;
	pthread_t thread;
	uint64_t awaited; /* launches */
	uint64_t least;   /* launches that were told already */
	atomic_bool fell;
	char text[1 << 16]; /* the last one */
} reader;

/* The launches of the last snapshot, whose text is kept. */
static uint64_t read_launches(void)
{
	static const char name[] = "\nflamegrid_launches_total ";
	struct metrics_text *text = metrics_text_create(true);
	char *bytes;
	size_t size;

	metrics_board_write(reader.board, text);
	assert_int_equal(metrics_text_take(text, &bytes, &size), 0);
	metrics_text_destroy(text);
	snprintf(reader.text, sizeof(reader.text), "%s", bytes);
	const char *found = strstr(bytes, name);
	const uint64_t launches = found ? strtoull(found + sizeof(name) - 1, NULL, 10) : 0;

	free(bytes);
	return launches;
}

static void *read_until_all_came(void *unused)
{
	uint64_t launches;

	do {
		launches = read_launches();
		if (launches < reader.least)
			atomic_store(&reader.fell, true);
		reader.least = launches;
	} while (launches < reader.awaited);
	return unused;
}

static uint64_t stored_launches(const char *folder)
{
	char path[PATH_MAX];
	sqlite3_stmt *statement;
	sqlite3 *database;

	assert_in_range(snprintf(path, sizeof(path), "%s/profile.db", folder), 1, PATH_MAX - 1);
	assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(database, "SELECT sum(launches) FROM processes", -1,
					    &statement, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	const uint64_t launches = (uint64_t)sqlite3_column_int64(statement, 0);

	sqlite3_finalize(statement);
	sqlite3_close(database);
	return launches;
}

static struct test_agent *play(struct aggregator_fixture *fixture, uint32_t i,
			       char path[static PATH_MAX])
{
	const struct message_job job = job_fixture_job(i ? "12.1" : "12.0", 1);
	const struct scenario *scenario = &fixture->scenarios[i];
	struct test_agent *agent = aggregator_fixture_connect(fixture);

	assert_int_equal(job_fixture_join(agent, scenario, &job, path), 0);
	aggregator_fixture_send(agent, scenario, 1, scenario->nr_frames);
	test_agent_expect_ack(agent, scenario->nr_frames);
	return agent;
}

static void complete_jobs_stay_in_the_sums(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char paths[2][PATH_MAX];
	uint64_t launches = 0;

	reader.board = fixture->board = metrics_board_create();
	aggregator_fixture_start(fixture);
	for (uint32_t i = 0; i < 2; i++) {
		struct test_agent *agent = play(fixture, i, paths[i]);

		job_fixture_until_complete(agent, paths[i]);
		test_agent_close(agent);
		launches += stored_launches(paths[i]);
		assert_true(launches > 0);
		reader.awaited = launches;
		pthread_create(&reader.thread, NULL, read_until_all_came, NULL);
		pthread_join(reader.thread, NULL);
	}
	assert_int_equal(read_launches(), launches);
	assert_false(atomic_load(&reader.fell));
	assert_non_null(strstr(reader.text, "\nflamegrid_aggregator_open_profiles 1\n"));
	assert_null(strstr(reader.text, "alice"));
	assert_null(strstr(reader.text, "12.0"));
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	metrics_board_destroy(fixture->board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(complete_jobs_stay_in_the_sums, job_fixture_set_up,
						job_fixture_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
