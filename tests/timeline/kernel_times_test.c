#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/kernels/kernel_times.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"

#define FIRST_NS 1000000000u
#define SPAN_NS  320000000u
#define PIECES   3200u
#define APART_NS (SPAN_NS / PIECES)

enum { GROWING, STEADY, SHRINKING, COPY, LAST, NAMES };

struct fixture {
	char store[64];
	struct profile profile;
	uint32_t names[NAMES];
	struct timeline_source *source;
	struct kernel_time truth[NAMES];
};

/* Of piece i of all. */
static uint64_t duration_of(uint32_t name, uint32_t i)
{
	switch (name) {
	case GROWING:
		return 10000 + i;
	case SHRINKING:
		return 10000 - i + i % 3 * 100;
	case STEADY:
		return 5000 + i * 7919 % 1000;
	default:
		return 700;
	}
}

static void note(struct fixture *f, uint32_t name, const struct gpu_record *record)
{
	struct kernel_time *time = &f->truth[name];
	struct kernel_slice *slice =
		&time->slices[(record->start_ns - FIRST_NS) / (SPAN_NS / KERNEL_TIMES_SLICES)];

	if (!time->count++)
		time->first_ns = record->start_ns;
	time->last_ns = record->end_ns;
	time->ns += record->end_ns - record->start_ns;
	slice->count++;
	slice->ns += record->end_ns - record->start_ns;
}

/* Both processes do the same in turn. The last kernel comes in the last slice alone. */
static void add_work(struct fixture *f, struct event_packer *packer, uint32_t process_id)
{
	event_packer_begin(packer, process_id, 0, true);
	for (uint32_t i = process_id - 1; i < PIECES; i += 2) {
		const uint32_t name = i == PIECES - 1 ? LAST : i / 2 % 4;
		const uint64_t start_ns = FIRST_NS + (uint64_t)i * APART_NS;
		const struct gpu_record record = {
			.start_ns = start_ns,
			.end_ns = start_ns + duration_of(name, i),
			.name_id = name == COPY ? 0 : f->names[name],
			.kind = name == COPY ? RECORD_GPU_MEMCPY : RECORD_GPU_KERNEL,
			.copy_kind = name == COPY ? 1 : 0,
		};

		event_packer_record(packer, &record);
	}
	/* The whole time is known, of waits that do not count. */
	event_packer_record(packer, &(struct gpu_record){.start_ns = FIRST_NS,
							 .end_ns = FIRST_NS + SPAN_NS,
							 .kind = RECORD_GPU_SYNC});
}

static void note_all(struct fixture *f)
{
	for (uint32_t i = 0; i < PIECES; i++) {
		const uint32_t name = i == PIECES - 1 ? LAST : i / 2 % 4;
		const uint64_t start_ns = FIRST_NS + (uint64_t)i * APART_NS;

		note(f, name,
		     &(struct gpu_record){.start_ns = start_ns,
					  .end_ns = start_ns + duration_of(name, i)});
	}
}

