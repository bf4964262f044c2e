/* Events of processes that share GPUs, streams, ids and launches, folded while they are read, and at once. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>

#include "fold_fixture.h"

#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"

#define RANGES 60u

static int set_up(void **state)
{
	return fold_fixture_set_up(state, FOLD_FIXTURE_BLOCKS, FOLD_FIXTURE_PIECES,
				   (struct fold_fixture_lacks){0});
}

/* So few launches that all of them have room. */
static int set_up_short(void **state)
{
	return fold_fixture_set_up(state, 2, 4, (struct fold_fixture_lacks){.calls = 3});
}

static void sums_of_any_range_are_those_of_all_its_events(void **state)
{
	struct fold_fixture *f = *state;
	uint64_t nr_work = 0;

	for (uint32_t i = 0; i < RANGES; i++) {
		const uint64_t from_ns =
			FOLD_FIXTURE_FIRST_NS +
			fold_fixture_some(f, FOLD_FIXTURE_BLOCKS * FOLD_FIXTURE_BLOCK_NS);
		uint8_t processes[FOLD_FIXTURE_PROCESSES];

		f->nr_cpus = 1 + fold_fixture_some(f, 10);
		for (uint32_t j = 0; j < FOLD_FIXTURE_PROCESSES; j++)
			processes[j] = fold_fixture_some(f, 3) != 0;
		const struct timeline_request request = {
			.from_ns = i ? from_ns : 0,
			.to_ns = i ? from_ns + fold_fixture_some(
						       f, i % 3 ? 20 * FOLD_FIXTURE_BLOCK_NS : 3000)
				   : UINT64_MAX,
			.processes = i % 4 == 3 ? processes : NULL,
		};
		nr_work += fold_fixture_check(f, &request);
	}
	assert_in_range(nr_work,
			2 * FOLD_FIXTURE_BLOCKS * FOLD_FIXTURE_PIECES * FOLD_FIXTURE_PROCESSES,
			UINT32_MAX);
}

static void work_without_a_launch_has_none(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	struct crew_fold fold;
	const struct timeline_request request = {.from_ns = FOLD_FIXTURE_FIRST_NS,
						 .to_ns = UINT64_MAX};

	event_packer_record(event_log_packer(log),
			    &(struct gpu_record){.start_ns = FOLD_FIXTURE_FIRST_NS + 9,
						 .end_ns = FOLD_FIXTURE_FIRST_NS + 99,
						 .correlation_id = 4711,
						 .stream_id = 1});
	fold_fixture_end_more(log);
	for (f->nr_cpus = 1; f->nr_cpus < 5; f->nr_cpus++)
		assert_in_range(fold_fixture_check(f, &request), 20, 1000);
	assert_int_equal(crew_fold_read(&fold, f->source, &request, NULL, FOLD_FIXTURE_FIRST_NS),
			 0);
	assert_int_equal(fold.nr_launchless, 1);
	crew_fold_fini(&fold);
}

/* Each is looked for further away than the one before. */
static void launches_far_before_the_range_are_found(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	const uint64_t begin_ns = FOLD_FIXTURE_FIRST_NS + 600000000000u;
	struct timeline_request request = {.from_ns = begin_ns - 5};

	for (uint64_t before_ns = 500000000u; before_ns < 600000000000u; before_ns *= 4) {
		const uint64_t start_ns = begin_ns + before_ns / 1000;
		const uint32_t id = ++f->next_id;

		fold_fixture_add_launch(event_log_packer(log), id, start_ns - before_ns, 1, 0);
		event_log_write(log, 1);
		event_packer_begin(event_log_packer(log), 1, 0, true);
		event_packer_record(event_log_packer(log),
				    &(struct gpu_record){.start_ns = start_ns,
							 .end_ns = start_ns + 50,
							 .correlation_id = id,
							 .window = (uint16_t)(1 + id % 2),
							 .name_id = 1,
							 .stream_id = 7});
	}
	fold_fixture_end_more(log);
	for (uint32_t nr = 1; nr <= 6; nr++) {
		struct crew_fold fold;

		request.to_ns = begin_ns + (1u << (2 * nr)) * UINT64_C(125000) + 1;
		assert_int_equal(fold_fixture_check(f, &request), nr);
		assert_int_equal(
			crew_fold_read(&fold, f->source, &request, NULL, FOLD_FIXTURE_FIRST_NS), 0);
		assert_int_equal(fold.nr_launchless, 0);
		crew_fold_fini(&fold);
	}
}

