/* Jobs of a site's aggregator, as agents see them. */
#include "aggregator/service/job_table.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/service/job_dir.h"
#include "job_fixture.h"
#include "report/profile/profile.h"

#define JOBS 40u

static void each_job_has_a_profile_of_its_own(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char paths[2][PATH_MAX];
	struct test_agent *agents[2];

	aggregator_fixture_start(fixture);
	for (uint32_t i = 0; i < 2; i++) {
		const struct message_job job = job_fixture_job(i ? "12.1" : "12.0", 1);

		agents[i] = aggregator_fixture_connect(fixture);
		assert_int_equal(
			job_fixture_join(agents[i], &fixture->scenarios[i], &job, paths[i]), 0);
		assert_true(job_fixture_has_mark(paths[i]));
	}
	job_fixture_assert_name(paths[0], "alice-12.0");
	job_fixture_assert_name(paths[1], "alice-12.1");
	for (uint32_t i = 0; i < 2; i++) {
		const struct scenario *scenario = &fixture->scenarios[i];

		aggregator_fixture_send(agents[i], scenario, 1, scenario->nr_frames);
		test_agent_expect_ack(agents[i], scenario->nr_frames);
	}
	for (uint32_t i = 0; i < 2; i++) {
		job_fixture_until_complete(agents[i], paths[i]);
		test_agent_close(agents[i]);
	}
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	job_fixture_assert_undisturbed(fixture, paths[0], &fixture->scenarios[0]);
}

static void command(struct test_agent *who, const char *user, const char *key, uint64_t token)
{
	const struct message message = {.type = MESSAGE_CONTROL,
					.control = {.kind = CONTROL_ASK,
						    .token = token,
						    .action = 1,
						    .job_key = job_fixture_text(key),
						    .job_user = job_fixture_text(user)}};
	struct scenario_frame frame = scenario_encode(&message);

	test_agent_send(who, &frame);
	free(frame.bytes);
}

static void assert_commands(struct test_agent *who, const char *key, uint64_t token,
			    struct test_agent *whom)
{
	command(who, "alice", key, token);
	const struct message_control *order = &test_agent_expect(whom, MESSAGE_CONTROL)->control;
	assert_int_equal(order->kind, CONTROL_ORDER);
	assert_int_equal(order->token, token);
	const struct message_control *answer = &test_agent_expect(who, MESSAGE_CONTROL)->control;
	assert_int_equal(answer->kind, CONTROL_ANSWER);
	assert_int_equal(answer->nr_agents, 1);
}

static void assert_command_is_refused(struct test_agent *who, const char *user, const char *key,
				      const char *reason)
{
	command(who, user, key, 99);
	const struct message_refuse *refuse = &test_agent_expect(who, MESSAGE_REFUSE)->refuse;
	assert_int_equal(refuse->code, REFUSE_UNDEFINED);
	assert_int_equal(refuse->reason.size, strlen(reason));
	assert_memory_equal(refuse->reason.data, reason, strlen(reason));
}