static int set_up(void **state)
{
	static const uint8_t id[EVENT_FORMAT_ID] = "a test's profile";
	static const char *const names[] = {"growing", "steady", "shrinking", "unused", "last"};
	static struct fixture made;
	struct fixture *f = &made;
	struct event_log_options options = {.keeps = true};
	struct event_log *log;
	uint32_t host, node, process;

	*f = (struct fixture){.store = "/tmp/flamegrid-kernels.XXXXXX",
			      .profile.has_timeline = true};
	memcpy(f->profile.timeline_id, id, sizeof(id));
	memcpy(options.profile, id, sizeof(id));
	assert_non_null(mkdtemp(f->store));
	strcat(f->store, "/profile.db");
	f->profile.collection = collection_create();
	assert_non_null(f->profile.collection);
	struct catalog *catalog = f->profile.collection->catalog;
	struct roster *roster = f->profile.collection->roster;
	assert_int_equal(catalog_add_string(catalog, "node01", 6, &node), 0);
	for (uint32_t i = 0; i < NAMES; i++)
		assert_int_equal(catalog_add_string(catalog, names[i], (uint32_t)strlen(names[i]),
						    &f->names[i]),
				 0);
	assert_int_equal(roster_add_host(roster, &(struct roster_host){.node = node}, &host), 0);
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	for (uint32_t i = 1; i <= 2; i++) {
		const struct roster_identity identity = {.host = host, .pid = i};

		assert_int_equal(roster_add_process(roster, &identity, &process), 0);
		roster_process(roster, process)->rank = (int32_t)i - 1;
		add_work(f, event_log_packer(log), process);
	}
	note_all(f);
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

static const struct kernel_time *find(const struct fixture *f, const struct kernel_times *times,
				      uint32_t name)
{
	for (uint32_t i = 0; i < times->nr_times; i++)
		if (name == COPY ? times->times[i].kind == RECORD_GPU_MEMCPY
				 : times->times[i].name_id == f->names[name])
			return &times->times[i];
	fail();
	return NULL;
}

static void each_name_has_its_times_in_each_slice(void **state)
{
	struct fixture *f = *state;
	struct kernel_times times;

	assert_int_equal(kernel_times_read(f->source, &TIMELINE_REQUEST_ALL, false, &times), 0);
	assert_int_equal(times.nr_times, NAMES);
	assert_int_equal(times.nr_left_out, 0);
	assert_int_equal(times.from_ns, FIRST_NS);
	for (uint32_t name = 0; name < NAMES; name++) {
		const struct kernel_time *have = find(f, &times, name), *want = &f->truth[name];

		assert_int_equal(have->count, want->count);
		assert_int_equal(have->ns, want->ns);
		assert_int_equal(have->first_ns, want->first_ns);
		assert_int_equal(have->last_ns, want->last_ns);
		assert_memory_equal(have->slices, want->slices, sizeof(want->slices));
	}
	for (uint32_t i = 1; i < times.nr_times; i++)
		assert_true(times.times[i - 1].ns >= times.times[i].ns);
	kernel_times_fini(&times);
}

static void halves_are_those_of_the_time(void **state)
{
	struct fixture *f = *state;
	struct kernel_times times;

	assert_int_equal(kernel_times_read(f->source, &TIMELINE_REQUEST_ALL, false, &times), 0);
	const struct kernel_time *copy = find(f, &times, COPY), *last = find(f, &times, LAST);
	assert_int_equal(kernel_times_half(copy, 0).count, PIECES / 8);
	assert_int_equal(kernel_times_half(copy, 0).count + kernel_times_half(copy, 1).count,
			 copy->count);
	assert_int_equal(kernel_times_half(copy, 1).ns, kernel_times_half(copy, 1).count * 700);
	assert_int_equal(kernel_times_half(last, 0).count, 0);
	assert_int_equal(kernel_times_half(last, 1).count, 1);
	kernel_times_fini(&times);
}

static void what_gets_slower_or_faster_is_told(void **state)
{
	struct fixture *f = *state;
	struct kernel_times times;

	assert_int_equal(kernel_times_read(f->source, &TIMELINE_REQUEST_ALL, false, &times), 0);
	const struct kernel_time *growing = find(f, &times, GROWING),
				 *shrinking = find(f, &times, SHRINKING);
	assert_true(growing->drifts);
	assert_true(growing->drift_begin_ns < 10100 && growing->drift_end_ns > 13000);
	assert_true(shrinking->drifts);
	assert_true(shrinking->drift_begin_ns > 10000 && shrinking->drift_end_ns < 7000);
	assert_false(find(f, &times, STEADY)->drifts);
	assert_false(find(f, &times, COPY)->drifts);
	assert_false(find(f, &times, LAST)->drifts);
	kernel_times_fini(&times);
}

static void a_time_and_ranks_restrict_it(void **state)
{
	static const uint8_t ranks[] = {1, 0};
	struct fixture *f = *state;
	struct timeline_request request = {.from_ns = FIRST_NS + SPAN_NS / 4,
					   .to_ns = FIRST_NS + SPAN_NS / 2,
					   .ranks = ranks,
					   .nr_ranks = 2};
	struct kernel_times times;
	uint64_t count = 0;

	assert_int_equal(kernel_times_read(f->source, &request, false, &times), 0);
	for (uint32_t i = 0; i < times.nr_times; i++)
		count += times.times[i].count;
	assert_int_equal(count, PIECES / 8);
	assert_int_equal(times.from_ns, request.from_ns);
	assert_int_equal(times.to_ns, request.to_ns);
	kernel_times_fini(&times);
	request.from_ns = FIRST_NS + 2ull * SPAN_NS;
	request.to_ns = UINT64_MAX;
	assert_int_equal(kernel_times_read(f->source, &request, false, &times), 0);
	assert_int_equal(times.nr_times, 0);
	kernel_times_fini(&times);
}

/* ---- by stack */

/* A launch and its work, which may come much later. */
static void add_pair(struct event_packer *packer, uint32_t id, uint64_t launch_ns,
		     uint32_t stack_id, uint64_t start_ns, uint32_t name_id)
{
	event_packer_launch(packer, &(struct launch_record){.time_ns = launch_ns,
							    .correlation_id = id,
							    .stack_id = stack_id,
							    .tid = 1});
	event_packer_record(packer, &(struct gpu_record){.start_ns = start_ns,
							 .end_ns = start_ns + id,
							 .correlation_id = id,
							 .name_id = name_id,
							 .kind = RECORD_GPU_KERNEL});
}

/* Two stacks launch one kernel in turn, and a stack beyond the catalog launches another one. */
static void add_launched(struct fixture *f, const uint32_t nodes[2])
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	event_packer_begin(event_log_packer(log), 1, 0, true);
	for (uint32_t i = 1; i <= 100; i++)
		add_pair(event_log_packer(log), i, FIRST_NS + i * 1000u, nodes[i % 2],
			 FIRST_NS + i * 1000000u, f->names[3]);
	add_pair(event_log_packer(log), 101, FIRST_NS, 4711, FIRST_NS + 5, f->names[3]);
	event_log_write(log, 1);
	event_log_close(log);
}

