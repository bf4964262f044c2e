/* What is not captured, against a recount of each nanosecond. */
#include "tests/support/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/slice/uncaptured.h"

#define PROCESSES 3u
#define DEVICES   2u
#define SPAN_NS   2000u
#define ROUNDS    100u

struct fixture {
	struct collection *collection;
	struct uncaptured uncaptured;
	struct uncaptured_work work;
	uint32_t random;
	/* by process or device, and nanosecond */
	bool is_pause[PROCESSES][SPAN_NS], is_busy[PROCESSES][SPAN_NS];
	bool is_device_busy[DEVICES][SPAN_NS], is_stream_busy[2][SPAN_NS]; /* of process 1 */
};

static uint32_t some(struct fixture *f, uint32_t most)
{
	f->random = f->random * 1664525u + 1013904223u;
	return (f->random >> 8) % most;
}

/* Processes 1 and 2 share a GPU. Process 3 has not described the one that it uses. */
static void add_processes(struct roster *roster)
{
	static const uint8_t uuids[DEVICES] = {1, 2};
	uint32_t host, id;

	assert_int_equal(roster_add_host(roster, &(struct roster_host){.node = 1}, &host), 0);
	for (uint32_t i = 0; i < DEVICES; i++)
		assert_int_equal(roster_add_device(roster,
						   &(struct roster_device){.host = host,
									   .index = (int32_t)i,
									   .uuid = {uuids[i]}},
						   &id),
				 0);
	for (uint32_t i = 1; i <= PROCESSES; i++) {
		const struct roster_ordinal device = {0, 1};

		assert_int_equal(
			roster_add_process(roster,
					   &(struct roster_identity){.host = host, .pid = i}, &id),
			0);
		assert_int_equal(roster_process_set_devices(roster_process(roster, id), &device,
							    i < PROCESSES),
				 0);
	}
}

static struct capture_pauses make_pauses(struct fixture *f)
{
	struct capture_pauses pauses = {.pauses = calloc(64, sizeof(*pauses.pauses))};

	assert_non_null(pauses.pauses);
	for (uint32_t id = 1; id <= PROCESSES; id++)
		for (uint32_t at_ns = some(f, 300); at_ns < SPAN_NS;) {
			const uint32_t end_ns = at_ns + 1 + some(f, 200);

			pauses.pauses[pauses.nr_pauses++] =
				(struct capture_pause){at_ns, end_ns, id};
			for (uint32_t ns = at_ns; ns < end_ns && ns < SPAN_NS; ns++)
				f->is_pause[id - 1][ns] = true;
			at_ns = end_ns + 100 + some(f, 300);
		}
	return pauses;
}

static void add_work(struct fixture *f)
{
	const uint32_t id = 1 + some(f, PROCESSES), start_ns = 1 + some(f, SPAN_NS - 400);
	const struct timeline_work work = {.start_ns = start_ns,
					   .end_ns = start_ns + some(f, 150),
					   .process_id = id,
					   .context_id = 1,
					   .stream_id = some(f, 2),
					   .kind = some(f, 5) ? RECORD_GPU_KERNEL
							      : RECORD_GPU_SYNC};

	assert_int_equal(uncaptured_work_add(&f->work, &work), 0);
	for (uint64_t ns = work.start_ns; ns < work.end_ns && work.kind != RECORD_GPU_SYNC; ns++) {
		f->is_busy[id - 1][ns] = true;
		f->is_device_busy[0][ns] |= id < PROCESSES;
		f->is_stream_busy[work.stream_id][ns] |= id == 1;
	}
}

/* Returns the nanoseconds of [from_ns, to_ns) that are in a, and in b if that is there. */
static uint64_t count(const bool *a, const bool *b, uint32_t from_ns, uint32_t to_ns)
{
	uint64_t ns = 0;

	for (uint32_t i = from_ns; i < to_ns; i++)
		ns += a[i] && (!b || b[i]);
	return ns;
}

static void check(struct fixture *f, const struct timeline_key *key, const bool *is_pause,
		  const bool *is_busy)
{
	const uint32_t from_ns = some(f, SPAN_NS / 2), to_ns = from_ns + some(f, SPAN_NS / 2);

	assert_int_equal(uncaptured_pauses_ns(&f->uncaptured, key, from_ns, to_ns),
			 count(is_pause, NULL, from_ns, to_ns));
	assert_int_equal(uncaptured_work_busy_ns(&f->work, key),
			 count(is_busy, is_pause, 0, SPAN_NS));
}

