#include "fold_fixture.h"

#include "tests/support/cmocka_test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/slice/slice_fold.h"

#define DEVICES 6u
#define STACKS  5u
#define NAMES   4u

static struct fold_fixture made;

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

uint32_t fold_fixture_some(struct fold_fixture *f, uint32_t most)
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
	for (uint32_t i = 1; i <= FOLD_FIXTURE_PROCESSES; i++) {
		const struct roster_ordinal devices[2] = {{0, i == 4 ? 3 : 1 + i % DEVICES},
							  {1, DEVICES}};

		assert_int_equal(
			roster_add_process(roster,
					   &(struct roster_identity){.host = host, .pid = i}, &id),
			0);
		assert_int_equal(roster_process_set_devices(roster_process(roster, id), devices,
							    i == 5 ? 0 : 1 + (i == 6)),
				 0);
		roster_process(roster, id)->rank = (int32_t)i - 1;
	}
}

/* ---- the log */

void fold_fixture_add_launch(struct event_packer *packer, uint32_t id, uint64_t time_ns,
			     uint32_t stack, uint32_t flags)
{
	event_packer_launch(packer, &(struct launch_record){.time_ns = time_ns,
							    .correlation_id = id,
							    .window = (uint16_t)(1 + id % 2),
							    .stack_id = stack,
							    .tid = 100 + stack,
							    .flags = flags});
}

static bool has(struct fold_fixture *f, uint32_t lost_of, uint64_t time_ns)
{
	return (!lost_of || fold_fixture_some(f, lost_of)) && time_ns >= f->lacks.before_ns;
}

/* A kernel or copy, or the kernels of a graph; a wait of it (if no launches are lost), of a call or of nothing; a launch
 * without work. */
static void add_piece(struct fold_fixture *f, struct event_packer *packer, uint64_t first_ns)
{
	const uint32_t id = ++f->next_id, stack = fold_fixture_some(f, STACKS + 1);
	const uint64_t launch_ns = first_ns + fold_fixture_some(f, FOLD_FIXTURE_BLOCK_NS);
	struct gpu_record record = {
		.start_ns = launch_ns + 100 + fold_fixture_some(f, 2 * FOLD_FIXTURE_BLOCK_NS),
		.correlation_id = id,
		.window = (uint16_t)(1 + id % 2),
		.kind = fold_fixture_some(f, 4) ? RECORD_GPU_KERNEL : RECORD_GPU_MEMCPY,
		.bytes = fold_fixture_some(f, 100),
		.name_id = 1 + fold_fixture_some(f, 3),
		.device_id = fold_fixture_some(f, 2),
		.context_id = 1,
		.stream_id = 1 + fold_fixture_some(f, 3)};

	if (has(f, f->lacks.launches, launch_ns))
		fold_fixture_add_launch(packer, id, launch_ns, stack, 0);
	if (fold_fixture_some(f, 9) == 0)
		fold_fixture_add_launch(packer, id, launch_ns + 1 + fold_fixture_some(f, 50), 1,
					RECORD_LAUNCH_HOST);
	for (uint32_t nr = fold_fixture_some(f, 12) ? 1 : fold_fixture_some(f, 4); nr > 0; nr--) {
		record.end_ns = record.start_ns + fold_fixture_some(f, FOLD_FIXTURE_BLOCK_NS / 8);
		event_packer_record(packer, &record);
		record.start_ns = record.end_ns + fold_fixture_some(f, 30);
	}
	if (fold_fixture_some(f, 7) == 0) {
		const uint32_t call = ++f->next_id;

		record.kind = RECORD_GPU_SYNC;
		record.correlation_id =
			f->lacks.launches || fold_fixture_some(f, 2) == 0 ? call : id;
		record.window = (uint16_t)(1 + record.correlation_id % 2);
		record.end_ns = record.start_ns + 100;
		if (has(f, f->lacks.calls, record.start_ns - 1))
			fold_fixture_add_launch(packer, call, record.start_ns - 1, 2,
						RECORD_LAUNCH_HOST);
		event_packer_record(packer, &record);
	}
	if (fold_fixture_some(f, 5) == 0)
		event_packer_launch(packer, &(struct launch_record){.time_ns = launch_ns,
								    .correlation_id = id,
								    .cbid = RECORD_MARK_STEP,
								    .flags = RECORD_LAUNCH_MARK |
									     RECORD_LAUNCH_HOST});
}

static void add_other(struct fold_fixture *f, struct event_packer *packer, uint64_t first_ns)
{
	const uint64_t ns = first_ns + fold_fixture_some(f, FOLD_FIXTURE_BLOCK_NS);

	assert_int_equal(
		array_reserve(&f->others, &f->room_others, f->nr_others + 1ull, sizeof(*f->others)),
		0);
	f->others[f->nr_others++] = ns;
	event_packer_record(packer, &(struct gpu_record){.start_ns = ns,
							 .end_ns = ns,
							 .kind = RECORD_GPU_ALLOC,
							 .correlation_id = ++f->next_id,
							 .window = 1});
}

