/* The aggregator of aggregator_fixture.h with a directory of jobs, and what agents do in their jobs. Fails the running
 * test on any error. */
#ifndef JOB_FIXTURE_H
#define JOB_FIXTURE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "aggregator_fixture.h"

/* For cmocka: *state is a struct aggregator_fixture, whose jobs_path is set, from set_up until tear_down. The directory
 * is not made by set_up. It is removed by tear_down with all that is in it. */
int job_fixture_set_up(void **state);
int job_fixture_tear_down(void **state);

/* Borrows text. */
struct message_text job_fixture_text(const char *text);

/* A job of the user "alice", whose key is borrowed. */
struct message_job job_fixture_job(const char *key, int32_t nr_nodes);

/* Sends the scenario's HELLO as an agent of the job; the answer is still to be read. */
void job_fixture_say_hello(struct test_agent *agent, const struct scenario *scenario,
			   const struct message_job *job);

/* Says HELLO and expects WELCOME, whose durable_seq it returns. path is the job's directory, which the answer names. */
uint64_t job_fixture_join(struct test_agent *agent, const struct scenario *scenario,
			  const struct message_job *job, char path[static PATH_MAX]);

/* Asserts that the directory of this path is called so. */
void job_fixture_assert_name(const char *path, const char *name);

/* Whether the job of this directory is open. */
bool job_fixture_has_mark(const char *path);

/* Pings until the job of this directory is closed: each ping gives the aggregator a turn. */
void job_fixture_until_complete(struct test_agent *agent, const char *path);

/* Asserts that the job's profile is what one whole life of the scenario gives, and nothing else. The aggregator must
 * not run; it is started and stopped once. */
void job_fixture_assert_undisturbed(struct aggregator_fixture *fixture, const char *path,
				    const struct scenario *scenario);

#endif
