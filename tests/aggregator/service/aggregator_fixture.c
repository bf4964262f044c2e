#include "aggregator_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "tests/aggregator/store/report_text.h"

#define ENDPOINT "inproc://aggregator"

static void remove_store(struct aggregator_fixture *fixture)
{
	static const char *const endings[] = {"", "-wal", "-shm"};
	char name[128];

	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s", fixture->path, endings[i]);
		unlink(name);
	}
}

int aggregator_fixture_set_up(void **state)
{
	struct aggregator_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	*state = fixture;
	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/flamegrid_aggregator_XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/profile.db", fixture->folder);
	snprintf(fixture->nodes_path, sizeof(fixture->nodes_path), "%s.nodes", fixture->path);
	snprintf(fixture->socket_endpoint, sizeof(fixture->socket_endpoint), "ipc://%s/socket",
		 fixture->folder);
	for (uint32_t i = 0; i < AGGREGATOR_FIXTURE_SCENARIOS; i++)
		scenario_init(&fixture->scenarios[i], i);
	fixture->context = zmq_ctx_new();
	return fixture->context ? 0 : -1;
}

int aggregator_fixture_tear_down(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char name[128];
	int err;

	if (fixture->has_thread) /* its sockets would hold up the end of the context for ever */
		aggregator_fixture_stop(fixture);
	for (uint32_t i = 0; i < AGGREGATOR_FIXTURE_SCENARIOS; i++)
		scenario_fini(&fixture->scenarios[i]);
	test_agent_close_all();
	zmq_ctx_term(fixture->context);
	remove_store(fixture);
	unlink(fixture->nodes_path);
	snprintf(name, sizeof(name), "%s/socket", fixture->folder);
	unlink(name);
	snprintf(name, sizeof(name), "%s/socket.lock", fixture->folder); /* of a killed one */
	unlink(name);
	err = rmdir(fixture->folder);
	free(fixture);
	return err;
}

static void *run(void *argument)
{
	return (void *)(intptr_t)aggregator_run(argument);
}

void aggregator_fixture_start_with(struct aggregator_fixture *fixture, uint32_t commit_interval_ms)
{
	const char *endpoint = ENDPOINT;
	struct aggregator_options options = {
		.endpoints = &endpoint,
		.nr_endpoints = 1,
		.zmq_context = fixture->context,
		.store_path = fixture->path,
		.title = "a test",
		.commit_interval_ms = commit_interval_ms,
		.raw_samples = fixture->raw_samples,
		.jobs_path = fixture->jobs_path,
		.board = fixture->board,
		.pages_path = fixture->takes_links ? fixture->nodes_path : NULL,
		.wait_nodes_ms = fixture->wait_nodes_ms,
		.wait_silent_ms = fixture->wait_silent_ms,
		.frames_max = fixture->frames_max,
	};
	char *error;

	if (aggregator_create(&options, &fixture->aggregator, &error))
		fail_msg("%s", error);
	assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture->aggregator), 0);
	fixture->has_thread = true;
}

void aggregator_fixture_start(struct aggregator_fixture *fixture)
{
	aggregator_fixture_start_with(fixture, 1);
}

int aggregator_fixture_stop(struct aggregator_fixture *fixture)
{
	aggregator_stop(fixture->aggregator);
	return aggregator_fixture_join(fixture);
}

int aggregator_fixture_join(struct aggregator_fixture *fixture)
{
	void *result;

	pthread_join(fixture->thread, &result);
	fixture->has_thread = false;
	aggregator_destroy(fixture->aggregator);
	return (int)(intptr_t)result;
}

struct test_agent *aggregator_fixture_connect(struct aggregator_fixture *fixture)
{
	return test_agent_connect(fixture->context, ENDPOINT);
}

void aggregator_fixture_send(struct test_agent *agent, const struct scenario *scenario,
			     uint64_t first, uint64_t last)
{
	for (uint64_t seq = first; seq <= last; seq++)
		test_agent_send(agent, &scenario->frames[seq - 1]);
}

void aggregator_fixture_play(struct aggregator_fixture *fixture, const struct scenario *scenario)
{
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	uint64_t durable_seq = test_agent_hello(agent, scenario);

	aggregator_fixture_send(agent, scenario, durable_seq + 1, scenario->nr_frames);
	test_agent_expect_ack(agent, scenario->nr_frames);
	test_agent_close(agent);
}

char *aggregator_fixture_undisturbed(struct aggregator_fixture *fixture, uint32_t nr)
{
	aggregator_fixture_start(fixture);
	for (uint32_t i = 0; i < nr; i++)
		aggregator_fixture_play(fixture, &fixture->scenarios[i]);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	char *text = report_text_of(fixture->path);
	remove_store(fixture);
	return text;
}

void aggregator_fixture_assert_report(struct aggregator_fixture *fixture, char *expected)
{
	char *text = report_text_of(fixture->path);

	assert_string_equal(text, expected);
	free(text);
	free(expected);
}
