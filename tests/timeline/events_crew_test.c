/* Events of many processes in many blocks, whose times overlap, read by several threads and by one. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/trace/events_crew.h"
#include "timeline/trace/process_sort.h"

#define PROCESSES 11u
#define BLOCKS    25u
#define PIECES    12u /* of a process in a block */
#define BLOCK_NS  1000u
#define FIRST_NS  5000000u
#define RANGES    200u
#define ALL       (PROCESSES * BLOCKS * PIECES)

struct fixture {
	char store[64];
	struct profile profile;
	struct timeline_source *source;
	uint32_t random, nr_cpus;
	struct {
		uint64_t start_ns, end_ns;
		uint32_t process_id;
	} truths[ALL];
	uint32_t nr_truths;
};

static struct fixture made;

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
	(void)pid;
	(void)size;
	CPU_ZERO(cpus);
	for (uint32_t i = 0; i < made.nr_cpus; i++)
		CPU_SET(i, cpus);
	return 0;
}

/* Where memory does not suffice for a second reader: of a source of its own, or of its events. */
static bool has_no_source;
static int shares_error;

struct timeline_source *__real_timeline_source_again(const struct timeline_source *source);
struct timeline_source *__wrap_timeline_source_again(const struct timeline_source *source);

struct timeline_source *__wrap_timeline_source_again(const struct timeline_source *source)
{
	return has_no_source ? NULL : __real_timeline_source_again(source);
}

int __real_timeline_events_read(struct timeline_source *source,
				const struct timeline_request *request, bool reaches,
				struct timeline_events *events);
int __wrap_timeline_events_read(struct timeline_source *source,
				const struct timeline_request *request, bool reaches,
				struct timeline_events *events);

/* Those that share the processes name theirs. */
int __wrap_timeline_events_read(struct timeline_source *source,
				const struct timeline_request *request, bool reaches,
				struct timeline_events *events)
{
	int error = __real_timeline_events_read(source, request, reaches, events);

	return error || !shares_error || !request->processes || !request->processes[PROCESSES - 1]
		       ? error
		       : shares_error;
}

static uint32_t some(struct fixture *f, uint32_t most)
{
	f->random = f->random * 1664525u + 1013904223u;
	return (f->random >> 8) % most;
}

/* Correlation ids come again in other blocks, and in other windows. A third of the launches is marks. */
static void add_piece(struct fixture *f, struct event_packer *packer, uint32_t process_id,
		      uint64_t first_ns, uint32_t id)
{
	const uint64_t start_ns = first_ns + some(f, 3 * BLOCK_NS);
	const struct gpu_record record = {.start_ns = start_ns,
					  .end_ns = start_ns + some(f, 2 * BLOCK_NS),
					  .correlation_id = id,
					  .window = (uint16_t)some(f, 2),
					  .kind = some(f, 5) ? RECORD_GPU_KERNEL : RECORD_GPU_SYNC,
					  .stream_id = 1 + some(f, 3)};

	event_packer_record(packer, &record);
	if (id % 4)
		event_packer_launch(packer,
				    &(struct launch_record){.time_ns = start_ns - some(f, 900),
							    .correlation_id = id,
							    .window = record.window,
							    .tid = id});
	if (id % 3 == 0)
		event_packer_launch(
			packer,
			&(struct launch_record){.time_ns = start_ns + some(f, 50),
						.correlation_id = id,
						.cbid = RECORD_MARK_STEP,
						.flags = RECORD_LAUNCH_MARK | RECORD_LAUNCH_HOST});
	f->truths[f->nr_truths].start_ns = start_ns;
	f->truths[f->nr_truths].end_ns = record.end_ns;
	f->truths[f->nr_truths++].process_id = process_id;
}

static void write_log(struct fixture *f)
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	for (uint32_t block = 0; block < BLOCKS; block++) {
		for (uint32_t i = 0; i < PROCESSES; i++) {
			const uint32_t process_id = 1 + (i * 7 + block) % PROCESSES;

			event_packer_begin(event_log_packer(log), process_id, 0, true);
			for (uint32_t j = 0; j < PIECES; j++)
				add_piece(f, event_log_packer(log), process_id,
					  FIRST_NS + block * BLOCK_NS, block % 5 * PIECES + j);
		}
		assert_int_equal(event_log_write(log, block + 1), 0);
	}
	event_log_close(log);
}