/* A thousand kernels with gaps between them, and then one that began before all of them. */
static void records_out_of_order_are_in_the_sums(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	const struct timeline_request request = {.from_ns = FOLD_FIXTURE_FIRST_NS,
						 .to_ns = UINT64_MAX};

	for (uint32_t i = 0; i <= 1000; i++) {
		const uint64_t start_ns = FOLD_FIXTURE_FIRST_NS + 200 * FOLD_FIXTURE_BLOCK_NS +
					  (i < 1000 ? 1000 + i * 100 : 0);

		fold_fixture_add_launch(event_log_packer(log), ++f->next_id, start_ns - 1, 1, 0);
		event_packer_record(event_log_packer(log),
				    &(struct gpu_record){.start_ns = start_ns,
							 .end_ns = start_ns + 50,
							 .correlation_id = f->next_id,
							 .window = (uint16_t)(1 + f->next_id % 2),
							 .name_id = 1,
							 .context_id = 1,
							 .stream_id = 7});
	}
	fold_fixture_end_more(log);
	fold_fixture_check(f, &request);
}

static int fold_all(const struct fold_fixture *f)
{
	const struct timeline_request request = {.from_ns = FOLD_FIXTURE_FIRST_NS,
						 .to_ns = UINT64_MAX};
	struct crew_fold fold;
	const int error = crew_fold_read(&fold, f->source, &request, NULL, FOLD_FIXTURE_FIRST_NS);

	crew_fold_fini(&fold);
	return error;
}

/* Ids that come again before their work are two launches, and all events have to be looked at. */
static void what_may_be_of_another_launch_is_told(void **state)
{
	struct fold_fixture *f = *state;

	assert_int_equal(fold_all(f), 0);
	struct event_log *log = fold_fixture_write_more(f);
	for (uint32_t i = 0; i < 2; i++)
		fold_fixture_add_launch(event_log_packer(log), 77777, FOLD_FIXTURE_FIRST_NS + i,
					1 + i, 0);
	fold_fixture_end_more(log);
	assert_int_equal(fold_all(f), -EAGAIN);
}

static void a_call_that_comes_behind_its_work_is_told(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	struct event_packer *packer = event_log_packer(log);

	fold_fixture_add_launch(packer, 77778, FOLD_FIXTURE_FIRST_NS, 1, 0);
	event_packer_record(packer, &(struct gpu_record){.start_ns = FOLD_FIXTURE_FIRST_NS + 5,
							 .end_ns = FOLD_FIXTURE_FIRST_NS + 6,
							 .correlation_id = 77778,
							 .window = 1});
	assert_int_equal(event_log_write(log, FOLD_FIXTURE_BLOCKS + 1), 0);
	assert_int_equal(fold_all(f), 0);
	fold_fixture_add_launch(packer, 77778, FOLD_FIXTURE_FIRST_NS + 1, 1, RECORD_LAUNCH_HOST);
	fold_fixture_end_more(log);
	assert_int_equal(fold_all(f), -EAGAIN);
}

/* The launch has gone from its place, to which another came whose work was there. */
static void work_whose_launch_may_have_gone_is_told(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	struct event_packer *packer = event_log_packer(log);
	struct gpu_record record = {.start_ns = FOLD_FIXTURE_FIRST_NS + 500,
				    .end_ns = FOLD_FIXTURE_FIRST_NS + 600,
				    .correlation_id = 1u << 20,
				    .window = 1,
				    .stream_id = 1};

	for (uint32_t i = 0; i < 2; i++) {
		record.correlation_id = (1u + i) << 20;
		event_packer_launch(packer,
				    &(struct launch_record){.time_ns = FOLD_FIXTURE_FIRST_NS + i,
							    .correlation_id = record.correlation_id,
							    .window = 1});
		event_packer_record(packer, &record);
		event_log_write(log, 1);
		event_packer_begin(packer, 1, 0, true);
	}
	record.correlation_id = 1u << 20;
	event_packer_record(packer, &record);
	fold_fixture_end_more(log);
	assert_int_equal(fold_all(f), -EAGAIN);
}

static void damage_is_left_to_one_reader(void **state)
{
	struct fold_fixture *f = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s" EVENT_FORMAT_FOLDER "/00000001" EVENT_FORMAT_SUFFIX,
		 f->store);
	FILE *file = fopen(path, "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, -5, SEEK_END), 0);
	const int byte = fgetc(file);
	assert_int_equal(fseek(file, -5, SEEK_END), 0);
	assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(fold_all(f), -EAGAIN);
}

#define TEST(name, prepare) cmocka_unit_test_setup_teardown(name, prepare, fold_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sums_of_any_range_are_those_of_all_its_events, set_up),
		TEST(work_without_a_launch_has_none, set_up_short),
		TEST(launches_far_before_the_range_are_found, set_up_short),
		TEST(records_out_of_order_are_in_the_sums, set_up),
		TEST(what_may_be_of_another_launch_is_told, set_up),
		TEST(a_call_that_comes_behind_its_work_is_told, set_up),
		TEST(work_whose_launch_may_have_gone_is_told, set_up_short),
		TEST(damage_is_left_to_one_reader, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
