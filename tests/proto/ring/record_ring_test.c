#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/definition.h"
#include "proto/ring/record_ring.h"
#include "proto/ring/record_ring_layout.h"
#include "record_ring_fixture.h"

static uint64_t ledger_count(const struct record_ring *agent, uint32_t device_id,
			     enum ledger_reason reason)
{
	static struct ledger_entry entries[RING_DEVICES * LEDGER_REASONS];
	int nr = record_ring_ledger(agent, entries, RING_DEVICES * LEDGER_REASONS);

	for (int i = 0; i < nr; i++)
		if (entries[i].device_id == device_id && entries[i].reason == reason)
			return entries[i].count;
	return 0;
}

static void launches_arrive_in_order_and_around_the_end(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	struct record_ring_snapshot snapshot;
	struct record_ring_position position;
	int lane = record_ring_claim_lane(pair.guest);
	uint32_t next = 1;

	(void)state;
	assert_int_equal(lane, 0);
	for (int round = 0; round < 10; round++) {
		struct launch_record out[64];

		for (uint32_t i = 0; i < 40; i++) {
			struct launch_record record = {.correlation_id = next + i};

			assert_true(record_ring_push_launch(pair.guest, 0, &record));
		}
		record_ring_snapshot(pair.agent, &snapshot);
		assert_int_equal(snapshot.lanes, 1);
		assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out, 7), 7);
		assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out + 7, 57),
				 33);
		assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out, 64), 0);
		for (uint32_t i = 7; i < 40; i++)
			assert_int_equal(out[i].correlation_id, next + i);
		next += 40;
		assert_int_equal(record_ring_position(pair.agent, &position), 0);
		record_ring_release(pair.agent, &position);
		free(position.launch);
	}
	assert_int_equal(ledger_count(pair.agent, LEDGER_DEVICE_NONE, LEDGER_LAUNCHES), 400);
	record_ring_fixture_close(&pair);
}

static void a_full_lane_drops_the_newest_and_counts(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	struct record_ring_snapshot snapshot;
	struct launch_record out[64], record = {.time_ns = 1};

	(void)state;
	assert_int_equal(record_ring_claim_lane(pair.guest), 0);
	for (uint32_t i = 0; i < 64; i++) {
		record.correlation_id = i;
		assert_true(record_ring_push_launch(pair.guest, 0, &record));
	}
	assert_false(record_ring_push_launch(pair.guest, 0, &record));
	record_ring_snapshot(pair.agent, &snapshot);
	assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out, 64), 64);
	assert_int_equal(out[63].correlation_id, 63);
	assert_false(record_ring_push_launch(pair.guest, 0, &record)); /* read is not released */
	assert_int_equal(ledger_count(pair.agent, LEDGER_DEVICE_NONE, LEDGER_LAUNCHES), 66);
	assert_int_equal(ledger_count(pair.agent, LEDGER_DEVICE_NONE, LEDGER_LAUNCH_RING_FULL), 2);

	struct record_ring_position position;
	assert_int_equal(record_ring_position(pair.agent, &position), 0);
	record_ring_release(pair.agent, &position);
	free(position.launch);
	assert_true(record_ring_push_launch(pair.guest, 0, &record));
	record_ring_fixture_close(&pair);
}

static void only_a_crowded_lane_is_released_early(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	struct record_ring_snapshot snapshot;
	struct launch_record out[64], record = {.time_ns = 1};

	(void)state;
	assert_int_equal(record_ring_claim_lane(pair.guest), 0);
	assert_int_equal(record_ring_claim_lane(pair.guest), 1);
	for (uint32_t i = 0; i < 64; i++)
		assert_true(record_ring_push_launch(pair.guest, 0, &record));
	for (uint32_t i = 0; i < 32; i++)
		assert_true(record_ring_push_launch(pair.guest, 1, &record));
	assert_int_equal(record_ring_release_crowded(pair.agent), 0); /* nothing was read */
	record_ring_snapshot(pair.agent, &snapshot);
	assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out, 40), 40);
	assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 1, out, 32), 32);
	assert_int_equal(record_ring_release_crowded(pair.agent), 1);
	for (uint32_t i = 0; i < 40; i++)
		assert_true(record_ring_push_launch(pair.guest, 0, &record));
	assert_false(record_ring_push_launch(pair.guest, 0, &record));
	for (uint32_t i = 0; i < 32; i++)
		assert_true(record_ring_push_launch(pair.guest, 1, &record));
	assert_false(record_ring_push_launch(pair.guest, 1, &record));
	record_ring_fixture_close(&pair);
}

