/* Jobs of a site's aggregator while the disk of one of them stalls. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/service/job_dir.h"
#include "job_fixture.h"
#include "tests/aggregator/store/report_text.h"

#define SLOW "/alice-slow"

/* Whoever syncs a file of the slow job waits as long as the gate is closed. */
static struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_closed;
	uint32_t nr_waiting;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set_gate(bool is_closed)
{
	pthread_mutex_lock(&gate.lock);
	gate.is_closed = is_closed;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

static void until_it_stalls(void)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.nr_waiting == 0)
		pthread_cond_wait(&gate.changed, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

static void pass_gate(void)
{
	pthread_mutex_lock(&gate.lock);
	gate.nr_waiting++;
	pthread_cond_broadcast(&gate.changed);
	while (gate.is_closed)
		pthread_cond_wait(&gate.changed, &gate.lock);
	gate.nr_waiting--;
	pthread_mutex_unlock(&gate.lock);
}

static int sync_file(const char *name, int fd)
{
	int (*call)(int);
	char link[64], path[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, SLOW))
		pass_gate();
	*(void **)&call = dlsym(RTLD_NEXT, name);
	return call(fd);
}

/* SQLite calls these. */
int fsync(int fd)
{
	return sync_file("fsync", fd);
}

int fdatasync(int fd)
{
	return sync_file("fdatasync", fd);
}

static struct test_agent *join(struct aggregator_fixture *fixture, const char *key,
			       const struct scenario *scenario, char path[static PATH_MAX])
{
	const struct message_job job = job_fixture_job(key, 1);
	struct test_agent *agent = aggregator_fixture_connect(fixture);

	job_fixture_join(agent, scenario, &job, path);
	return agent;
}

/* The slow job's agent sends what follows its fourth message, up to this one, and its disk stalls. */
static struct test_agent *stall(struct aggregator_fixture *fixture, uint64_t last,
				char path[static PATH_MAX])
{
	const struct scenario *scenario = &fixture->scenarios[1];
	struct test_agent *agent = join(fixture, "slow", scenario, path);

	aggregator_fixture_send(agent, scenario, 1, 4);
	test_agent_expect_ack(agent, 4);
	set_gate(true);
	aggregator_fixture_send(agent, scenario, 5, 5);
	until_it_stalls();
	aggregator_fixture_send(agent, scenario, 6, last);
	return agent;
}

/* Returns the type of the next message to the agent, which has sent a ping behind all else. */
static enum message_type next_to_ping(struct test_agent *agent)
{
	const struct message ping = {.type = MESSAGE_PING, .ping = {.token = 7}};
	struct scenario_frame frame = scenario_encode(&ping);

	test_agent_send(agent, &frame);
	free(frame.bytes);
	return test_agent_receive(agent)->type;
}

static void end(struct test_agent *agent, const struct scenario *scenario, uint64_t first,
		const char *path)
{
	aggregator_fixture_send(agent, scenario, first, scenario->nr_frames);
	test_agent_expect_ack(agent, scenario->nr_frames);
	job_fixture_until_complete(agent, path);
	test_agent_close(agent);
}

static void assert_report(const char *path, const char *expected)
{
	char store[PATH_MAX];

	assert_int_equal(job_dir_file(path, JOB_DIR_STORE, store), 0);
	char *text = report_text_of(store);
	assert_string_equal(text, expected);
	free(text);
}