static void each_stack_of_a_kernel_has_its_times(void **state)
{
	struct fixture *f = *state;
	struct catalog *catalog = f->profile.collection->catalog;
	struct timeline_request small = TIMELINE_REQUEST_ALL;
	struct kernel_times times;
	uint32_t nodes[2], frame;

	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(catalog_add_frame(catalog, 0, i + 1, 1, &frame), 0);
		assert_int_equal(catalog_add_node(catalog, 0, frame, &nodes[i]), 0);
	}
	add_launched(f, nodes);
	timeline_source_destroy(f->source);
	f->source = timeline_source_create(f->store, &f->profile, NULL);
	assert_non_null(f->source);
	/* At once, and in many stretches, where the work comes behind its launches. */
	for (small.events_max = 0; small.events_max <= 300; small.events_max += 300) {
		uint64_t count = 0, found = 0;

		assert_int_equal(kernel_times_read(f->source, &small, true, &times), 0);
		for (uint32_t i = 0; i < times.nr_times; i++) {
			const struct kernel_time *time = &times.times[i];

			count += time->count;
			if (time->name_id != f->names[3])
				continue;
			struct duration_bin list[DURATION_BUCKETS];
			const uint32_t nr = duration_bins_list(&time->bins, list);

			found++;
			assert_int_equal(duration_list_count(list, nr), time->count);
			assert_true(duration_list_holds(list, nr, time->ns));
			if (time->stack_id == 0) {
				assert_int_equal(time->count, 1);
				assert_int_equal(time->ns, 101);
				continue;
			}
			const uint32_t odd = time->stack_id == nodes[1];
			assert_int_equal(time->count, 50);
			assert_int_equal(time->ns, odd ? 2500 : 2550);
			assert_int_equal(time->first_ns, FIRST_NS + (odd ? 1 : 2) * 1000000u);
			assert_int_equal(time->last_ns,
					 FIRST_NS + (odd ? 99 : 100) * 1000000u + (odd ? 99 : 100));
		}
		assert_int_equal(found, 3);
		assert_int_equal(count, PIECES + 101);
		kernel_times_fini(&times);
	}
}

/* A process, a stack, a capture stack and a name. */
static void add_unknown(struct fixture *f)
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	struct event_packer *packer = event_log_packer(log);
	event_packer_begin(packer, 1, 0, true);
	add_pair(packer, 1, FIRST_NS, 4711, FIRST_NS, 4711);
	event_packer_record(packer, &(struct gpu_record){.start_ns = FIRST_NS,
							 .end_ns = FIRST_NS + 1,
							 .name_id = f->names[3],
							 .capture_stack_id = 1});
	event_packer_begin(packer, 3, 0, true);
	add_pair(packer, 1, FIRST_NS, 0, FIRST_NS, f->names[3]);
	event_log_write(log, 1);
	event_log_close(log);
}

static void events_that_name_what_the_store_lacks_are_damaged_but_while_it_is_written(void **state)
{
	struct fixture *f = *state;
	struct kernel_times times;

	add_unknown(f);
	for (uint32_t written = 0; written <= 1; written++) {
		uint64_t count = 0;

		f->profile.written = written;
		assert_int_equal(kernel_times_read(f->source, &TIMELINE_REQUEST_ALL, true, &times),
				 0);
		for (uint32_t i = 0; i < times.nr_times; i++)
			count += times.times[i].count;
		assert_int_equal(count, PIECES);
		assert_int_equal(times.counts.log.damaged, written ? 0 : 5);
		assert_int_equal(times.counts.unknown, written ? 5 : 0);
		kernel_times_fini(&times);
	}
}

static void without_a_log_there_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct timeline_source *none =
		timeline_source_create("/tmp/flamegrid-no-such-profile.db", &f->profile, NULL);
	struct kernel_times times;

	assert_non_null(none);
	assert_int_equal(kernel_times_read(none, &TIMELINE_REQUEST_ALL, false, &times), -ENOENT);
	kernel_times_fini(&times);
	timeline_source_destroy(none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_name_has_its_times_in_each_slice),
		TEST(halves_are_those_of_the_time),
		TEST(what_gets_slower_or_faster_is_told),
		TEST(a_time_and_ranks_restrict_it),
		TEST(each_stack_of_a_kernel_has_its_times),
		TEST(without_a_log_there_is_an_error),
		TEST(events_that_name_what_the_store_lacks_are_damaged_but_while_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