static void write_log(struct fold_fixture *f, uint32_t nr_blocks, uint32_t nr_pieces)
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	for (uint32_t block = 0; block < nr_blocks; block++) {
		for (uint32_t i = 0; i < FOLD_FIXTURE_PROCESSES; i++) {
			event_packer_begin(event_log_packer(log),
					   1 + (i * 7 + block) % FOLD_FIXTURE_PROCESSES, 0, true);
			for (uint32_t j = 0; j < nr_pieces; j++)
				add_piece(f, event_log_packer(log),
					  FOLD_FIXTURE_FIRST_NS + block * FOLD_FIXTURE_BLOCK_NS);
		}
		event_packer_begin(event_log_packer(log), 2, 0, true);
		for (uint32_t j = 0; j < nr_pieces; j++)
			add_other(f, event_log_packer(log),
				  FOLD_FIXTURE_FIRST_NS + block * FOLD_FIXTURE_BLOCK_NS);
		assert_int_equal(event_log_write(log, block + 1), 0);
	}
	event_log_close(log);
}

/* More events of process 1, in a file of their own. */
struct event_log *fold_fixture_write_more(struct fold_fixture *f)
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	event_packer_begin(event_log_packer(log), 1, 0, true);
	return log;
}

void fold_fixture_end_more(struct event_log *log)
{
	assert_int_equal(event_log_write(log, FOLD_FIXTURE_BLOCKS + 1), 0);
	event_log_close(log);
}

int fold_fixture_set_up(void **state, uint32_t nr_blocks, uint32_t nr_pieces,
			struct fold_fixture_lacks lacks)
{
	struct fold_fixture *f = &made;

	*f = (struct fold_fixture){.store = "/tmp/flamegrid-fold.XXXXXX",
				   .profile.has_timeline = true,
				   .nr_cpus = 4,
				   .lacks = lacks};
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

int fold_fixture_tear_down(void **state)
{
	struct fold_fixture *f = *state;
	char command[128];

	free(f->others);
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

/* Work, and the waits, of all rows. */
static void count_rows(struct fold_table *totals, uint64_t *nr_work, uint64_t *nr_waits)
{
	uint32_t nr;
	const struct fold_row *rows = fold_table_rows(totals, &nr);

	*nr_work = *nr_waits = 0;
	for (uint32_t i = 0; i < nr; i++)
		*(rows[i].key.kind == RECORD_GPU_SYNC ? nr_waits : nr_work) += rows[i].count;
}

static struct collection *sum_at_once(const struct fold_fixture *f,
				      const struct timeline_request *request)
{
	struct timeline_request all = *request;
	struct uncaptured_work in_pauses = {0}; /* all was captured */
	struct slice_fold fold = {
		.from_ns = request->from_ns, .to_ns = request->to_ns, .in_pauses = &in_pauses};
	struct collection *sums = create_sums();
	struct timeline_events events;
	uint64_t nr_work, nr_waits;

	all.from_ns = 0;
	assert_int_equal(timeline_events_read(f->source, &all, false, &events), 0);
	assert_int_equal(slice_fold_add(&fold, sums, &events), 0);
	count_rows(sums->totals, &nr_work, &nr_waits);
	assert_int_equal(fold.nr_work, nr_work);
	assert_int_equal(fold.nr_waits, nr_waits);
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
	for (uint32_t id = 1; id <= FOLD_FIXTURE_PROCESSES; id++) {
		const struct correlator_counts *left = &roster_process(a, id)->counts,
					       *right = &roster_process(b, id)->counts;

		assert_int_equal(left->launches, right->launches);
		assert_int_equal(left->records, right->records);
		assert_int_equal(left->matched, right->matched);
		assert_int_equal(left->unmatched, right->unmatched);
	}
}

/* Returns the number of pieces of work. */
static uint64_t count_others(const struct fold_fixture *f, const struct timeline_request *request)
{
	const bool is_wanted = timeline_source_wants(f->source, request, 2);
	uint64_t nr = 0;

	for (uint32_t i = 0; i < f->nr_others && is_wanted; i++)
		nr += f->others[i] >= request->from_ns && f->others[i] < request->to_ns;
	return nr;
}

uint64_t fold_fixture_check(struct fold_fixture *f, const struct timeline_request *request)
{
	struct collection *want = sum_at_once(f, request), *have = create_sums();
	struct crew_fold fold;
	uint64_t nr_work, nr_waits;

	assert_int_equal(crew_fold_read(&fold, f->source, request, NULL, FOLD_FIXTURE_FIRST_NS), 0);
	assert_int_equal(crew_fold_put(&fold, have), 0);
	count_rows(have->totals, &nr_work, &nr_waits);
	assert_int_equal(fold.nr_work, nr_work);
	assert_int_equal(fold.nr_waits, nr_waits);
	check_rows(have->totals, want->totals);
	check_timelines(have->timelines, want->timelines);
	check_counts(have->roster, want->roster);
	assert_int_equal(fold.counts.others, count_others(f, request));
	f->nr_cells += fold.nr_cells;
	crew_fold_fini(&fold);
	collection_destroy(want);
	collection_destroy(have);
	return nr_work;
}