static void check_all(struct fixture *f)
{
	bool is_any[SPAN_NS];

	for (uint32_t ns = 0; ns < SPAN_NS; ns++)
		is_any[ns] = f->is_pause[0][ns] || f->is_pause[1][ns];
	for (uint32_t id = 1; id <= PROCESSES; id++) {
		struct timeline_key key = {.level = TIMELINE_WORK, .process_id = id};

		check(f, &key, f->is_pause[id - 1], f->is_busy[id - 1]);
		key.level = TIMELINE_ORDINAL;
		check(f, &key, f->is_pause[id - 1], f->is_busy[id - 1]);
	}
	for (uint32_t stream = 0; stream < 2; stream++)
		check(f,
		      &(struct timeline_key){.level = TIMELINE_STREAM,
					     .process_id = 1,
					     .context_id = 1,
					     .stream_id = stream},
		      f->is_pause[0], f->is_stream_busy[stream]);
	check(f,
	      &(struct timeline_key){
		      .level = TIMELINE_DEVICE, .process_id = ROSTER_WRITER, .device_id = 1},
	      is_any, f->is_device_busy[0]);
}

static void begin(struct fixture *f, uint32_t seed, bool has_pauses)
{
	*f = (struct fixture){.random = seed, .collection = collection_create()};
	assert_non_null(f->collection);
	add_processes(f->collection->roster);
	const struct capture_pauses pauses =
		has_pauses ? make_pauses(f) : (struct capture_pauses){0};
	assert_int_equal(uncaptured_init(&f->uncaptured, f->collection->roster, pauses), 0);
	assert_int_equal(uncaptured_work_init(&f->work, &f->uncaptured), 0);
}

static void end(struct fixture *f)
{
	uncaptured_work_fini(&f->work);
	uncaptured_fini(&f->uncaptured);
	collection_destroy(f->collection);
}

static void pauses_and_work_in_them_are_those_of_a_recount(void **state)
{
	static struct fixture f;

	(void)state;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t ns = 0;

		begin(&f, i, true);
		for (uint32_t k = 0; k < 60; k++)
			add_work(&f);
		check_all(&f);
		for (uint32_t id = 0; id < PROCESSES; id++)
			ns += count(f.is_pause[id], NULL, 100, 1500);
		assert_int_equal(uncaptured_sum_ns(&f.uncaptured, 100, 1500), ns);
		end(&f);
	}
}

static void without_pauses_all_is_captured(void **state)
{
	static struct fixture f;

	(void)state;
	begin(&f, 1, false);
	for (uint32_t k = 0; k < 60; k++)
		add_work(&f);
	check_all(&f);
	assert_null(f.work.busy);
	assert_int_equal(uncaptured_sum_ns(&f.uncaptured, 0, SPAN_NS), 0);
	end(&f);
}

static void kernels_alone_have_no_idle_time(void **state)
{
	static struct fixture f;

	(void)state;
	begin(&f, 2, true);
	for (uint32_t level = TIMELINE_COMPUTATION; level < TIMELINE_LEVELS; level++)
		assert_int_equal(uncaptured_pauses_ns(
					 &f.uncaptured,
					 &(struct timeline_key){.level = level, .process_id = 1}, 0,
					 SPAN_NS),
				 0);
	end(&f);
}

/* Processes 1 and 2 work on the GPU that they share, process 3 on one that nobody described. */
static void begin_steps(struct fixture *f, const struct timeline_step steps[PROCESSES],
			struct timeline_launch launches[PROCESSES])
{
	struct timeline_work work[PROCESSES];
	const struct timeline_events events = {
		.launches = launches, .work = work, .nr_launches = PROCESSES, .nr_work = PROCESSES};

	*f = (struct fixture){.collection = collection_create()};
	assert_non_null(f->collection);
	add_processes(f->collection->roster);
	for (uint32_t i = 0; i < PROCESSES; i++)
		work[i] = (struct timeline_work){.start_ns = launches[i].time_ns + 1,
						 .end_ns = launches[i].time_ns + 10,
						 .process_id = i + 1,
						 .kind = RECORD_GPU_KERNEL,
						 .launch = i};
	assert_int_equal(
		uncaptured_steps(&f->uncaptured, f->collection->roster, steps, PROCESSES, &events),
		0);
	assert_int_equal(uncaptured_work_init(&f->work, &f->uncaptured), 0);
}

