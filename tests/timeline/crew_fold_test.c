/* Events of processes that share GPUs, streams, ids and launches, folded while they are read, and at once. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/slice/cell_maker.h"
#include "timeline/slice/crew_fold.h"
#include "timeline/slice/slice_fold.h"

#define PROCESSES 9u
#define DEVICES   6u
#define STACKS    5u
#define NAMES     4u
#define BLOCKS    40u
#define PIECES    30u /* of a process in a block */
#define BLOCK_NS  1000000u
#define FIRST_NS  5000000000u
#define RANGES    60u

struct fixture {
	char store[64];
	struct profile profile;
	struct timeline_source *source;
	uint32_t random, nr_cpus, next_id;
	bool has_orphans;  /* waits without a call */
	uint64_t nr_cells; /* that were in place of events */
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

static uint32_t some(struct fixture *f, uint32_t most)
{
	f->random = f->random * 1664525u + 1013904223u;
	return (f->random >> 8) % most;
}

/* ---- the profile */

static void add_names(struct catalog *catalog)
{
	static const char *const names[NAMES] = {"gemm", "ncclDevKernel_AllReduce", "copy", "node"};
	uint32_t id, frame, module;

	for (uint32_t i = 0; i < NAMES; i++)
		assert_int_equal(
			catalog_add_string(catalog, names[i], (uint32_t)strlen(names[i]), &id), 0);
	assert_int_equal(catalog_add_module(catalog, &(struct catalog_module){.path = 1}, &module),
			 0);
	for (uint32_t i = 0; i < STACKS; i++) {
		assert_int_equal(catalog_add_frame(catalog, module, i, 0, &frame), 0);
		assert_int_equal(catalog_add_node(catalog, 0, frame, &id), 0);
		assert_int_equal(id, i + 1);
	}
}

/* Processes 3 and 4 use one GPU, process 5 describes none, and process 6 two. */
static void add_processes(struct roster *roster)
{
	uint32_t host, id;

	assert_int_equal(roster_add_host(roster, &(struct roster_host){.node = 4}, &host), 0);
	for (uint32_t i = 1; i <= DEVICES; i++)
		assert_int_equal(roster_add_device(roster,
						   &(struct roster_device){.host = host,
									   .index = (int32_t)i,
									   .uuid = {(uint8_t)i}},
						   &id),
				 0);
	for (uint32_t i = 1; i <= PROCESSES; i++) {
		const struct roster_ordinal devices[2] = {{0, i == 4 ? 3 : 1 + i % DEVICES},
							  {1, DEVICES}};

		assert_int_equal(
			roster_add_process(roster,
					   &(struct roster_identity){.host = host, .pid = i}, &id),
			0);
		assert_int_equal(roster_process_set_devices(roster_process(roster, id), devices,
							    i == 5 ? 0 : 1 + (i == 6)),
				 0);
	}
}

/* ---- the log */

static void add_launch(struct event_packer *packer, uint32_t id, uint64_t time_ns, uint32_t stack,
		       uint32_t flags)
{
	event_packer_launch(packer, &(struct launch_record){.time_ns = time_ns,
							    .correlation_id = id,
							    .window = (uint16_t)(1 + id % 2),
							    .stack_id = stack,
							    .tid = 100 + stack,
							    .flags = flags});
}

/* A kernel or copy, or the kernels of a graph; a wait of it, of a call or of nothing; a launch without work. */
static void add_piece(struct fixture *f, struct event_packer *packer, uint64_t first_ns)
{
	const uint32_t id = ++f->next_id, stack = some(f, STACKS + 1);
	const uint64_t launch_ns = first_ns + some(f, BLOCK_NS);
	struct gpu_record record = {.start_ns = launch_ns + 100 + some(f, 2 * BLOCK_NS),
				    .correlation_id = id,
				    .window = (uint16_t)(1 + id % 2),
				    .kind = some(f, 4) ? RECORD_GPU_KERNEL : RECORD_GPU_MEMCPY,
				    .bytes = some(f, 100),
				    .name_id = 1 + some(f, 3),
				    .device_id = some(f, 2),
				    .context_id = 1,
				    .stream_id = 1 + some(f, 3)};

	add_launch(packer, id, launch_ns, stack, 0);
	if (some(f, 9) == 0)
		add_launch(packer, id, launch_ns + 1 + some(f, 50), 1, RECORD_LAUNCH_HOST);
	for (uint32_t nr = some(f, 12) ? 1 : some(f, 4); nr > 0; nr--) {
		record.end_ns = record.start_ns + some(f, BLOCK_NS / 8);
		event_packer_record(packer, &record);
		record.start_ns = record.end_ns + some(f, 30);
	}
	if (some(f, 7) == 0) {
		const uint32_t call = ++f->next_id;

		record.kind = RECORD_GPU_SYNC;
		record.correlation_id = some(f, 2) ? id : call;
		record.window = (uint16_t)(1 + record.correlation_id % 2);
		record.end_ns = record.start_ns + 100;
		if (!f->has_orphans || some(f, 3))
			add_launch(packer, call, record.start_ns - 1, 2, RECORD_LAUNCH_HOST);
		event_packer_record(packer, &record);
	}
	if (some(f, 5) == 0)
		event_packer_launch(packer, &(struct launch_record){.time_ns = launch_ns,
								    .correlation_id = id,
								    .cbid = RECORD_MARK_STEP,
								    .flags = RECORD_LAUNCH_MARK |
									     RECORD_LAUNCH_HOST});
}

static void write_log(struct fixture *f, uint32_t nr_blocks, uint32_t nr_pieces)
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	for (uint32_t block = 0; block < nr_blocks; block++) {
		for (uint32_t i = 0; i < PROCESSES; i++) {
			event_packer_begin(event_log_packer(log), 1 + (i * 7 + block) % PROCESSES,
					   0, true);
			for (uint32_t j = 0; j < nr_pieces; j++)
				add_piece(f, event_log_packer(log), FIRST_NS + block * BLOCK_NS);
		}
		assert_int_equal(event_log_write(log, block + 1), 0);
	}
	event_log_close(log);
}