static void a_failure_or_a_call_without_gpu_work_is_no_launch(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	struct launch_record record = {.correlation_id = 9};

	(void)state;
	assert_int_equal(record_ring_claim_lane(pair.guest), 0);
	assert_true(record_ring_push_launch(pair.guest, 0, &record));
	record.flags = RECORD_LAUNCH_FAILED;
	assert_true(record_ring_push_launch(pair.guest, 0, &record));
	assert_int_equal(ledger_count(pair.agent, LEDGER_DEVICE_NONE, LEDGER_LAUNCHES), 1);
	record.flags = RECORD_LAUNCH_HOST;
	assert_true(record_ring_push_launch(pair.guest, 0, &record));
	assert_int_equal(ledger_count(pair.agent, LEDGER_DEVICE_NONE, LEDGER_LAUNCHES), 1);
	record_ring_fixture_close(&pair);
}

static void lanes_run_out_and_come_back(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(record_ring_claim_lane(pair.guest), i);
	assert_int_equal(record_ring_claim_lane(pair.guest), -EBUSY);
	record_ring_give_back_lane(pair.guest, 2);
	assert_int_equal(record_ring_claim_lane(pair.guest), 2);
	record_ring_fixture_close(&pair);
}

static void activity_takes_what_fits(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	struct gpu_record records[100] = {0}, out[100];
	struct record_ring_snapshot snapshot;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		records[i].correlation_id = i + 1;
	assert_int_equal(record_ring_activity_room(pair.guest), 64);
	assert_int_equal(record_ring_push_activity(pair.guest, records, 100), 64);
	assert_int_equal(record_ring_push_activity(pair.guest, records, 1), 0);
	record_ring_snapshot(pair.agent, &snapshot);
	assert_int_equal(record_ring_read_activity(pair.agent, &snapshot, out, 100), 64);
	assert_int_equal(out[63].correlation_id, 64);
	record_ring_fixture_close(&pair);
}

static void definitions_keep_their_type_size_and_bytes(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	struct record_ring_snapshot snapshot;
	static char body[DEFINITION_SIZE_MAX], text[1000];
	uint32_t type, size;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < 2000; i++) {
		struct definition_name head = {.name_id = i};

		assert_true(record_ring_define(pair.guest, DEFINITION_NAME, &head, sizeof(head),
					       text, i % 1000));
		record_ring_snapshot(pair.agent, &snapshot);
		assert_int_equal(record_ring_read_definition(pair.agent, &snapshot, &type, body,
							     sizeof(body), &size),
				 1);
		assert_int_equal(type, DEFINITION_NAME);
		assert_int_equal(size, sizeof(head) + i % 1000);
		assert_memory_equal(body, &head, sizeof(head));
		assert_memory_equal(body + sizeof(head), text, i % 1000);
		assert_int_equal(record_ring_read_definition(pair.agent, &snapshot, &type, body,
							     sizeof(body), &size),
				 0);

		struct record_ring_position position;
		assert_int_equal(record_ring_position(pair.agent, &position), 0);
		record_ring_release(pair.agent, &position);
		free(position.launch);
	}
	record_ring_fixture_close(&pair);
}

static void a_full_definition_lane_says_so(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	static char text[60000];
	int fitted = 0;

	(void)state;
	while (fitted < 100 &&
	       record_ring_define(pair.guest, DEFINITION_NAME, "head", 4, text, sizeof(text)))
		fitted++;
	assert_int_equal(fitted, 4); /* 4 x 60,016 of 262,144 bytes */
	record_ring_fixture_close(&pair);
}