static void check_step(struct fixture *f, const struct timeline_key *key, uint64_t from_ns,
		       uint64_t to_ns)
{
	uint64_t step_from_ns, step_to_ns;

	assert_true(uncaptured_step_of(&f->uncaptured, key, &step_from_ns, &step_to_ns));
	assert_int_equal(step_from_ns, from_ns);
	assert_int_equal(step_to_ns, to_ns);
	assert_int_equal(uncaptured_pauses_ns(&f->uncaptured, key, 50, 1000),
			 950 - (to_ns - from_ns));
}

static const struct timeline_key shared_gpu = {
	.level = TIMELINE_DEVICE, .process_id = ROSTER_WRITER, .device_id = 1};

static void a_step_is_watched_for_the_time_of_its_own_process(void **state)
{
	static const struct timeline_step steps[PROCESSES] = {
		{.process_id = 1, .begin_ns = 100, .end_ns = 300},
		{.process_id = 2, .begin_ns = 200, .end_ns = 500},
		{.process_id = 3, .begin_ns = 700, .end_ns = 900}};
	struct timeline_launch launches[PROCESSES] = {{.process_id = 1, .time_ns = 100},
						      {.process_id = 2, .time_ns = 499},
						      {.process_id = 3, .time_ns = 800}};
	static struct fixture f;

	(void)state;
	begin_steps(&f, steps, launches);
	for (uint32_t i = 0; i < PROCESSES; i++)
		check_step(&f, &(struct timeline_key){.level = TIMELINE_WORK, .process_id = i + 1},
			   steps[i].begin_ns, steps[i].end_ns);
	check_step(&f, &shared_gpu, 200, 300);
	/* What runs on behind the step is busy there. */
	assert_int_equal(
		uncaptured_work_add(&f.work, &(struct timeline_work){.start_ns = 290,
								     .end_ns = 350,
								     .process_id = 1,
								     .kind = RECORD_GPU_KERNEL}),
		0);
	assert_int_equal(uncaptured_work_busy_ns(&f.work, &shared_gpu), 50);
	end(&f);
}

static void a_process_whose_work_is_not_of_its_step_leaves_the_gpu_to_others(void **state)
{
	static const struct timeline_step steps[PROCESSES] = {
		{.process_id = 1, .begin_ns = 100, .end_ns = 300},
		{.process_id = 2, .begin_ns = 400, .end_ns = 500},
		{.process_id = 3, .begin_ns = 700, .end_ns = 900}};
	struct timeline_launch launches[PROCESSES] = {{.process_id = 1, .time_ns = 100},
						      {.process_id = 2, .time_ns = 500},
						      {.process_id = 3, .time_ns = 800}};
	static struct fixture f;

	(void)state;
	begin_steps(&f, steps, launches);
	check_step(&f, &shared_gpu, 100, 300);
	end(&f);
}

static void steps_without_a_common_time_leave_no_idle_time(void **state)
{
	static const struct timeline_step steps[PROCESSES] = {
		{.process_id = 1, .begin_ns = 100, .end_ns = 300},
		{.process_id = 2, .begin_ns = 400, .end_ns = 500},
		{.process_id = 3, .begin_ns = 700, .end_ns = 900}};
	struct timeline_launch launches[PROCESSES] = {{.process_id = 1, .time_ns = 100},
						      {.process_id = 2, .time_ns = 400},
						      {.process_id = 3, .time_ns = 800}};
	static struct fixture f;
	uint64_t from_ns, to_ns;

	(void)state;
	begin_steps(&f, steps, launches);
	assert_false(uncaptured_step_of(&f.uncaptured, &shared_gpu, &from_ns, &to_ns));
	assert_int_equal(uncaptured_pauses_ns(&f.uncaptured, &shared_gpu, 50, 1000), 950);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_and_work_in_them_are_those_of_a_recount),
		cmocka_unit_test(without_pauses_all_is_captured),
		cmocka_unit_test(kernels_alone_have_no_idle_time),
		cmocka_unit_test(a_step_is_watched_for_the_time_of_its_own_process),
		cmocka_unit_test(a_process_whose_work_is_not_of_its_step_leaves_the_gpu_to_others),
		cmocka_unit_test(steps_without_a_common_time_leave_no_idle_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
