/* An agent that runs in a thread of its own, in a directory of its own, and an aggregator that a test serves. */
#ifndef AGENT_FIXTURE_H
#define AGENT_FIXTURE_H

#include <pthread.h>

#include "node-agent/agent.h"
#include "tests/node-agent/guests/aggregator_view.h"

struct agent_fixture {
	char directory[64], socket[96], devices[96];
	struct aggregator_view view;
	struct agent *agent;
	pthread_t thread;
	int result; /* of agent_run() */
};

/* For cmocka. */
int agent_fixture_set_up(void **state);
int agent_fixture_tear_down(void **state);

/* Creates the agent with further options of its own; runs it; does both. */
void agent_fixture_create(struct agent_fixture *fixture, struct agent_options *options);
void agent_fixture_run(struct agent_fixture *fixture);
void agent_fixture_start(struct agent_fixture *fixture, struct agent_options *options);

/* Stops the agent, and serves it until it has said goodbye and ended. */
void agent_fixture_stop_and_serve(struct agent_fixture *fixture);

#endif
