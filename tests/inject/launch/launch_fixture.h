/* Launches through launch_callback.h, with a ring. */
#ifndef LAUNCH_FIXTURE_H
#define LAUNCH_FIXTURE_H

#include "inject/base/definition_writer.h"
#include "inject/launch/launch_callback.h"
#include "inject/module_watch.h"
#include "proto/ledger.h"
#include "tests/inject/test_ring.h"

struct launch_fixture {
	struct test_ring ring;
	struct launch_callback launch;
	struct definition_writer writer;
	struct module_watch *watch;
	/* What the launching thread does. */
	void (*body)(struct launch_fixture *fixture);
	uint32_t tid;
};

int launch_fixture_set_up(void **state);
int launch_fixture_tear_down(void **state);

/* Enter and leave a call of CUDA. */
void launch_fixture_call(struct launch_fixture *fixture, uint32_t cbid, uint32_t id);
void launch_fixture_end(struct launch_fixture *fixture, uint32_t cbid, uint32_t id, int result);

/* A thread of its own for each test: thread state belongs to one ring for good. */
void launch_fixture_on_a_thread(struct launch_fixture *fixture,
				void (*body)(struct launch_fixture *fixture));

/* A body: two launches from one place, with the ids 10 and 11. */
void launch_fixture_twice(struct launch_fixture *fixture);

uint64_t launch_fixture_count(struct launch_fixture *fixture, enum ledger_reason reason);

#endif