/* More events of process 1, in a file of their own. */
static struct event_log *write_more(struct fixture *f)
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	event_packer_begin(event_log_packer(log), 1, 0, true);
	return log;
}

static void end_more(struct event_log *log)
{
	assert_int_equal(event_log_write(log, BLOCKS + 1), 0);
	event_log_close(log);
}

static int set_up_log(void **state, uint32_t nr_blocks, uint32_t nr_pieces, bool has_orphans)
{
	struct fixture *f = &made;

	*f = (struct fixture){.store = "/tmp/flamegrid-fold.XXXXXX",
			      .profile.has_timeline = true,
			      .nr_cpus = 4,
			      .has_orphans = has_orphans};
	memcpy(f->profile.timeline_id, "a test's profile", EVENT_FORMAT_ID);
	assert_non_null(mkdtemp(f->store));
	strcat(f->store, "/profile.db");
	f->profile.collection = collection_create();
	assert_non_null(f->profile.collection);
	add_names(f->profile.collection->catalog);
	add_processes(f->profile.collection->roster);
	write_log(f, nr_blocks, nr_pieces);
	f->source = timeline_source_create(f->store, &f->profile, NULL);
	assert_non_null(f->source);
	*state = f;
	return 0;
}

static int set_up(void **state)
{
	return set_up_log(state, BLOCKS, PIECES, false);
}

