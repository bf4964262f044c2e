/* A day of a site's aggregator, on a clock that the test steps: jobs come and go, some without a goodbye, and nothing
 * but their profiles is left of them. */
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/service/job_dir.h"
#include "aggregator_fixture.h"
#include "tests/aggregator/store/report_text.h"

#define STEP_S       1800
#define STEPS        48 /* a day */
#define WARM_STEPS   12  /* after which the aggregator has all that it needs */
#define DESERTERS    4   /* every so many steps an agent goes without a goodbye */
#define BACK_STEP    30  /* the clock on the wall is put back */
#define BACK_S       3600
#define TURNS_MAX    200000u
#define HEAP_A_JOB   4096 /* bytes: what an ended agent may leave behind, by its epoch */
#define LAST_WORD    5    /* of a deserter: a sequence number */
#define CLOSING      4    /* descriptors of connections that have just been closed */

static atomic_llong passed_s, put_back_s;

int __real_clock_gettime(clockid_t id, struct timespec *time);
int __wrap_clock_gettime(clockid_t id, struct timespec *time);

int __wrap_clock_gettime(clockid_t id, struct timespec *time)
{
	int r = __real_clock_gettime(id, time);

	if (r == 0 && (id == CLOCK_MONOTONIC || id == CLOCK_REALTIME))
		time->tv_sec += passed_s - (id == CLOCK_REALTIME ? put_back_s : 0);
	return r;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void remove_tree(const char *path)
{
	assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static uint32_t count_entries(const char *path)
{
	DIR *directory = opendir(path);
	uint32_t count = 0;

	assert_non_null(directory);
	for (const struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

struct life {
	struct aggregator_fixture *fixture;
	char jobs_path[96];
	char *expected; /* owns; what a whole life gives */
	char deserted[PATH_MAX];
	bool has_deserted;
	uint32_t nr_agents;
};

static struct message_text text_of(const char *text)
{
	return (struct message_text){text, (uint32_t)strlen(text)};
}

/* Says of which job it is; path: where its profile is. */
static struct test_agent *join(struct life *life, const char *key, const struct scenario *scenario,
			       char path[static PATH_MAX])
{
	struct test_agent *agent = aggregator_fixture_connect(life->fixture);
	struct message message = {.type = MESSAGE_HELLO, .hello = scenario->hello};

	/* Each is an agent of its own. */
	life->nr_agents++;
	memcpy(message.hello.epoch, &life->nr_agents, sizeof(life->nr_agents));
	message.hello.job = (struct message_job){.key = text_of(key),
						 .user = text_of("alice"),
						 .title = text_of("a test"),
						 .nr_nodes = 1,
						 .world_size = -1};
	struct scenario_frame frame = scenario_encode(&message);
	test_agent_send(agent, &frame);
	free(frame.bytes);
	const struct message_welcome *welcome = &test_agent_expect(agent, MESSAGE_WELCOME)->welcome;
	const char *colon = memchr(welcome->profile.data, ':', welcome->profile.size);
	assert_non_null(colon);
	snprintf(path, PATH_MAX, "%.*s",
		 (int)(welcome->profile.size - (size_t)(colon + 1 - welcome->profile.data)),
		 colon + 1);
	return agent;
}

/* Whoever asks gives the aggregator a turn. */
static void until_complete(struct test_agent *agent, const char *path)
{
	struct message ping = {.type = MESSAGE_PING, .ping.token = 1};
	struct scenario_frame frame = scenario_encode(&ping);
	char mark[PATH_MAX];
	uint32_t turns = 0;

	assert_int_equal(job_dir_file(path, JOB_DIR_MARK, mark), 0);
	while (access(mark, F_OK) == 0 && turns++ < TURNS_MAX) {
		test_agent_send(agent, &frame);
		test_agent_expect(agent, MESSAGE_PONG);
	}
	free(frame.bytes);
	assert_int_equal(access(mark, F_OK), -1);
}

/* A job from its first word to its last, whose profile its user then takes away. */
static void run_job(struct life *life, int step)
{
	const struct scenario *scenario = &life->fixture->scenarios[0];
	char key[32], path[PATH_MAX], store[PATH_MAX];

	snprintf(key, sizeof(key), "%d.0", step);
	struct test_agent *agent = join(life, key, scenario, path);
	aggregator_fixture_send(agent, scenario, 1, scenario->nr_frames);
	test_agent_expect_ack(agent, scenario->nr_frames);
	until_complete(agent, path);
	if (life->has_deserted) {
		until_complete(agent, life->deserted);
		remove_tree(life->deserted);
		life->has_deserted = false;
	}
	test_agent_close(agent);
	assert_int_equal(job_dir_file(path, JOB_DIR_STORE, store), 0);
	char *report = report_text_of(store);
	assert_string_equal(report, life->expected);
	free(report);
	remove_tree(path);
}

static void desert(struct life *life, int step)
{
	const struct scenario *scenario = &life->fixture->scenarios[1];
	char key[32];

	snprintf(key, sizeof(key), "%d.1", step);
	struct test_agent *agent = join(life, key, scenario, life->deserted);
	aggregator_fixture_send(agent, scenario, 1, LAST_WORD);
	test_agent_expect_ack(agent, LAST_WORD);
	test_agent_close(agent);
	life->has_deserted = true;
}

static void a_day_leaves_nothing_but_profiles(void **state)
{
	struct life life = {.fixture = *state};
	uint32_t nr_descriptors = 0;
	size_t heap = 0;

	life.expected = aggregator_fixture_undisturbed(life.fixture, 1);
	snprintf(life.jobs_path, sizeof(life.jobs_path), "%s/jobs", life.fixture->folder);
	life.fixture->jobs_path = life.jobs_path;
	aggregator_fixture_start(life.fixture);
	for (int step = 0; step < STEPS; step++) {
		if (step == BACK_STEP)
			put_back_s = BACK_S;
		run_job(&life, step);
		if (step % DESERTERS == 0 && step != STEPS - 1)
			desert(&life, step);
		if (step == WARM_STEPS + 1) {
			nr_descriptors = count_entries("/proc/self/fd");
			heap = mallinfo2().uordblks;
		}
		passed_s += STEP_S;
	}
	assert_in_range(count_entries("/proc/self/fd"), 0, nr_descriptors + CLOSING);
	assert_in_range(mallinfo2().uordblks, 0,
			heap + (size_t)HEAP_A_JOB * (STEPS - WARM_STEPS));
	assert_int_equal(aggregator_fixture_stop(life.fixture), 0);
	assert_int_equal(count_entries(life.jobs_path), 0);
	remove_tree(life.jobs_path);
	life.fixture->jobs_path = NULL;
	free(life.expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_day_leaves_nothing_but_profiles,
						aggregator_fixture_set_up,
						aggregator_fixture_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