static void a_command_reaches_the_job_that_it_names(void **state)
{
	static const char *const keys[] = {"12.0", "12.1", "120.0"};
	static const char not_there[] = "no such job of this user has a profile that is open";
	struct aggregator_fixture *fixture = *state;
	struct test_agent *agents[3];
	char paths[3][PATH_MAX];

	aggregator_fixture_start(fixture);
	struct test_agent *who = aggregator_fixture_connect(fixture);
	for (uint32_t i = 0; i < 3; i++) {
		const struct message_job job = job_fixture_job(keys[i], 1);

		agents[i] = aggregator_fixture_connect(fixture);
		job_fixture_join(agents[i], &fixture->scenarios[i % 2], &job, paths[i]);
	}
	assert_commands(who, "12.0", 1, agents[0]);
	assert_commands(who, "12.1", 2, agents[1]);
	assert_commands(who, "120", 3, agents[2]); /* the only one that begins so */
	assert_command_is_refused(who, "alice", "12",
				  "several steps of it have a profile that is open: say which");
	assert_command_is_refused(who, "alice", "1", not_there);
	assert_command_is_refused(who, "alice", "12.", not_there);
	assert_command_is_refused(who, "bob", "12.0", not_there);
	assert_command_is_refused(who, "", "12.0", not_there);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(test_agent_is_quiet(agents[i]));
	aggregator_fixture_send(agents[1], &fixture->scenarios[1], 1,
				fixture->scenarios[1].nr_frames);
	job_fixture_until_complete(agents[1], paths[1]);
	assert_commands(who, "12", 4, agents[0]); /* now the only one */
	for (uint32_t i = 0; i < 3; i++)
		test_agent_close(agents[i]);
	test_agent_close(who);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void a_job_waits_for_all_of_its_nodes(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_job job = job_fixture_job("5", 2);
	char path[PATH_MAX], same[PATH_MAX];

	fixture->wait_nodes_ms = 1000000;
	aggregator_fixture_start(fixture);
	struct test_agent *agents[2] = {aggregator_fixture_connect(fixture),
					aggregator_fixture_connect(fixture)};
	job_fixture_join(agents[0], &fixture->scenarios[0], &job, path);
	aggregator_fixture_send(agents[0], &fixture->scenarios[0], 1,
				fixture->scenarios[0].nr_frames);
	test_agent_expect_ack(agents[0], fixture->scenarios[0].nr_frames);
	assert_true(job_fixture_has_mark(path));
	job_fixture_join(agents[1], &fixture->scenarios[1], &job, same);
	assert_string_equal(same, path);
	aggregator_fixture_send(agents[1], &fixture->scenarios[1], 1,
				fixture->scenarios[1].nr_frames);
	test_agent_expect_ack(agents[1], fixture->scenarios[1].nr_frames);
	job_fixture_until_complete(agents[1], path);
	for (uint32_t i = 0; i < 2; i++)
		test_agent_close(agents[i]);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

/* A while is a millisecond: on a busy machine the job may be complete before its frames come. */
static void await_ack_or_refusal(struct test_agent *agent, uint64_t seq)
{
	const struct message *message;

	do
		message = test_agent_receive(agent);
	while (message->type != MESSAGE_REFUSE &&
	       !(message->type == MESSAGE_ACK && message->ack.seq >= seq));
}

static void a_job_without_a_goodbye_is_complete_after_a_while(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_job job = job_fixture_job("6", 1);
	char path[PATH_MAX];

	fixture->wait_silent_ms = fixture->wait_nodes_ms = 1;
	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	struct test_agent *other = aggregator_fixture_connect(fixture);
	job_fixture_join(agent, &fixture->scenarios[0], &job, path);
	aggregator_fixture_send(agent, &fixture->scenarios[0], 1, 5);
	await_ack_or_refusal(agent, 5);
	job_fixture_until_complete(other, path);

	/* Whoever it is comes too late. Frames that came too late were refused, too, each by itself. */
	job_fixture_say_hello(agent, &fixture->scenarios[0], &job);
	while (test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code != REFUSE_UNDEFINED)
		;
	test_agent_close(agent);
	test_agent_close(other);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void who_has_said_goodbye_may_ask_how_far_it_came(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_job job = job_fixture_job("7", 1);
	const struct scenario *scenario = &fixture->scenarios[0];
	char path[PATH_MAX], again[PATH_MAX];

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	job_fixture_join(agent, scenario, &job, path);
	aggregator_fixture_send(agent, scenario, 1, scenario->nr_frames);
	job_fixture_until_complete(agent, path);
	job_fixture_say_hello(agent, scenario, &job);
	assert_int_equal(test_agent_expect(agent, MESSAGE_WELCOME)->welcome.durable_seq,
			 scenario->nr_frames);

	/* Another agent under the same name is of another job. */
	job_fixture_join(agent, &fixture->scenarios[1], &job, again);
	job_fixture_assert_name(again, "alice-7.2");
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void a_job_goes_on_after_a_restart(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_job job = job_fixture_job("8", 1);
	const struct scenario *scenario = &fixture->scenarios[0];
	char path[PATH_MAX], same[PATH_MAX];

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	job_fixture_join(agent, scenario, &job, path);
	aggregator_fixture_send(agent, scenario, 1, 7);
	test_agent_expect_ack(agent, 7);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_true(job_fixture_has_mark(path));

	aggregator_fixture_start(fixture);
	agent = aggregator_fixture_connect(fixture);
	assert_int_equal(job_fixture_join(agent, scenario, &job, same), 7);
	assert_string_equal(same, path);
	aggregator_fixture_send(agent, scenario, 8, scenario->nr_frames);
	job_fixture_until_complete(agent, path);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	job_fixture_assert_undisturbed(fixture, path, scenario);
}

static void names_stay_within_the_directory(void **state)
{
	static const char *const keys[][2] = {
		{"../../etc/passwd", "alice-.._.._etc_passwd"},
		{"a;b$(c)", "alice-a_b__c_"},
		{"n@1,x=2+3-4", "alice-n@1,x=2+3-4"},
	};
	struct aggregator_fixture *fixture = *state;
	char path[PATH_MAX], parent[PATH_MAX];

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	for (uint32_t i = 0; i < 3; i++) {
		const struct message_job job = job_fixture_job(keys[i][0], 1);

		job_fixture_join(agent, &fixture->scenarios[0], &job, path);
		job_fixture_assert_name(path, keys[i][1]);
		assert_non_null(realpath(fixture->jobs_path, parent));
		assert_memory_equal(path, parent, strlen(parent));
	}
	struct message_job hidden = job_fixture_job("..", 1);
	hidden.user.size = 0;
	job_fixture_join(agent, &fixture->scenarios[0], &hidden, path);
	job_fixture_assert_name(path, "_.");
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void names_that_there_cannot_be_are_refused(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char long_key[MESSAGE_JOB_NAME_MAX + 2];
	const char *const keys[] = {"a b", "a\nflags 1", "\x7f", "caf\xc3\xa9", long_key};

	memset(long_key, 'x', sizeof(long_key) - 1);
	long_key[sizeof(long_key) - 1] = '\0';
	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	for (uint32_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct message_job job = job_fixture_job(keys[i], 1);

		job_fixture_say_hello(agent, &fixture->scenarios[0], &job);
		assert_int_equal(test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code,
				 REFUSE_MALFORMED);
		job = job_fixture_job("k", 1);
		job.user = job_fixture_text(keys[i]);
		job_fixture_say_hello(agent, &fixture->scenarios[0], &job);
		assert_int_equal(test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code,
				 REFUSE_MALFORMED);
	}
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_int_equal(rmdir(fixture->jobs_path), 0); /* nothing was made */
}

static void a_directory_that_cannot_be_is_refused_at_the_start(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct aggregator_options options = {
		.store_path = fixture->path,
		.jobs_path = "/proc/nowhere/jobs",
	};
	struct aggregator *aggregator;
	char *error;

	assert_int_equal(aggregator_create(&options, &aggregator, &error), -ENOENT);
	assert_null(aggregator);
	assert_non_null(strstr(error, "/proc/nowhere/jobs"));
	free(error);
}

static void a_mark_that_is_damaged_is_left_alone(void **state)
{
	static const char *const marks[] = {"key\n", "key a\nnodes x\n", "user a\n",
					    "key a\nother 1\n"};
	struct aggregator_fixture *fixture = *state;
	char path[PATH_MAX], file[PATH_MAX], *error;
	struct job_mark mark;
	enum job_dir_state found;

	assert_int_equal(mkdir(fixture->jobs_path, 0700), 0);
	snprintf(path, sizeof(path), "%s/odd", fixture->jobs_path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(job_dir_read(path, &mark, &found, &error), -ENOENT);
	free(error);
	assert_int_equal(job_dir_file(path, JOB_DIR_MARK, file), 0);
	for (uint32_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		FILE *out = fopen(file, "w");

		assert_non_null(out);
		fputs(marks[i], out);
		assert_int_equal(fclose(out), 0);
		assert_int_equal(chmod(file, 0600), 0);
		assert_int_equal(job_dir_read(path, &mark, &found, &error), -EINVAL);
		assert_non_null(strstr(error, file));
		free(error);
	}
	aggregator_fixture_start(fixture);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_true(job_fixture_has_mark(path));
}

static uint32_t count_entries(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	uint32_t count = 0;

	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL)
		count += *entry->d_name != '.';
	closedir(directory);
	return count;
}

static rlim_t set_limit(int resource, rlim_t soft)
{
	struct rlimit limit;
	rlim_t before;

	assert_int_equal(getrlimit(resource, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = soft;
	assert_int_equal(setrlimit(resource, &limit), 0);
	return before;
}

/* Of a store that rests: this process has no other lock on it. */
static void assert_is_live(const char *path)
{
	char store[PATH_MAX];
	struct profile *profile;
	char *error;

	assert_int_equal(job_dir_file(path, JOB_DIR_STORE, store), 0);
	if (profile_load(store, &profile, &error))
		fail_msg("%s", error);
	assert_true(profile->written);
	assert_false(profile->abandoned);
	profile_destroy(profile);
}

/* As many stores would need 160 descriptors. */
static void more_jobs_than_descriptors_are_idle_and_go_on(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct scenario *scenario = &fixture->scenarios[0];
	char key[16], path[PATH_MAX], first[PATH_MAX];
	rlim_t before = set_limit(RLIMIT_NOFILE, 140);
	struct test_agent *agent;

	aggregator_fixture_start(fixture);
	for (uint32_t i = 0; i < JOBS; i++) {
		struct message_job job = job_fixture_job("", 1);

		snprintf(key, sizeof(key), "%u", i);
		job.key = job_fixture_text(key);
		agent = aggregator_fixture_connect(fixture);
		assert_int_equal(job_fixture_join(agent, scenario, &job, i ? path : first), 0);
		aggregator_fixture_send(agent, scenario, 1, 4);
		test_agent_expect_ack(agent, 4);
		test_agent_close(agent);
	}
	assert_int_equal(count_entries(fixture->jobs_path), JOBS);
	assert_is_live(first);
	/* The goodbye is the last one's alone, as all have one epoch. */
	for (uint32_t i = 0; i < JOBS; i += JOBS / 4) {
		uint64_t last = scenario->nr_frames - (i < JOBS - JOBS / 4);
		struct message_job job = job_fixture_job("", 1);

		snprintf(key, sizeof(key), "%u", i);
		job.key = job_fixture_text(key);
		agent = aggregator_fixture_connect(fixture);
		assert_int_equal(job_fixture_join(agent, scenario, &job, path), 4);
		aggregator_fixture_send(agent, scenario, 5, last);
		test_agent_expect_ack(agent, last);
		if (last == scenario->nr_frames)
			job_fixture_until_complete(agent, path);
		test_agent_close(agent);
	}
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	set_limit(RLIMIT_NOFILE, before);
	fixture->jobs_path = NULL;
	job_fixture_assert_undisturbed(fixture, path, scenario);
}

static void a_job_that_cannot_begin_leaves_nothing_and_begins_later(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_job job = job_fixture_job("17", 1);
	char path[PATH_MAX];

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	signal(SIGXFSZ, SIG_IGN);
	rlim_t before = set_limit(RLIMIT_FSIZE, 1024); /* room for the mark, and none for a store */
	for (int i = 0; i < 3; i++) {
		job_fixture_say_hello(agent, &fixture->scenarios[0], &job);
		assert_int_equal(test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code,
				 REFUSE_STORE);
		assert_int_equal(count_entries(fixture->jobs_path), 0);
	}
	set_limit(RLIMIT_FSIZE, before);
	assert_int_equal(job_fixture_join(agent, &fixture->scenarios[0], &job, path), 0);
	job_fixture_assert_name(path, "alice-17");
	assert_int_equal(count_entries(fixture->jobs_path), 1);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void a_job_whose_profile_is_deleted_is_closed_and_others_go_on(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_job gone = job_fixture_job("1", 1), stays = job_fixture_job("2", 1);
	struct test_agent *agents[2];
	char paths[2][PATH_MAX], store[PATH_MAX];

	aggregator_fixture_start(fixture);
	for (uint32_t i = 0; i < 2; i++) {
		agents[i] = aggregator_fixture_connect(fixture);
		assert_int_equal(job_fixture_join(agents[i], &fixture->scenarios[i],
						  i ? &stays : &gone, paths[i]),
				 0);
		aggregator_fixture_send(agents[i], &fixture->scenarios[i], 1, 4);
		test_agent_expect_ack(agents[i], 4);
	}
	assert_int_equal(job_dir_file(paths[0], JOB_DIR_STORE, store), 0);
	assert_int_equal(unlink(store), 0);
	/* One alone: of those that come after the job was closed, each is refused for want of a HELLO. */
	aggregator_fixture_send(agents[0], &fixture->scenarios[0], 5, 5);
	assert_int_equal(test_agent_expect(agents[0], MESSAGE_REFUSE)->refuse.code, REFUSE_STORE);
	job_fixture_say_hello(agents[0], &fixture->scenarios[0], &gone);
	assert_int_equal(test_agent_expect(agents[0], MESSAGE_REFUSE)->refuse.code,
			 REFUSE_UNDEFINED);
	aggregator_fixture_send(agents[1], &fixture->scenarios[1], 5,
				fixture->scenarios[1].nr_frames);
	test_agent_expect_ack(agents[1], fixture->scenarios[1].nr_frames);
	job_fixture_until_complete(agents[1], paths[1]);
	test_agent_close(agents[0]);
	test_agent_close(agents[1]);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

/* What is in hand at the end is stored, whichever other job is closed in the same round. */
static void a_job_whose_profile_is_deleted_takes_none_with_it_at_the_end(void **state)
{
	enum { JOBS_AT_ONCE = 3 };
	static const char *const keys[JOBS_AT_ONCE] = {"1", "2", "3"};
	struct aggregator_fixture *fixture = *state;
	struct test_agent *agents[JOBS_AT_ONCE];
	char paths[JOBS_AT_ONCE][PATH_MAX], same[PATH_MAX], store[PATH_MAX];

	aggregator_fixture_start_with(fixture, 3600000);
	for (uint32_t i = 0; i < JOBS_AT_ONCE; i++) {
		const struct message ping = {.type = MESSAGE_PING, .ping.token = 1};
		const struct message_job job = job_fixture_job(keys[i], 1);
		struct scenario_frame frame = scenario_encode(&ping);

		agents[i] = aggregator_fixture_connect(fixture);
		job_fixture_join(agents[i], &fixture->scenarios[0], &job, paths[i]);
		aggregator_fixture_send(agents[i], &fixture->scenarios[0], 1, 4);
		test_agent_send(agents[i], &frame); /* all before it was taken in */
		test_agent_expect(agents[i], MESSAGE_PONG);
		free(frame.bytes);
	}
	assert_int_equal(job_dir_file(paths[0], JOB_DIR_STORE, store), 0);
	assert_int_equal(unlink(store), 0);
	for (uint32_t i = 0; i < JOBS_AT_ONCE; i++)
		test_agent_close(agents[i]);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);

	aggregator_fixture_start(fixture);
	for (uint32_t i = 1; i < JOBS_AT_ONCE; i++) {
		const struct message_job job = job_fixture_job(keys[i], 1);

		agents[i] = aggregator_fixture_connect(fixture);
		assert_int_equal(job_fixture_join(agents[i], &fixture->scenarios[0], &job, same),
				 4);
		assert_string_equal(same, paths[i]);
		test_agent_close(agents[i]);
	}
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static void one_aggregator_at_a_time_has_a_directory(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct job_table_options options = {.directory = fixture->jobs_path};
	struct job_table *first, *second;
	char *error;

	assert_int_equal(job_table_create(&options, 1, &first, &error), 0);
	assert_int_equal(job_table_create(&options, 1, &second, &error), -EBUSY);
	assert_null(second);
	assert_non_null(strstr(error, "another aggregator"));
	free(error);
	job_table_destroy(first);
	assert_int_equal(job_table_create(&options, 1, &second, &error), 0);
	job_table_destroy(second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, job_fixture_set_up, job_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_job_has_a_profile_of_its_own),
		TEST(a_command_reaches_the_job_that_it_names),
		TEST(a_job_waits_for_all_of_its_nodes),
		TEST(a_job_without_a_goodbye_is_complete_after_a_while),
		TEST(who_has_said_goodbye_may_ask_how_far_it_came),
		TEST(a_job_goes_on_after_a_restart),
		TEST(names_stay_within_the_directory),
		TEST(names_that_there_cannot_be_are_refused),
		TEST(a_directory_that_cannot_be_is_refused_at_the_start),
		TEST(a_mark_that_is_damaged_is_left_alone),
		TEST(more_jobs_than_descriptors_are_idle_and_go_on),
		TEST(a_job_that_cannot_begin_leaves_nothing_and_begins_later),
		TEST(a_job_whose_profile_is_deleted_is_closed_and_others_go_on),
		TEST(a_job_whose_profile_is_deleted_takes_none_with_it_at_the_end),
		TEST(one_aggregator_at_a_time_has_a_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