static void stacks_are_bounded_by_number_and_by_words(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	uint64_t frames[RECORD_STACK_DEPTH] = {1, 2, 3}, out[RECORD_STACK_DEPTH];

	(void)state;
	assert_int_equal(record_ring_add_stack(pair.guest, frames, 0), RECORD_STACK_NONE);
	for (uint32_t i = 1; i <= 16; i++)
		assert_int_equal(record_ring_add_stack(pair.guest, frames, 3), i);
	assert_int_equal(record_ring_add_stack(pair.guest, frames, 3), RECORD_STACK_NONE);
	assert_int_equal(record_ring_read_stack(pair.agent, 16, out), 3);
	assert_memory_equal(out, frames, 24);
	assert_int_equal(record_ring_read_stack(pair.agent, 17, out), -ENOENT);
	assert_int_equal(record_ring_read_stack(pair.agent, 0, out), -ENOENT);
	record_ring_fixture_close(&pair);

	pair = record_ring_fixture_open(&record_ring_fixture_small);
	assert_int_equal(record_ring_add_stack(pair.guest, frames, RECORD_STACK_DEPTH), 1);
	assert_int_equal(record_ring_add_stack(pair.guest, frames, 2),
			 RECORD_STACK_NONE); /* one word left */
	record_ring_fixture_close(&pair);
}

static void another_agent_goes_on_where_the_last_one_released(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	struct launch_record record = {.time_ns = 1}, out[64];
	struct record_ring_snapshot snapshot;
	struct record_ring_position position;

	(void)state;
	assert_int_equal(record_ring_claim_lane(pair.guest), 0);
	for (record.correlation_id = 1; record.correlation_id <= 30; record.correlation_id++)
		record_ring_push_launch(pair.guest, 0, &record);
	record_ring_snapshot(pair.agent, &snapshot);
	assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out, 10), 10);
	assert_int_equal(record_ring_position(pair.agent, &position), 0);
	record_ring_release(pair.agent, &position);
	free(position.launch);
	assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out, 10), 10);
	record_ring_unmap(pair.agent);

	assert_int_equal(record_ring_map(pair.fd, &pair.agent), 0);
	record_ring_snapshot(pair.agent, &snapshot);
	assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out, 64), 20);
	assert_int_equal(out[0].correlation_id, 11);
	record_ring_fixture_close(&pair);
}

static void a_lane_with_impossible_counters_is_given_up_alone(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	struct launch_record record = {.correlation_id = 5}, out[64];
	struct record_ring_snapshot snapshot;
	struct ring_layout layout = {0};

	(void)state;
	assert_int_equal(ring_layout(&record_ring_fixture_small, &layout), 0);
	assert_int_equal(record_ring_claim_lane(pair.guest), 0);
	assert_int_equal(record_ring_claim_lane(pair.guest), 1);
	record_ring_push_launch(pair.guest, 0, &record);
	record_ring_push_launch(pair.guest, 1, &record);

	struct ring_lane *control;
	uint8_t *base = mmap(NULL, layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, pair.fd, 0);
	assert_ptr_not_equal(base, MAP_FAILED);
	control = (struct ring_lane *)(base + layout.lane_controls);
	atomic_store(&control[0].produced, 1u << 20);
	((struct ring_header *)base)->sizes.launch_lane_records = 1u
								  << 30; /* never looked at again */

	record_ring_snapshot(pair.agent, &snapshot);
	assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out, 64), -EPROTO);
	assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 1, out, 64), 1);
	munmap(base, layout.size);
	record_ring_fixture_close(&pair);
}