static int set_up(void **state)
{
	struct fixture *f = &made;
	uint32_t host, node, process;

	*f = (struct fixture){
		.store = "/tmp/flamegrid-crew.XXXXXX", .profile.has_timeline = true, .nr_cpus = 4};
	memcpy(f->profile.timeline_id, "a test's profile", EVENT_FORMAT_ID);
	assert_non_null(mkdtemp(f->store));
	strcat(f->store, "/profile.db");
	f->profile.collection = collection_create();
	assert_non_null(f->profile.collection);
	struct roster *roster = f->profile.collection->roster;
	assert_int_equal(catalog_add_string(f->profile.collection->catalog, "node01", 6, &node), 0);
	assert_int_equal(roster_add_host(roster, &(struct roster_host){.node = node}, &host), 0);
	for (uint32_t i = 1; i <= PROCESSES; i++)
		assert_int_equal(roster_add_process(
					 roster, &(struct roster_identity){.host = host, .pid = i},
					 &process),
				 0);
	write_log(f);
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

static void check_launches(const struct timeline_launch *a, const struct timeline_launch *b,
			   uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(a[i].process_id, b[i].process_id);
		assert_int_equal(a[i].time_ns, b[i].time_ns);
		assert_int_equal(a[i].correlation_id, b[i].correlation_id);
		assert_int_equal(a[i].window, b[i].window);
		assert_int_equal(a[i].tid, b[i].tid);
		assert_int_equal(a[i].flow, b[i].flow);
	}
}

static void check_same(const struct timeline_events *a, const struct timeline_events *b)
{
	assert_int_equal(a->nr_launches, b->nr_launches);
	assert_int_equal(a->nr_marks, b->nr_marks);
	assert_int_equal(a->nr_work, b->nr_work);
	assert_int_equal(a->nr_flows, b->nr_flows);
	assert_int_equal(a->nr_ranks, b->nr_ranks);
	assert_int_equal(a->nr_launchless, b->nr_launchless);
	assert_int_equal(a->counts.log.damaged, b->counts.log.damaged);
	assert_int_equal(a->counts.others, b->counts.others);
	check_launches(a->launches, b->launches, a->nr_launches);
	check_launches(a->marks, b->marks, a->nr_marks);
	for (uint32_t i = 0; i < a->nr_work; i++) {
		const struct timeline_work *left = &a->work[i], *right = &b->work[i];

		assert_int_equal(left->process_id, right->process_id);
		assert_int_equal(left->start_ns, right->start_ns);
		assert_int_equal(left->end_ns, right->end_ns);
		assert_int_equal(left->stream_id, right->stream_id);
		assert_int_equal(left->correlation_id, right->correlation_id);
		assert_int_equal(left->launch, right->launch);
	}
}

static void check_recount(const struct fixture *f, const struct timeline_events *events,
			  const struct timeline_request *request)
{
	uint64_t ns = 0, truth_ns = 0;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < f->nr_truths; i++) {
		if (request->processes && !request->processes[f->truths[i].process_id - 1])
			continue;
		if (f->truths[i].end_ns < request->from_ns ||
		    f->truths[i].start_ns >= request->to_ns)
			continue;
		truth_ns += f->truths[i].end_ns - f->truths[i].start_ns;
		nr++;
	}
	for (uint32_t i = 0; i < events->nr_work; i++)
		ns += events->work[i].end_ns - events->work[i].start_ns;
	assert_int_equal(events->nr_work, nr);
	assert_int_equal(ns, truth_ns);
}

