#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/steps/step_reader.h"

#define STEPS     300u
#define PROCESSES 2u
#define LAUNCHES  5u /* of a step */
#define OFFSET_NS 5000

struct fixture {
	char store[64];
	struct profile profile;
	uint32_t name;
	uint64_t random;
	struct timeline_source *source;
	struct timeline_counts counts;
};

static uint64_t some(struct fixture *f, uint64_t most)
{
	f->random = f->random * 6364136223846793005u + 1442695040888963407u;
	return 1 + (f->random >> 33) % most;
}

static void mark(struct event_packer *packer, uint64_t time_ns, enum record_mark kind,
		 uint32_t number)
{
	event_packer_launch(
		packer, &(struct launch_record){.time_ns = time_ns,
						.correlation_id = number,
						.tid = 7,
						.cbid = (uint16_t)kind,
						.flags = RECORD_LAUNCH_MARK | RECORD_LAUNCH_HOST});
}

/* Each step launches kernels at once or after a while. They may end in a later step. */
static void add_process(struct fixture *f, struct event_packer *packer, uint32_t process_id)
{
	uint64_t now_ns = 2000000000u, gpu_ns = 0;
	uint32_t correlation_id = 0;

	event_packer_begin(packer, process_id, OFFSET_NS, true);
	for (uint32_t step = 1; step <= STEPS; step++) {
		mark(packer, now_ns, RECORD_MARK_STEP, step);
		for (uint32_t i = 0; i < LAUNCHES; i++) {
			now_ns += some(f, step % 50 == 0 ? 9000000 : 3000);
			event_packer_launch(
				packer, &(struct launch_record){.time_ns = now_ns,
								.correlation_id = ++correlation_id,
								.stack_id = 1 + i,
								.tid = 7});
			gpu_ns = (now_ns > gpu_ns ? now_ns : gpu_ns) + some(f, 900);
			event_packer_record(
				packer, &(struct gpu_record){.start_ns = gpu_ns - OFFSET_NS,
							     .end_ns = gpu_ns - OFFSET_NS + 1500,
							     .correlation_id = correlation_id,
							     .name_id = f->name,
							     .kind = i == 2 ? RECORD_GPU_MEMCPY
									    : RECORD_GPU_KERNEL});
			gpu_ns += 1500;
		}
	}
	mark(packer, now_ns + 10, RECORD_MARK_STEP_END, 0);
}

/* The store has stacks with the ids from 1 to nr. */
static void add_stacks(struct catalog *catalog, uint32_t nr)
{
	uint32_t frame, node;

	for (uint32_t i = 1; i <= nr; i++) {
		assert_int_equal(catalog_add_frame(catalog, 0, i, 1, &frame), 0);
		assert_int_equal(catalog_add_node(catalog, 0, frame, &node), 0);
	}
}

static int set_up(void **state)
{
	static const uint8_t id[EVENT_FORMAT_ID] = "a test's profile";
	static struct fixture made;
	struct fixture *f = &made;
	struct event_log_options options = {.keeps = true};
	struct event_log *log;
	uint32_t host, process;

	*f = (struct fixture){.store = "/tmp/flamegrid-steps.XXXXXX", .profile.has_timeline = true};
	memcpy(f->profile.timeline_id, id, sizeof(id));
	memcpy(options.profile, id, sizeof(id));
	assert_non_null(mkdtemp(f->store));
	strcat(f->store, "/profile.db");
	f->profile.collection = collection_create();
	assert_non_null(f->profile.collection);
	struct roster *roster = f->profile.collection->roster;
	assert_int_equal(roster_add_host(roster, &(struct roster_host){0}, &host), 0);
	assert_int_equal(catalog_add_string(f->profile.collection->catalog, "gemm", 4, &f->name),
			 0);
	add_stacks(f->profile.collection->catalog, LAUNCHES);
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	for (uint32_t i = 1; i <= PROCESSES; i++) {
		const struct roster_identity identity = {.host = host, .pid = i};

		assert_int_equal(roster_add_process(roster, &identity, &process), 0);
		add_process(f, event_log_packer(log), process);
	}
	event_log_write(log, 1);
	event_log_close(log);
	f->source = timeline_source_create(f->store, &f->profile, NULL);
	assert_non_null(f->source);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	timeline_source_destroy(f->source);
	collection_destroy(f->profile.collection);
	*strrchr(f->store, '/') = '\0';
	snprintf(command, sizeof(command), "rm -r %s", f->store);
	assert_int_equal(system(command), 0);
	return 0;
}