/* So few launches that all of them have room. */
static int set_up_short(void **state)
{
	return set_up_log(state, 2, 4, true);
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

/* ---- the sums of all events at once, and those of the crew */

static struct collection *create_sums(void)
{
	struct collection *sums = collection_create();

	assert_non_null(sums);
	add_names(sums->catalog);
	add_processes(sums->roster);
	return sums;
}

static struct collection *sum_at_once(const struct fixture *f,
				      const struct timeline_request *request)
{
	struct timeline_request all = *request;
	struct uncaptured_work in_pauses = {0}; /* all was captured */
	struct slice_fold fold = {
		.from_ns = request->from_ns, .to_ns = request->to_ns, .in_pauses = &in_pauses};
	struct collection *sums = create_sums();
	struct timeline_events events;

	all.from_ns = 0;
	assert_int_equal(timeline_events_read(f->source, &all, false, &events), 0);
	assert_int_equal(slice_fold_add(&fold, sums, &events), 0);
	timeline_events_fini(&events);
	return sums;
}

static void check_rows(struct fold_table *a, struct fold_table *b)
{
	struct duration_bin left[DURATION_BUCKETS], right[DURATION_BUCKETS];
	uint32_t nr, nr_b;
	const struct fold_row *rows = fold_table_rows(a, &nr);

	fold_table_rows(b, &nr_b);
	assert_int_equal(nr, nr_b);
	for (uint32_t i = 0; i < nr; i++) {
		const struct fold_row *row =
			fold_table_find(b, &rows[i].key, fold_table_hash(&rows[i].key));

		assert_non_null(row);
		assert_int_equal(row->count, rows[i].count);
		assert_int_equal(row->ns, rows[i].ns);
		assert_int_equal(row->bytes, rows[i].bytes);
		const uint32_t nr_bins = fold_row_list(row, left);
		assert_int_equal(fold_row_list(&rows[i], right), nr_bins);
		for (uint32_t k = 0; k < nr_bins; k++) {
			assert_int_equal(left[k].bucket, right[k].bucket);
			assert_int_equal(left[k].count, right[k].count);
		}
	}
}

static void check_timelines(struct timeline_table *a, struct timeline_table *b)
{
	uint32_t nr, nr_b;
	const struct timeline_entry *entries = timeline_table_entries(a, &nr);

	timeline_table_entries(b, &nr_b);
	assert_int_equal(nr, nr_b);
	for (uint32_t i = 0; i < nr; i++) {
		const struct timeline_entry *entry = timeline_table_find(b, &entries[i].key);
		struct timeline_sums left, right;

		assert_non_null(entry);
		stream_timeline_sums(entry->timeline, &left);
		stream_timeline_sums(entries[i].timeline, &right);
		assert_int_equal(left.records, right.records);
		assert_int_equal(left.sum_ns, right.sum_ns);
		assert_int_equal(left.first_ns, right.first_ns);
		assert_int_equal(left.last_ns, right.last_ns);
		assert_int_equal(left.late + right.late, 0);
		assert_int_equal(stream_timeline_busy_ns(entry->timeline),
				 stream_timeline_busy_ns(entries[i].timeline));
	}
}

static void check_counts(const struct roster *a, const struct roster *b)
{
	for (uint32_t id = 1; id <= PROCESSES; id++) {
		const struct correlator_counts *left = &roster_process(a, id)->counts,
					       *right = &roster_process(b, id)->counts;

		assert_int_equal(left->launches, right->launches);
		assert_int_equal(left->records, right->records);
		assert_int_equal(left->matched, right->matched);
		assert_int_equal(left->unmatched, right->unmatched);
	}
}

/* Returns the number of pieces of work. */
static uint64_t check_request(struct fixture *f, const struct timeline_request *request)
{
	struct collection *want = sum_at_once(f, request), *have = create_sums();
	struct crew_fold fold;

	assert_int_equal(crew_fold_read(&fold, f->source, request, NULL, FIRST_NS), 0);
	assert_int_equal(crew_fold_put(&fold, have), 0);
	check_rows(have->totals, want->totals);
	check_timelines(have->timelines, want->timelines);
	check_counts(have->roster, want->roster);
	const uint64_t nr_work = fold.nr_work;
	f->nr_cells += fold.end_cell - fold.begin_cell;
	crew_fold_fini(&fold);
	collection_destroy(want);
	collection_destroy(have);
	return nr_work;
}

/* ---- tests */

static void sums_of_any_range_are_those_of_all_its_events(void **state)
{
	struct fixture *f = *state;
	uint64_t nr_work = 0;

	for (uint32_t i = 0; i < RANGES; i++) {
		const uint64_t from_ns = FIRST_NS + some(f, BLOCKS * BLOCK_NS);
		uint8_t processes[PROCESSES];

		f->nr_cpus = 1 + some(f, 10);
		for (uint32_t j = 0; j < PROCESSES; j++)
			processes[j] = some(f, 3) != 0;
		const struct timeline_request request = {
			.from_ns = i ? from_ns : 0,
			.to_ns = i ? from_ns + some(f, i % 3 ? 20 * BLOCK_NS : 3000) : UINT64_MAX,
			.processes = i % 4 == 3 ? processes : NULL,
		};
		nr_work += check_request(f, &request);
	}
	assert_in_range(nr_work, 2 * BLOCKS * PIECES * PROCESSES, UINT32_MAX);
}

static void make_cells(struct fixture *f, uint32_t nr_cells)
{
	struct cell_made cells;
	uint64_t first_ns, last_ns;

	assert_int_equal(timeline_source_extent(f->source, &first_ns, &last_ns), 0);
	assert_int_equal(cell_maker_make(f->source, first_ns, last_ns, nr_cells, &cells), 0);
	assert_int_equal(cells.nr_cells, nr_cells);
	assert_int_equal(cells.nr_empty, 0);
}

/* Blocks overlap in time, and work runs on from one cell into the next ones. */
static void sums_of_cells_stand_for_their_events(void **state)
{
	static const uint32_t numbers[] = {1, 2, 5, 16, 43, 300};
	struct fixture *f = *state;

	for (uint32_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		f->nr_cpus = 1 + some(f, 10);
		make_cells(f, numbers[i]);
		f->nr_cells = 0;
		sums_of_any_range_are_those_of_all_its_events(state);
		assert_in_range(f->nr_cells, numbers[i], UINT32_MAX);
	}
}

static void work_without_a_launch_has_none(void **state)
{
	struct fixture *f = *state;
	struct event_log *log = write_more(f);
	struct crew_fold fold;
	const struct timeline_request request = {.from_ns = FIRST_NS, .to_ns = UINT64_MAX};

	event_packer_record(event_log_packer(log), &(struct gpu_record){.start_ns = FIRST_NS + 9,
									.end_ns = FIRST_NS + 99,
									.correlation_id = 4711,
									.stream_id = 1});
	end_more(log);
	for (f->nr_cpus = 1; f->nr_cpus < 5; f->nr_cpus++)
		assert_in_range(check_request(f, &request), 20, 1000);
	assert_int_equal(crew_fold_read(&fold, f->source, &request, NULL, FIRST_NS), 0);
	assert_int_equal(fold.nr_launchless, 1);
	crew_fold_fini(&fold);
}

/* A thousand kernels with gaps between them, and then one that began before all of them. */
static void records_out_of_order_are_in_the_sums(void **state)
{
	struct fixture *f = *state;
	struct event_log *log = write_more(f);
	const struct timeline_request request = {.from_ns = FIRST_NS, .to_ns = UINT64_MAX};

	for (uint32_t i = 0; i <= 1000; i++) {
		const uint64_t start_ns =
			FIRST_NS + 200 * BLOCK_NS + (i < 1000 ? 1000 + i * 100 : 0);

		add_launch(event_log_packer(log), ++f->next_id, start_ns - 1, 1, 0);
		event_packer_record(event_log_packer(log),
				    &(struct gpu_record){.start_ns = start_ns,
							 .end_ns = start_ns + 50,
							 .correlation_id = f->next_id,
							 .window = (uint16_t)(1 + f->next_id % 2),
							 .name_id = 1,
							 .context_id = 1,
							 .stream_id = 7});
	}
	end_more(log);
	check_request(f, &request);
}

static int fold_all(const struct fixture *f)
{
	const struct timeline_request request = {.from_ns = FIRST_NS, .to_ns = UINT64_MAX};
	struct crew_fold fold;
	const int error = crew_fold_read(&fold, f->source, &request, NULL, FIRST_NS);

	crew_fold_fini(&fold);
	return error;
}

/* Ids that come again before their work are two launches, and all events have to be looked at. */
static void what_may_be_of_another_launch_is_told(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(fold_all(f), 0);
	struct event_log *log = write_more(f);
	for (uint32_t i = 0; i < 2; i++)
		add_launch(event_log_packer(log), 77777, FIRST_NS + i, 1 + i, 0);
	end_more(log);
	assert_int_equal(fold_all(f), -EAGAIN);
}

static void a_call_that_comes_behind_its_work_is_told(void **state)
{
	struct fixture *f = *state;
	struct event_log *log = write_more(f);
	struct event_packer *packer = event_log_packer(log);

	add_launch(packer, 77778, FIRST_NS, 1, 0);
	event_packer_record(packer, &(struct gpu_record){.start_ns = FIRST_NS + 5,
							 .end_ns = FIRST_NS + 6,
							 .correlation_id = 77778,
							 .window = 1});
	assert_int_equal(event_log_write(log, BLOCKS + 1), 0);
	assert_int_equal(fold_all(f), 0);
	add_launch(packer, 77778, FIRST_NS + 1, 1, RECORD_LAUNCH_HOST);
	end_more(log);
	assert_int_equal(fold_all(f), -EAGAIN);
}

/* The launch has gone from its place, to which another came whose work was there. */
static void work_whose_launch_may_have_gone_is_told(void **state)
{
	struct fixture *f = *state;
	struct event_log *log = write_more(f);
	struct event_packer *packer = event_log_packer(log);
	struct gpu_record record = {.start_ns = FIRST_NS + 500,
				    .end_ns = FIRST_NS + 600,
				    .correlation_id = 1u << 20,
				    .window = 1,
				    .stream_id = 1};

	for (uint32_t i = 0; i < 2; i++) {
		record.correlation_id = (1u + i) << 20;
		event_packer_launch(packer,
				    &(struct launch_record){.time_ns = FIRST_NS + i,
							    .correlation_id = record.correlation_id,
							    .window = 1});
		event_packer_record(packer, &record);
		event_log_write(log, 1);
		event_packer_begin(packer, 1, 0, true);
	}
	record.correlation_id = 1u << 20;
	event_packer_record(packer, &record);
	end_more(log);
	assert_int_equal(fold_all(f), -EAGAIN);
}

static void damage_is_left_to_one_reader(void **state)
{
	struct fixture *f = *state;
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

#define TEST(name, prepare) cmocka_unit_test_setup_teardown(name, prepare, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sums_of_any_range_are_those_of_all_its_events, set_up),
		TEST(sums_of_cells_stand_for_their_events, set_up),
		TEST(work_without_a_launch_has_none, set_up_short),
		TEST(records_out_of_order_are_in_the_sums, set_up),
		TEST(what_may_be_of_another_launch_is_told, set_up),
		TEST(a_call_that_comes_behind_its_work_is_told, set_up),
		TEST(work_whose_launch_may_have_gone_is_told, set_up_short),
		TEST(damage_is_left_to_one_reader, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
