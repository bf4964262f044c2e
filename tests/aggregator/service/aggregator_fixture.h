/* An aggregator on a thread of its own, a store in a folder of its own, and agents' lives to play to
 * it: anew for each test. Fails the running test on any error. */
#ifndef AGGREGATOR_FIXTURE_H
#define AGGREGATOR_FIXTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "aggregator/service/aggregator.h"
#include "test_agent.h"
#include "tests/aggregator/store/scenario.h"

#define AGGREGATOR_FIXTURE_SCENARIOS 2u

struct aggregator_fixture {
	char folder[64];
	char path[96];            /* of the store, in the folder */
	char nodes_path[112];     /* of the nodes' profiles, in the folder */
	char socket_endpoint[96]; /* in the folder; nobody listens there unless told to */
	struct scenario scenarios[AGGREGATOR_FIXTURE_SCENARIOS];
	void *context;    /* ZeroMQ's, shared with the agents; owns */
	bool raw_samples; /* from the next start on, as the next six */
	const char *jobs_path;
	struct metrics_board *board;
	bool takes_links;
	uint32_t wait_nodes_ms, wait_silent_ms;
	uint64_t frames_max;
	struct aggregator *aggregator; /* between start and stop; owns */
	bool has_thread;
	pthread_t thread;
};

/* For cmocka: *state is a struct aggregator_fixture from set_up until tear_down, which stops what a test that failed
 * has left running. */
int aggregator_fixture_set_up(void **state);
int aggregator_fixture_tear_down(void **state);

/* Commits every millisecond, or at that interval. */
void aggregator_fixture_start(struct aggregator_fixture *fixture);
void aggregator_fixture_start_with(struct aggregator_fixture *fixture, uint32_t commit_interval_ms);

/* Returns what aggregator_run() did. */
int aggregator_fixture_stop(struct aggregator_fixture *fixture);

/* Waits for it to end by itself; the same. */
int aggregator_fixture_join(struct aggregator_fixture *fixture);

/* Another agent of the started aggregator. */
struct test_agent *aggregator_fixture_connect(struct aggregator_fixture *fixture);

/* A whole life in one go; the goodbye is acknowledged at once. */
void aggregator_fixture_play(struct aggregator_fixture *fixture, const struct scenario *scenario);

/* Sends the frames first to last, both included, by their sequence numbers. */
void aggregator_fixture_send(struct test_agent *agent, const struct scenario *scenario,
			     uint64_t first, uint64_t last);

/* What undisturbed runs of the first nr scenarios give; no store is left. Owns: free(). */
char *aggregator_fixture_undisturbed(struct aggregator_fixture *fixture, uint32_t nr);

/* Asserts that the store says what is expected. Takes expected. */
void aggregator_fixture_assert_report(struct aggregator_fixture *fixture, char *expected);

#endif