static int read_rows(struct fixture *f, uint32_t events_max, struct step_rows *rows)
{
	struct timeline_request request = TIMELINE_REQUEST_ALL;

	request.events_max = events_max;
	return step_reader_read(f->source, &request, NULL, NULL, rows, &f->counts);
}

static void all_steps_are_there_and_their_parts_sum(void **state)
{
	struct fixture *f = *state;
	struct step_rows rows;
	uint64_t compute_ns = 0, copies_ns = 0, gaps = 0;

	assert_int_equal(read_rows(f, 0, &rows), 0);
	assert_int_equal(rows.nr_rows, PROCESSES * STEPS);
	assert_int_equal(rows.nr_open, 0);
	for (uint32_t i = 0; i < rows.nr_rows; i++) {
		const struct step_row *row = &rows.rows[i];
		uint64_t sum_ns = 0;

		for (uint32_t part = 0; part < STEP_PARTS; part++)
			sum_ns += row->parts_ns[part];
		assert_int_equal(sum_ns, row->end_ns - row->begin_ns);
		compute_ns += row->parts_ns[STEP_COMPUTE];
		copies_ns += row->parts_ns[STEP_COPIES];
		gaps += row->gap.end_ns != 0;
	}
	/* All work is in some step, but for that behind the last one of each process. */
	assert_in_range(compute_ns, PROCESSES * (STEPS - 3) * 4 * 1500,
			PROCESSES * STEPS * 4 * 1500);
	assert_in_range(copies_ns, PROCESSES * (STEPS - 3) * 1500, PROCESSES * STEPS * 1500);
	assert_int_equal(rows.rows[0].parts_ns[STEP_IDLE_UNKNOWN], 0);
	assert_in_range(gaps, PROCESSES * STEPS / 50, PROCESSES * STEPS / 50 * 2);
	step_rows_fini(&rows);
}

static void little_memory_says_the_same(void **state)
{
	struct fixture *f = *state;
	struct step_rows rows, again;

	assert_int_equal(read_rows(f, 0, &rows), 0);
	for (uint32_t events_max = 2000; events_max >= 20; events_max /= 10) {
		assert_int_equal(read_rows(f, events_max, &again), 0);
		assert_int_equal(again.nr_rows, rows.nr_rows);
		for (uint32_t i = 0; i < rows.nr_rows; i++) {
			assert_memory_equal(again.rows[i].parts_ns, rows.rows[i].parts_ns,
					    sizeof(rows.rows[i].parts_ns));
			assert_int_equal(again.rows[i].gap.begin_ns, rows.rows[i].gap.begin_ns);
			assert_int_equal(again.rows[i].gap.end_ns, rows.rows[i].gap.end_ns);
			assert_int_equal(again.rows[i].gap.before, rows.rows[i].gap.before);
			assert_int_equal(again.rows[i].gap.after, rows.rows[i].gap.after);
		}
		step_rows_fini(&again);
	}
	step_rows_fini(&rows);
}

static void too_little_memory_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct step_rows rows;

	assert_int_equal(read_rows(f, 1, &rows), -EFBIG);
	step_rows_fini(&rows);
}

static void a_part_of_the_time_has_its_steps(void **state)
{
	struct fixture *f = *state;
	struct timeline_request request = TIMELINE_REQUEST_ALL;
	struct step_rows all, rows;

	assert_int_equal(read_rows(f, 0, &all), 0);
	request.from_ns = all.rows[100].begin_ns;
	request.to_ns = all.rows[109].end_ns;
	assert_int_equal(step_reader_read(f->source, &request, NULL, NULL, &rows, &f->counts), 0);
	assert_true(rows.nr_rows >= 10);
	assert_int_equal(rows.nr_rows + rows.nr_outside, all.nr_rows);
	for (uint32_t i = 0; i < 10; i++)
		assert_memory_equal(rows.rows[i].parts_ns, all.rows[100 + i].parts_ns,
				    sizeof(rows.rows[i].parts_ns));
	step_rows_fini(&rows);
	step_rows_fini(&all);
}

static void without_a_log_there_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct timeline_source *none =
		timeline_source_create("/nonexistent/profile.db", &f->profile, NULL);
	struct step_rows rows;

	assert_non_null(none);
	assert_int_equal(
		step_reader_read(none, &TIMELINE_REQUEST_ALL, NULL, NULL, &rows, &f->counts),
		-ENOENT);
	step_rows_fini(&rows);
	timeline_source_destroy(none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_steps_are_there_and_their_parts_sum),
		TEST(little_memory_says_the_same),
		TEST(too_little_memory_is_an_error),
		TEST(a_part_of_the_time_has_its_steps),
		TEST(without_a_log_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
