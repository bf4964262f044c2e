#include "launch_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/base/stack_table.h"
#include "inject/launch/launch_thread.h"
#include "unwind/unwind_table.h"

int launch_fixture_set_up(void **state)
{
	struct launch_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_int_equal(launch_thread_init(LAUNCH_THREADS_KEPT), 0);
	test_ring_init(&fixture->ring);
	fixture->launch.ring = fixture->ring.guest;
	fixture->writer = DEFINITION_WRITER_INIT(fixture->ring.guest);
	fixture->launch.capture = (struct stack_capture){
		.ring = fixture->ring.guest,
		.stacks = stack_table_create(fixture->ring.guest),
		.tables = unwind_tables_create(UNWIND_BYTES_MAX),
		.python = python_frames_create(fixture->ring.guest),
		.options = STACK_OPTIONS_DEFAULT,
	};
	fixture->watch = module_watch_create(&fixture->writer, fixture->launch.capture.tables);
	module_watch_poll(fixture->watch, true);
	unwind_tables_build(fixture->launch.capture.tables, UNWIND_BUILD_ALL);
	fixture->launch.window = 2;
	*state = fixture;
	return 0;
}

int launch_fixture_tear_down(void **state)
{
	struct launch_fixture *fixture = *state;

	module_watch_destroy(fixture->watch);
	python_frames_destroy(fixture->launch.capture.python);
	unwind_tables_destroy(fixture->launch.capture.tables);
	stack_table_destroy(fixture->launch.capture.stacks);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

__attribute__((noinline)) void launch_fixture_call(struct launch_fixture *fixture, uint32_t cbid,
						   uint32_t id)
{
	const struct cupti_callback_data data = {.site = CUPTI_ABI_API_ENTER, .correlation_id = id};

	launch_callback_enter(&fixture->launch, cbid, &data);
	__asm__ volatile("" ::: "memory");
}

void launch_fixture_end(struct launch_fixture *fixture, uint32_t cbid, uint32_t id, int result)
{
	const struct cupti_callback_data data = {
		.site = CUPTI_ABI_API_EXIT, .correlation_id = id, .return_value = &result};

	launch_callback_exit(&fixture->launch, cbid, &data);
}

static void *run_body(void *user)
{
	struct launch_fixture *fixture = user;

	fixture->tid = (uint32_t)syscall(SYS_gettid);
	fixture->body(fixture);
	return NULL;
}

void launch_fixture_on_a_thread(struct launch_fixture *fixture,
				void (*body)(struct launch_fixture *fixture))
{
	pthread_t thread;

	fixture->body = body;
	assert_int_equal(pthread_create(&thread, NULL, run_body, fixture), 0);
	pthread_join(thread, NULL);
}

uint64_t launch_fixture_count(struct launch_fixture *fixture, enum ledger_reason reason)
{
	return test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, reason).count;
}

void launch_fixture_twice(struct launch_fixture *fixture)
{
	volatile uint32_t end_id = 12; /* one place that calls, not two */

	for (uint32_t id = 10; id < end_id; id++) {
		launch_fixture_call(fixture, 307, id);
		launch_fixture_end(fixture, 307, id, 0);
	}
}
