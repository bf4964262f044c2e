#include "job_fixture.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/service/job_dir.h"
#include "tests/aggregator/store/report_text.h"

#define TURNS_MAX 200000u

static char jobs_path[96];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

int job_fixture_set_up(void **state)
{
	if (aggregator_fixture_set_up(state))
		return -1;
	struct aggregator_fixture *fixture = *state;
	snprintf(jobs_path, sizeof(jobs_path), "%s/jobs", fixture->folder);
	fixture->jobs_path = jobs_path;
	return 0;
}

int job_fixture_tear_down(void **state)
{
	nftw(jobs_path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return aggregator_fixture_tear_down(state);
}

struct message_text job_fixture_text(const char *text)
{
	return (struct message_text){text, (uint32_t)strlen(text)};
}

struct message_job job_fixture_job(const char *key, int32_t nr_nodes)
{
	return (struct message_job){.key = job_fixture_text(key),
				    .user = job_fixture_text("alice"),
				    .title = job_fixture_text("a test"),
				    .nr_nodes = nr_nodes,
				    .world_size = -1};
}

void job_fixture_say_hello(struct test_agent *agent, const struct scenario *scenario,
			   const struct message_job *job)
{
	struct message message = {.type = MESSAGE_HELLO, .hello = scenario->hello};

	message.hello.job = *job;
	struct scenario_frame frame = scenario_encode(&message);
	test_agent_send(agent, &frame);
	free(frame.bytes);
}

uint64_t job_fixture_join(struct test_agent *agent, const struct scenario *scenario,
			  const struct message_job *job, char path[static PATH_MAX])
{
	job_fixture_say_hello(agent, scenario, job);
	const struct message_welcome *welcome = &test_agent_expect(agent, MESSAGE_WELCOME)->welcome;
	const char *colon = memchr(welcome->profile.data, ':', welcome->profile.size);

	assert_non_null(colon);
	snprintf(path, PATH_MAX, "%.*s",
		 (int)(welcome->profile.size - (size_t)(colon + 1 - welcome->profile.data)),
		 colon + 1);
	return welcome->durable_seq;
}

void job_fixture_assert_name(const char *path, const char *name)
{
	assert_string_equal(strrchr(path, '/') + 1, name);
}

bool job_fixture_has_mark(const char *path)
{
	char mark[PATH_MAX];

	assert_int_equal(job_dir_file(path, JOB_DIR_MARK, mark), 0);
	return access(mark, F_OK) == 0;
}

void job_fixture_until_complete(struct test_agent *agent, const char *path)
{
	struct message ping = {.type = MESSAGE_PING, .ping.token = 1};
	struct scenario_frame frame = scenario_encode(&ping);
	uint32_t turns = 0;

	while (job_fixture_has_mark(path) && turns++ < TURNS_MAX) {
		test_agent_send(agent, &frame);
		test_agent_expect(agent, MESSAGE_PONG);
	}
	free(frame.bytes);
	assert_false(job_fixture_has_mark(path));
}

static char *report_of(const char *path)
{
	char store[PATH_MAX];

	assert_int_equal(job_dir_file(path, JOB_DIR_STORE, store), 0);
	return report_text_of(store);
}

void job_fixture_assert_undisturbed(struct aggregator_fixture *fixture, const char *path,
				    const struct scenario *scenario)
{
	char *have = report_of(path), *want;

	aggregator_fixture_start(fixture);
	aggregator_fixture_play(fixture, scenario);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	want = report_text_of(fixture->path);
	assert_string_equal(have, want);
	free(have);
	free(want);
}
