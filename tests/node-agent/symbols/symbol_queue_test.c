#include "tests/support/cmocka_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/base/agent_task.h"
#include "node-agent/symbols/symbol_queue.h"
#include "node-agent/symbols/symbolizer.h"

static void add_place(struct symbol_queue *queue, uint32_t module_id, uid_t owner)
{
	const struct symbolizer_module place = {
		.module_id = module_id, .owner = owner, .path = "/lib.so"};

	assert_int_equal(symbol_queue_add_place(queue, &place), 0);
}

static void add_request(struct symbol_queue *queue, uint32_t frame_id, uint32_t module_id)
{
	const struct symbol_request request = {.frame_id = frame_id, .module_id = module_id};

	assert_int_equal(symbol_queue_add_request(queue, &request), 0);
}

static void expect_place(struct symbol_line *line, uint32_t module_id)
{
	struct symbolizer_module place;

	assert_non_null(line);
	assert_true(symbol_line_place(line, &place));
	assert_int_equal(place.module_id, module_id);
	assert_string_equal(place.path, "/lib.so");
	free((char *)place.path);
}

static void expect_request(struct symbol_line *line, uint32_t frame_id)
{
	struct symbolizer_module place;
	struct symbol_request request;

	assert_non_null(line);
	assert_false(symbol_line_place(line, &place));
	assert_true(symbol_line_request(line, &request));
	assert_int_equal(request.frame_id, frame_id);
}

/* Two users beside root and us, who are one. */
static void lines_take_turns_by_user(void **state)
{
	const uid_t other = geteuid() + 1, third = geteuid() + 2;
	struct symbol_queue queue = {0};

	(void)state;
	assert_null(symbol_queue_take(&queue));
	assert_false(symbol_queue_waits(&queue));
	for (uint32_t i = 0; i < 100; i++)
		add_place(&queue, 100 + i, other);
	add_place(&queue, 1, third);
	add_place(&queue, 2, 0);
	add_place(&queue, 3, geteuid());
	add_request(&queue, 7, 1);
	add_request(&queue, 8, 5000); /* of a module without a place */

	struct symbol_line *served = symbol_queue_take(&queue);
	expect_place(served, 100);
	struct symbol_line *line = symbol_queue_take(&queue);
	expect_place(line, 1);
	symbol_queue_give(&queue, line);
	line = symbol_queue_take(&queue);
	expect_place(line, 2);
	symbol_queue_give(&queue, line);
	line = symbol_queue_take(&queue);
	expect_request(line, 7);
	symbol_queue_give(&queue, line);
	line = symbol_queue_take(&queue);
	expect_place(line, 3);
	expect_request(line, 8);
	symbol_queue_give(&queue, line);

	/* What waits behind what a worker does for its user waits. */
	assert_false(symbol_queue_waits(&queue));
	assert_null(symbol_queue_take(&queue));
	symbol_queue_give(&queue, served);
	assert_true(symbol_queue_waits(&queue));
	for (uint32_t i = 1; i < 100; i++) {
		line = symbol_queue_take(&queue);
		expect_place(line, 100 + i);
		symbol_queue_give(&queue, line);
	}
	assert_null(symbol_queue_take(&queue));
	symbol_queue_fini(&queue);
}