static void any_range_is_as_one_reader_reads_it_to_the_nanosecond(void **state)
{
	struct fixture *f = *state;
	uint64_t nr_work = 0;

	for (uint32_t i = 0; i < RANGES; i++) {
		const uint64_t from_ns = FIRST_NS + some(f, BLOCKS * BLOCK_NS);
		uint8_t processes[PROCESSES];
		struct timeline_events several, one;

		f->nr_cpus = 1 + some(f, 20);
		for (uint32_t j = 0; j < PROCESSES; j++)
			processes[j] = some(f, 3) != 0;
		const struct timeline_request request = {
			.from_ns = i ? from_ns : 0,
			.to_ns = i ? from_ns + some(f, i % 2 ? 300 : 9 * BLOCK_NS) : UINT64_MAX,
			.processes = i % 5 == 4 ? processes : NULL,
		};
		assert_int_equal(events_crew_read(f->source, &request, &several), 0);
		assert_int_equal(timeline_events_read(f->source, &request, false, &one), 0);
		check_same(&several, &one);
		check_recount(f, &several, &request);
		nr_work += several.nr_work;
		timeline_events_fini(&several);
		timeline_events_fini(&one);
	}
	assert_in_range(nr_work, 2 * ALL, RANGES * ALL);
}

/* More marks lie around a range than within it. */
static void marks_around_a_range_come_behind_its_own(void **state)
{
	struct fixture *f = *state;
	const struct timeline_request request = {.from_ns = FIRST_NS + 9 * BLOCK_NS,
						 .to_ns = FIRST_NS + 11 * BLOCK_NS};

	for (uint32_t nr_cpus = 1; nr_cpus < 6; nr_cpus++) {
		struct timeline_events events, all;
		uint32_t nr_within;

		f->nr_cpus = nr_cpus;
		assert_int_equal(events_crew_read(f->source, &request, &events), 0);
		nr_within = events.nr_marks;
		assert_int_equal(timeline_events_marks_around(f->source, &request, &events), 0);
		assert_int_equal(
			timeline_events_read(f->source, &TIMELINE_REQUEST_ALL, false, &all), 0);
		assert_in_range(nr_within, 1, all.nr_marks / 2);
		assert_int_equal(events.nr_marks, all.nr_marks);
		check_launches(events.marks, all.marks, all.nr_marks);
		timeline_events_fini(&events);
		timeline_events_fini(&all);
	}
}

static void damage_is_counted_once(void **state)
{
	struct fixture *f = *state;
	struct timeline_events several, one;
	char path[128];
	struct stat info;
	uint8_t byte;

	snprintf(path, sizeof(path), "%s" EVENT_FORMAT_FOLDER "/00000001" EVENT_FORMAT_SUFFIX,
		 f->store);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(pread(fd, &byte, 1, info.st_size - 5), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, info.st_size - 5), 1);
	close(fd);
	assert_int_equal(events_crew_read(f->source, &TIMELINE_REQUEST_ALL, &several), 0);
	assert_int_equal(timeline_events_read(f->source, &TIMELINE_REQUEST_ALL, false, &one), 0);
	assert_int_equal(one.counts.log.damaged, 1);
	check_same(&several, &one);
	timeline_events_fini(&several);
	timeline_events_fini(&one);
}

static void one_reader_reads_all_where_memory_does_not_suffice_for_several(void **state)
{
	struct fixture *f = *state;

	static const int errors[] = {0, -ENOMEM, -EMFILE};

	for (uint32_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct timeline_events several, one;

		has_no_source = i == 0;
		shares_error = errors[i];
		int error = events_crew_read(f->source, &TIMELINE_REQUEST_ALL, &several);
		has_no_source = false;
		shares_error = 0;
		assert_int_equal(error, 0);
		assert_int_equal(
			timeline_events_read(f->source, &TIMELINE_REQUEST_ALL, false, &one), 0);
		assert_int_not_equal(one.nr_work, 0);
		check_same(&several, &one);
		timeline_events_fini(&several);
		timeline_events_fini(&one);
	}
}

static uint32_t nr_windows;

static int count_window(void *context, const struct timeline_launch *launch)
{
	(void)context;
	nr_windows += launch->mark >= RECORD_MARK_WINDOW_END;
	return 0;
}

/* Returns the number of blocks that were read for marks of windows. */
static uint64_t find_windows(const struct fixture *f)
{
	const struct timeline_sink sink = {count_window, NULL, NULL};
	const struct timeline_request request = {.to_ns = UINT64_MAX, .windows_alone = true};
	struct timeline_counts counts;

	nr_windows = 0;
	assert_int_equal(timeline_source_read(f->source, &request, &sink, &counts), 0);
	assert_int_equal(counts.log.damaged, 0);
	assert_int_equal(counts.log.blocks, BLOCKS + 1);
	return counts.log.blocks_read;
}

