#include "agent_fixture.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *run(void *argument)
{
	struct agent_fixture *fixture = argument;

	fixture->result = agent_run(fixture->agent);
	return NULL;
}

void agent_fixture_create(struct agent_fixture *fixture, struct agent_options *options)
{
	char *error = NULL;

	options->socket_path = fixture->socket;
	options->node_name = "node01";
	options->devices_path = fixture->devices;
	options->drain_interval_ms = 1;
	if (agent_create(options, &fixture->agent, &error))
		fail_msg("agent: %s", error);
}

void agent_fixture_run(struct agent_fixture *fixture)
{
	assert_int_equal(pthread_create(&fixture->thread, NULL, run, fixture), 0);
}

void agent_fixture_start(struct agent_fixture *fixture, struct agent_options *options)
{
	agent_fixture_create(fixture, options);
	agent_fixture_run(fixture);
}

int agent_fixture_set_up(void **state)
{
	struct agent_fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->directory, "/tmp/agent_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->socket, sizeof(fixture->socket), "%s/agent", fixture->directory);
	snprintf(fixture->devices, sizeof(fixture->devices), "%s/devices", fixture->directory);
	FILE *devices = fopen(fixture->devices, "we");
	fputs("3 0000:17:00.0 00000000000000000000000000000001 fake\n", devices);
	fclose(devices);
	aggregator_view_init(&fixture->view);
	*state = fixture;
	return 0;
}

int agent_fixture_tear_down(void **state)
{
	struct agent_fixture *fixture = *state;

	agent_destroy(fixture->agent);
	aggregator_view_fini(&fixture->view);
	unlink(fixture->devices);
	assert_int_equal(rmdir(fixture->directory), 0);
	free(fixture);
	return 0;
}

void agent_fixture_stop_and_serve(struct agent_fixture *fixture)
{
	agent_stop(fixture->agent);
	aggregator_view_serve_until_bye(&fixture->view);
	assert_int_equal(pthread_join(fixture->thread, NULL), 0);
}
