#include "tests/support/cmocka_test.h"

#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "proto/host_sample.h"
#include "timeline/trace/idle_words.h"

#define PROCESS 2u
#define TID     17u
#define MS      1000000u

struct fixture {
	struct profile profile;
	struct timeline_samples samples;
	struct idle_words words;
	uint32_t step, load; /* stacks: step(), and step() that calls fetch_batch() */
	uint32_t futex, gpu;
};

static uint32_t string_of(struct fixture *f, const char *text)
{
	uint32_t id;

	assert_int_equal(catalog_add_string(f->profile.collection->catalog, text,
					    (uint32_t)strlen(text), &id),
			 0);
	return id;
}

static uint32_t node_of(struct fixture *f, uint32_t parent, const char *function)
{
	struct catalog *catalog = f->profile.collection->catalog;
	const struct catalog_code code = {.file = string_of(f, "train.py"),
					  .name = string_of(f, function)};
	uint32_t code_id, frame, node;

	assert_int_equal(catalog_add_code(catalog, code, &code_id), 0);
	assert_int_equal(catalog_add_code_frame(catalog, code_id, 7, &frame), 0);
	assert_int_equal(catalog_add_node(catalog, parent, frame, &node), 0);
	return node;
}

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){.profile = {.collection = collection_create()}};
	f.step = node_of(&f, 0, "step");
	f.load = node_of(&f, f.step, "fetch_batch");
	f.futex = string_of(&f, "futex");
	f.gpu = string_of(&f, "gpu");
	f.words.samples = &f.samples;
	f.words.names = report_names_create(&f.profile, DEMANGLE_FULL, REPORT_LINES_ON);
	f.words.paths = report_paths_create(f.profile.collection->catalog, f.words.names,
					    &(struct report_paths_view){0});
	*state = &f;
	return f.words.paths ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	timeline_samples_fini(&f->samples);
	report_paths_destroy(f->words.paths);
	report_names_destroy(f->words.names);
	collection_destroy(f->profile.collection);
	return 0;
}

/* From and to are in ms. */
static void add_of(struct fixture *f, uint32_t tid, enum host_sample_kind kind, uint32_t name_id,
		   uint32_t stack_id, uint32_t from, uint32_t to)
{
	const struct timeline_sample sample = {.begin_ns = (uint64_t)from * MS,
					       .end_ns = (uint64_t)to * MS,
					       .process_id = PROCESS,
					       .tid = tid,
					       .stack_id = stack_id,
					       .name_id = name_id,
					       .kind = (uint8_t)kind};

	assert_int_equal(timeline_samples_add(&f->samples, &sample), 0);
}

/* Finds the text of an idle time from 10 to 20 ms, and whether its stack is the wanted one; 0: none. */
static const char *find(struct fixture *f, enum timeline_idle_reason reason, uint32_t stack_id)
{
	const struct timeline_idle idle = {
		.begin_ns = 10ull * MS, .end_ns = 20ull * MS, .reason = reason};
	const struct timeline_launch launch = {.process_id = PROCESS, .tid = TID};
	const struct fold_key key = {.process_id = PROCESS,
				     .tid = TID,
				     .stack_id = stack_id,
				     .kind = REPORT_KIND_HOST + HOST_SAMPLE_CPU,
				     .matched = 1};
	uint32_t text, node, wanted = REPORT_NODE_ROOT;

	timeline_samples_sort(&f->samples);
	assert_int_equal(idle_words_find(&f->words, &idle, &launch, &text, &node), 0);
	if (stack_id)
		assert_int_equal(report_paths_find(f->words.paths, &key, &wanted), 0);
	assert_int_equal(node, wanted);
	return report_names_get(f->words.names, text);
}

static void without_samples_the_launch_alone_tells(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(find(f, TIMELINE_IDLE_UNKNOWN, 0), "idle");
	assert_string_equal(find(f, TIMELINE_IDLE_LAUNCHES, 0), "idle: launch-bound");
	assert_string_equal(find(f, TIMELINE_IDLE_HOST, 0), "idle: host did not launch");
	assert_string_equal(find(f, TIMELINE_IDLE_START, 0), "idle: launched, not started");
}

static void the_thread_works(void **state)
{
	struct fixture *f = *state;

	add_of(f, TID, HOST_SAMPLE_OFF_CPU, f->futex, f->load, 0, 13);
	add_of(f, TID, HOST_SAMPLE_CPU, 0, f->step, 13, 17);
	add_of(f, TID, HOST_SAMPLE_CPU, 0, f->step, 17, 40);
	assert_string_equal(find(f, TIMELINE_IDLE_HOST, f->step), "idle: host works");
	assert_string_equal(find(f, TIMELINE_IDLE_LAUNCHES, 0), "idle: launch-bound");
}

static void the_thread_waits_for_its_input(void **state)
{
	struct fixture *f = *state;

	add_of(f, TID, HOST_SAMPLE_CPU, 0, f->step, 9, 14);
	add_of(f, TID, HOST_SAMPLE_OFF_CPU, f->futex, f->load, 14, 30);
	assert_string_equal(find(f, TIMELINE_IDLE_HOST, f->load), "idle: waiting for input");
}

static void the_thread_waits_for_something_else(void **state)
{
	struct fixture *f = *state;

	add_of(f, TID, HOST_SAMPLE_OFF_CPU, f->futex, f->step, 11, 14);
	add_of(f, TID, HOST_SAMPLE_OFF_CPU, f->gpu, f->step, 14, 16);
	add_of(f, TID, HOST_SAMPLE_CPU, 0, f->step, 16, 18);
	assert_string_equal(find(f, TIMELINE_IDLE_HOST, f->step), "idle: host waits (futex)");
	add_of(f, TID, HOST_SAMPLE_OFF_CPU, f->gpu, 0, 18, 20);
	assert_string_equal(find(f, TIMELINE_IDLE_HOST, f->step), "idle: host waits for the GPU");
}

static void less_than_half_of_the_time_tells_nothing(void **state)
{
	struct fixture *f = *state;

	add_of(f, TID, HOST_SAMPLE_CPU, 0, f->step, 5, 14);
	assert_string_equal(find(f, TIMELINE_IDLE_HOST, 0), "idle: host did not launch");
	add_of(f, TID, HOST_SAMPLE_CPU, 0, f->step, 19, 21);
	assert_string_equal(find(f, TIMELINE_IDLE_HOST, f->step), "idle: host works");
}

static void other_threads_do_not_count(void **state)
{
	struct fixture *f = *state;

	add_of(f, TID - 1, HOST_SAMPLE_CPU, 0, f->step, 5, 30);
	add_of(f, TID + 1, HOST_SAMPLE_CPU, 0, f->step, 5, 30);
	assert_string_equal(find(f, TIMELINE_IDLE_HOST, 0), "idle: host did not launch");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_samples_the_launch_alone_tells),
		TEST(the_thread_works),
		TEST(the_thread_waits_for_its_input),
		TEST(the_thread_waits_for_something_else),
		TEST(less_than_half_of_the_time_tells_nothing),
		TEST(other_threads_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