static void make_block_older(uint8_t *block)
{
	struct event_block_head head;
	struct event_span span;
	uint8_t *spans = block + sizeof(head);

	memcpy(&head, block, sizeof(head));
	for (uint32_t i = 0; i < head.nr_spans; i++) {
		memcpy(&span, spans + i * sizeof(span), sizeof(span));
		assert_true(span.marks & EVENT_SPAN_KNOWN);
		span.marks &= EVENT_SPAN_MARKS;
		memcpy(spans + i * sizeof(span), &span, sizeof(span));
	}
	head.spans_checksum = checksum_add(0, spans, head.nr_spans * sizeof(span));
	head.checksum = EVENT_FORMAT_CHECKSUM(&head);
	memcpy(block, &head, sizeof(head));
}

/* Writes the first so many blocks again, as earlier writers did. */
static void make_blocks_older(const struct fixture *f, uint32_t nr)
{
	static uint8_t bytes[1 << 20];
	struct event_block_head head;
	char path[128];

	snprintf(path, sizeof(path), "%s" EVENT_FORMAT_FOLDER "/00000001" EVENT_FORMAT_SUFFIX,
		 f->store);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	const ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
	assert_in_range(size, 1, sizeof(bytes) - 1);
	size_t at = sizeof(struct event_file_head);
	for (uint32_t i = 0; i < nr; i++) {
		assert_true(at + sizeof(head) <= (size_t)size);
		make_block_older(bytes + at);
		memcpy(&head, bytes + at, sizeof(head));
		at += sizeof(head) + head.nr_spans * sizeof(struct event_span) + head.stored_bytes;
	}
	assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
	close(fd);
}

static void marks_of_windows_are_found_without_other_blocks(void **state)
{
	struct fixture *f = *state;
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	event_packer_begin(event_log_packer(log), 3, 0, true);
	for (uint16_t i = 0; i < 2; i++)
		event_packer_launch(
			event_log_packer(log),
			&(struct launch_record){.time_ns = FIRST_NS + i,
						.cbid = RECORD_MARK_WINDOW_END + i,
						.flags = RECORD_LAUNCH_MARK | RECORD_LAUNCH_HOST});
	assert_int_equal(event_log_write(log, BLOCKS + 1), 0);
	event_log_close(log);
	assert_int_equal(find_windows(f), 1);
	assert_int_equal(nr_windows, 2);
	make_blocks_older(f, 7);
	assert_int_equal(find_windows(f), 8);
	assert_int_equal(nr_windows, 2);
}

struct item {
	uint32_t key, process_id, place;
};

static int by_item_key(const void *a, const void *b)
{
	const struct item *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static void items_are_sorted_by_process_and_equal_ones_keep_their_order(void **state)
{
	struct fixture *f = *state;

	for (uint32_t round = 0; round < 20; round++) {
		const uint32_t nr = round * 37;
		struct item *items = calloc(nr + 1, sizeof(*items));

		assert_non_null(items);
		for (uint32_t i = 0; i < nr; i++)
			items[i] = (struct item){some(f, 9), round % 3 ? some(f, 7) : i / 40, i};
		assert_int_equal(process_sort((void **)&items, nr, sizeof(*items),
					      offsetof(struct item, process_id), by_item_key),
				 0);
		for (uint32_t i = 1; i < nr; i++) {
			const struct item *before = &items[i - 1], *item = &items[i];

			assert_true(before->process_id < item->process_id ||
				    (before->process_id == item->process_id &&
				     (before->key < item->key ||
				      (before->key == item->key && before->place < item->place))));
		}
		free(items);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_range_is_as_one_reader_reads_it_to_the_nanosecond),
		TEST(marks_around_a_range_come_behind_its_own),
		TEST(damage_is_counted_once),
		TEST(one_reader_reads_all_where_memory_does_not_suffice_for_several),
		TEST(marks_of_windows_are_found_without_other_blocks),
		TEST(items_are_sorted_by_process_and_equal_ones_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