static void other_jobs_begin_go_on_and_end_while_a_disk_stalls(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct scenario *fast = &fixture->scenarios[0], *slow = &fixture->scenarios[1];
	char slow_path[PATH_MAX], fast_path[PATH_MAX], new_path[PATH_MAX];
	struct aggregator_status status;

	char *expected = aggregator_fixture_undisturbed(fixture, 1);
	aggregator_fixture_start(fixture);
	struct test_agent *fast_agent = join(fixture, "fast", fast, fast_path);
	struct test_agent *slow_agent = stall(fixture, slow->nr_frames - 1, slow_path);
	aggregator_fixture_send(fast_agent, fast, 1, fast->nr_frames - 1);
	test_agent_expect_ack(fast_agent, fast->nr_frames - 1);
	assert_int_equal(next_to_ping(slow_agent), MESSAGE_PONG); /* it lives, and has no answer */
	end(join(fixture, "new", fast, new_path), fast, 1, new_path);
	end(fast_agent, fast, fast->nr_frames, fast_path);
	assert_true(job_fixture_has_mark(slow_path));
	assert_true(test_agent_is_quiet(slow_agent));
	set_gate(false);
	end(slow_agent, slow, slow->nr_frames, slow_path);
	aggregator_status(fixture->aggregator, &status);
	assert_int_equal(status.dropped, 0);
	assert_int_equal(status.refused, 0);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_report(fast_path, expected);
	assert_report(new_path, expected);
	free(expected);
	job_fixture_assert_undisturbed(fixture, slow_path, slow);
}

/* As long as there is no room for the HELLO, either. Returns the durable_seq of the WELCOME. */
static uint64_t join_again(struct test_agent *agent, const struct scenario *scenario)
{
	const struct message_job job = job_fixture_job("slow", 1);
	const struct message *answer;

	do {
		job_fixture_say_hello(agent, scenario, &job);
		answer = test_agent_receive(agent);
		if (answer->type == MESSAGE_REFUSE)
			assert_int_equal(answer->refuse.code, REFUSE_LIMIT);
	} while (answer->type != MESSAGE_WELCOME);
	return answer->welcome.durable_seq;
}

static void what_finds_no_room_comes_again(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct scenario *slow = &fixture->scenarios[1];
	struct aggregator_status status;
	char path[PATH_MAX];

	fixture->frames_max = 4096;
	aggregator_fixture_start(fixture);
	struct test_agent *agent = stall(fixture, slow->nr_frames, path);
	const struct message_refuse *refuse = &test_agent_expect(agent, MESSAGE_REFUSE)->refuse;
	assert_int_equal(refuse->code, REFUSE_SEQUENCE); /* so agents connect again */
	set_gate(false);
	test_agent_close(agent);
	agent = aggregator_fixture_connect(fixture);
	uint64_t durable_seq = join_again(agent, slow);
	assert_in_range(durable_seq, 5, slow->nr_frames - 1);
	for (uint64_t seq = durable_seq + 1; seq < slow->nr_frames; seq++) {
		aggregator_fixture_send(agent, slow, seq, seq);
		test_agent_expect_ack(agent, seq);
	}
	end(agent, slow, slow->nr_frames, path);
	aggregator_status(fixture->aggregator, &status);
	assert_true(status.dropped > 0);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	fixture->frames_max = 0;
	job_fixture_assert_undisturbed(fixture, path, slow);
}

static void the_end_waits_for_the_disk_and_keeps_what_had_come(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct scenario *slow = &fixture->scenarios[1];
	char path[PATH_MAX];

	aggregator_fixture_start(fixture);
	struct test_agent *agent = stall(fixture, slow->nr_frames, path);
	assert_int_equal(next_to_ping(agent), MESSAGE_PONG); /* all has come */
	aggregator_stop(fixture->aggregator);
	set_gate(false);
	assert_int_equal(aggregator_fixture_join(fixture), 0);
	test_agent_expect_ack(agent, slow->nr_frames);
	test_agent_close(agent);
	job_fixture_assert_undisturbed(fixture, path, slow);
}

static int tear_down(void **state)
{
	set_gate(false);
	return job_fixture_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(other_jobs_begin_go_on_and_end_while_a_disk_stalls,
						job_fixture_set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_finds_no_room_comes_again, job_fixture_set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_end_waits_for_the_disk_and_keeps_what_had_come,
						job_fixture_set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