static void what_is_no_ring_is_refused(void **state)
{
	struct record_ring *ring;
	int file = memfd_create("no-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, 8192), 0);
	assert_int_equal(record_ring_map(file, &ring), -EPERM); /* could still be cut under us */
	assert_null(ring);
	assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	assert_int_equal(record_ring_map(file, &ring), -EPROTO);
	close(file);

	int ends[2];
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(record_ring_map(ends[0], &ring), -EPROTO);
	close(ends[0]);
	close(ends[1]);
}

static void a_file_size_limit_refuses_without_a_signal(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit limit = {4096, 4096};
		struct record_ring *ring;
		int fd;

		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(record_ring_create(&record_ring_fixture_small, &ring, &fd) == -EFBIG &&
				      !ring && fd == -1
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void the_memory_outlives_a_killed_writer(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	struct record_ring_snapshot snapshot;
	struct launch_record out[64];
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		struct launch_record record = {.correlation_id = 77};

		record_ring_claim_lane(pair.guest);
		record_ring_push_launch(pair.guest, 0, &record);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	record_ring_snapshot(pair.agent, &snapshot);
	assert_false(snapshot.finished);
	assert_int_equal(record_ring_read_launches(pair.agent, &snapshot, 0, out, 64), 1);
	assert_int_equal(out[0].correlation_id, 77);
	record_ring_finish(pair.guest);
	record_ring_snapshot(pair.agent, &snapshot);
	assert_true(snapshot.finished);
	record_ring_fixture_close(&pair);
}

/* Threads: two launch lanes and one activity producer against one reader, small lanes, so that they wrap and fill
 * thousands of times. What is pushed is either read in order or was refused. */
#define RACE_RECORDS 200000u

struct racer {
	struct record_ring *ring;
	uint32_t lane;
	uint64_t refused;
};

static void *race_launches(void *argument)
{
	struct racer *racer = argument;
	struct launch_record record = {.time_ns = 1};

	for (uint32_t i = 1; i <= RACE_RECORDS; i++) {
		uint64_t frames[2] = {racer->lane, i};

		record.correlation_id = i;
		record.stack_id = i % 1024 == 0 ? record_ring_add_stack(racer->ring, frames, 2) : 0;
		if (!record_ring_push_launch(racer->ring, racer->lane, &record))
			racer->refused++;
	}
	return NULL;
}

static void *race_activity(void *argument)
{
	struct racer *racer = argument;

	for (uint32_t i = 1; i <= RACE_RECORDS; i++) {
		struct gpu_record record = {.start_ns = 1, .end_ns = 1, .correlation_id = i};

		racer->refused += 1 - record_ring_push_activity(racer->ring, &record, 1);
	}
	return NULL;
}

static int all_ascending(const uint32_t *ids, int nr, uint32_t *last)
{
	for (int i = 0; i < nr; i++) {
		if (ids[i] <= *last)
			return 0;
		*last = ids[i];
	}
	return 1;
}

/* One pass of the reader; the numbers read are added up. */
static void race_read(struct record_ring *agent, uint64_t *nr_read, uint32_t *last)
{
	struct record_ring_snapshot snapshot;
	struct record_ring_position position;
	uint32_t ids[64];
	int nr;

	record_ring_snapshot(agent, &snapshot);
	for (uint32_t lane = 0; lane < 2; lane++) {
		struct launch_record out[64];

		while ((nr = record_ring_read_launches(agent, &snapshot, lane, out, 64)) > 0) {
			for (int i = 0; i < nr; i++)
				ids[i] = out[i].correlation_id;
			assert_true(all_ascending(ids, nr, &last[lane]));
			nr_read[lane] += (uint64_t)nr;
		}
		assert_int_equal(nr, 0);
	}
	struct gpu_record out[64];
	while ((nr = record_ring_read_activity(agent, &snapshot, out, 64)) > 0) {
		for (int i = 0; i < nr; i++)
			ids[i] = out[i].correlation_id;
		assert_true(all_ascending(ids, nr, &last[2]));
		nr_read[2] += (uint64_t)nr;
	}
	assert_int_equal(nr, 0);
	assert_int_equal(record_ring_position(agent, &position), 0);
	record_ring_release(agent, &position);
	free(position.launch);
}

static void racing_producers_lose_nothing_that_was_taken(void **state)
{
	struct record_ring_sizes sizes = record_ring_fixture_small;
	sizes.stacks = 1024;
	sizes.stack_words = 2048;
	struct record_ring_fixture pair = record_ring_fixture_open(&sizes);
	struct racer racers[3] = {{pair.guest, 0, 0}, {pair.guest, 1, 0}, {pair.guest, 0, 0}};
	uint64_t nr_read[3] = {0};
	uint32_t last[3] = {0};
	pthread_t threads[3];

	(void)state;
	assert_int_equal(record_ring_claim_lane(pair.guest), 0);
	assert_int_equal(record_ring_claim_lane(pair.guest), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						i < 2 ? race_launches : race_activity, &racers[i]),
				 0);
	for (int i = 0; i < 20000; i++)
		race_read(pair.agent, nr_read, last);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	race_read(pair.agent, nr_read, last);
	race_read(pair.agent, nr_read, last);
	for (int i = 0; i < 3; i++)
		assert_int_equal(nr_read[i] + racers[i].refused, RACE_RECORDS);
	assert_int_equal(ledger_count(pair.agent, LEDGER_DEVICE_NONE, LEDGER_LAUNCH_RING_FULL),
			 racers[0].refused + racers[1].refused);
	record_ring_fixture_close(&pair);
}

static void a_command_is_seen_once_and_the_newest_counts(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	const struct record_ring_command start = {
		.action = RECORD_RING_COMMAND_START, .from_ns = 5, .until_ns = UINT64_MAX};
	const struct record_ring_command stop = {.action = RECORD_RING_COMMAND_STOP};
	struct record_ring_command seen = {0};
	uint32_t seq = 0, nr_windows;

	(void)state;
	assert_false(record_ring_commanded(pair.guest, &seq, &seen));
	record_ring_command(pair.agent, &start);
	assert_true(record_ring_commanded(pair.guest, &seq, &seen));
	assert_int_equal(seen.action, start.action);
	assert_int_equal(seen.from_ns, start.from_ns);
	assert_int_equal(seen.until_ns, start.until_ns);
	assert_false(record_ring_commanded(pair.guest, &seq, &seen));
	record_ring_command(pair.agent, &start);
	record_ring_command(pair.agent, &stop);
	assert_true(record_ring_commanded(pair.guest, &seq, &seen));
	assert_int_equal(seen.action, stop.action);
	assert_int_equal(seen.from_ns, 0);
	assert_false(record_ring_commanded(pair.guest, &seq, &seen));

	assert_int_equal(record_ring_capture(pair.agent, &nr_windows), RECORD_RING_CAPTURE_OFF);
	record_ring_set_capture(pair.guest, RECORD_RING_CAPTURE_LOADED, 7);
	assert_int_equal(record_ring_capture(pair.agent, &nr_windows), RECORD_RING_CAPTURE_LOADED);
	assert_int_equal(nr_windows, 7);
	record_ring_fixture_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_arrive_in_order_and_around_the_end),
		cmocka_unit_test(a_full_lane_drops_the_newest_and_counts),
		cmocka_unit_test(only_a_crowded_lane_is_released_early),
		cmocka_unit_test(a_failure_or_a_call_without_gpu_work_is_no_launch),
		cmocka_unit_test(lanes_run_out_and_come_back),
		cmocka_unit_test(a_command_is_seen_once_and_the_newest_counts),
		cmocka_unit_test(activity_takes_what_fits),
		cmocka_unit_test(definitions_keep_their_type_size_and_bytes),
		cmocka_unit_test(a_full_definition_lane_says_so),
		cmocka_unit_test(stacks_are_bounded_by_number_and_by_words),
		cmocka_unit_test(another_agent_goes_on_where_the_last_one_released),
		cmocka_unit_test(a_lane_with_impossible_counters_is_given_up_alone),
		cmocka_unit_test(what_is_no_ring_is_refused),
		cmocka_unit_test(a_file_size_limit_refuses_without_a_signal),
		cmocka_unit_test(the_memory_outlives_a_killed_writer),
		cmocka_unit_test(racing_producers_lose_nothing_that_was_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