/* One less than there are workers. */
static void users_leave_the_last_worker_to_root(void **state)
{
	enum { USERS = SYMBOL_QUEUE_SERVED_MAX - 1 };
	struct symbol_line *lines[USERS];
	struct symbol_queue queue = {0};

	(void)state;
	for (uint32_t i = 0; i <= USERS; i++)
		add_place(&queue, i, geteuid() + 1 + i);
	for (uint32_t i = 0; i < USERS; i++)
		assert_non_null(lines[i] = symbol_queue_take(&queue));
	assert_false(symbol_queue_waits(&queue));
	assert_null(symbol_queue_take(&queue));

	add_place(&queue, 1000, 0);
	assert_true(symbol_queue_waits(&queue));
	struct symbol_line *line = symbol_queue_take(&queue);
	expect_place(line, 1000);
	symbol_queue_give(&queue, line);
	assert_null(symbol_queue_take(&queue));

	/* The next user's line waits until a worker comes back from one of the others. */
	expect_place(lines[0], 0);
	symbol_queue_give(&queue, lines[0]);
	line = symbol_queue_take(&queue);
	expect_place(line, USERS);
	symbol_queue_give(&queue, line);
	for (uint32_t i = 1; i < USERS; i++)
		symbol_queue_give(&queue, lines[i]);
	symbol_queue_fini(&queue);
}

/* Nothing is lost or doubled while as much comes as goes, and memory is used again. */
static void a_line_that_is_never_empty_keeps_its_order(void **state)
{
	struct symbol_queue queue = {0};
	struct symbol_request request;
	uint32_t added = 0, taken = 0;

	(void)state;
	while (added < 10)
		add_request(&queue, added++, 1);
	struct symbol_line *line = symbol_queue_take(&queue);
	while (added < 10000) {
		add_request(&queue, added++, 1);
		assert_true(symbol_line_request(line, &request));
		assert_int_equal(request.frame_id, taken++);
	}
	while (taken < added) {
		assert_true(symbol_line_request(line, &request));
		assert_int_equal(request.frame_id, taken++);
	}
	assert_false(symbol_line_request(line, &request));
	add_place(&queue, 1, 0); /* goes with the queue */
	symbol_queue_give(&queue, line);
	symbol_queue_fini(&queue);
}

static uint32_t nr_wanted, nr_unwanted;

static void count_task(struct agent_task *task, bool wanted)
{
	(void)task;
	nr_wanted += wanted;
	nr_unwanted += !wanted;
}

static void tasks_and_names_of_a_user_alternate(void **state)
{
	struct agent_task tasks[] = {{count_task}, {count_task}, {count_task}};
	struct symbol_queue queue = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(symbol_queue_add_task(&queue, geteuid() + 1, &tasks[i]), 0);
	struct symbol_line *line = symbol_queue_take(&queue);
	assert_non_null(line);
	assert_ptr_equal(symbol_line_task(line), &tasks[0]);
	assert_ptr_equal(symbol_line_task(line), &tasks[1]); /* no name waits */
	symbol_queue_give(&queue, line);
	add_place(&queue, 1, geteuid() + 1);
	add_request(&queue, 5, 1);
	line = symbol_queue_take(&queue);
	expect_place(line, 1);
	assert_null(symbol_line_task(line));
	assert_ptr_equal(symbol_line_task(line), &tasks[2]);
	expect_request(line, 5);
	assert_null(symbol_line_task(line));
	symbol_queue_give(&queue, line);
	assert_null(symbol_queue_take(&queue));
	symbol_queue_fini(&queue);
	assert_int_equal(nr_wanted + nr_unwanted, 0);
}

static void tasks_that_no_worker_took_are_told_so(void **state)
{
	struct agent_task task = {count_task};
	struct symbol_queue queue = {0};

	(void)state;
	nr_wanted = nr_unwanted = 0;
	assert_int_equal(symbol_queue_add_task(&queue, 0, &task), 0);
	assert_int_equal(symbol_queue_add_task(&queue, geteuid() + 1, &task), 0);
	symbol_queue_fini(&queue);
	assert_int_equal(nr_wanted, 0);
	assert_int_equal(nr_unwanted, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_take_turns_by_user),
		cmocka_unit_test(users_leave_the_last_worker_to_root),
		cmocka_unit_test(a_line_that_is_never_empty_keeps_its_order),
		cmocka_unit_test(tasks_and_names_of_a_user_alternate),
		cmocka_unit_test(tasks_that_no_worker_took_are_told_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
