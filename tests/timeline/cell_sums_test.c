/* Sums of cells of time in place of events: what any range adds up to is the same with them, and without. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fold_fixture.h"

#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/cells/cell_file.h"
#include "timeline/slice/cell_maker.h"
#include "timeline/slice/cell_part.h"

#define RANGES   40u
#define FIRST_NS FOLD_FIXTURE_FIRST_NS
#define BLOCK_NS FOLD_FIXTURE_BLOCK_NS
#define TIME_NS  (FOLD_FIXTURE_BLOCKS * BLOCK_NS)
#define ALL      ((struct timeline_request){.from_ns = FIRST_NS, .to_ns = UINT64_MAX})

static int set_up(void **state)
{
	return fold_fixture_set_up(state, FOLD_FIXTURE_BLOCKS, FOLD_FIXTURE_PIECES, false);
}

/* So few launches that all of them have room. */
static int set_up_short(void **state)
{
	return fold_fixture_set_up(state, 2, 4, false);
}

static struct cell_made make(struct fold_fixture *f, uint32_t nr_cells, int result)
{
	struct cell_made cells = {0};
	uint64_t first_ns, last_ns;

	assert_int_equal(timeline_source_extent(f->source, &first_ns, &last_ns), 0);
	assert_int_equal(cell_maker_make(f->source, first_ns, last_ns, nr_cells, &cells), result);
	return cells;
}

/* Returns how many cells have sums and lie within the range. */
static uint32_t count_cells(const struct fold_fixture *f, const struct timeline_request *request)
{
	struct cell_file file;
	uint32_t begin, end;

	assert_int_equal(cell_file_open(&file, f->source), 0);
	if (!file.parts)
		return 0;
	cell_file_find(&file, request->from_ns, request->to_ns, &begin, &end);
	cell_file_close(&file);
	return end - begin;
}

static struct timeline_request some_range(struct fold_fixture *f)
{
	const uint64_t from_ns = FIRST_NS + fold_fixture_some(f, TIME_NS);

	return (struct timeline_request){.from_ns = from_ns,
					 .to_ns = from_ns + fold_fixture_some(f, TIME_NS)};
}

/* Checks ranges, and returns how many cells lie within them; *nr_left_out: those whose events were read. */
static uint64_t check_ranges(struct fold_fixture *f, uint64_t *nr_left_out)
{
	uint64_t nr_within = 0;

	f->nr_cells = 0;
	for (uint32_t i = 0; i < RANGES; i++) {
		const struct timeline_request request = i ? some_range(f) : ALL;

		f->nr_cpus = 1 + fold_fixture_some(f, 10);
		nr_within += count_cells(f, &request);
		fold_fixture_check(f, &request);
	}
	assert_in_range(f->nr_cells, 0, nr_within);
	*nr_left_out = nr_within - f->nr_cells;
	return nr_within;
}

/* ---- the same sums */

/* Blocks overlap in time. Short cells have work that runs on into the next ones, and some that began before the range:
 * their events are read. */
static void any_range_has_the_sums_of_its_events(void **state)
{
	static const uint32_t numbers[] = {1, 2, 5, 16, 43, 300};
	struct fold_fixture *f = *state;
	uint64_t nr_left_out = 0;

	for (uint32_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const struct cell_made cells = make(f, numbers[i], 0);

		assert_int_equal(cells.nr_cells, numbers[i]);
		assert_int_equal(cells.nr_empty, 0);
		const uint64_t nr_within = check_ranges(f, &nr_left_out);
		assert_in_range(nr_within, numbers[i] > 5 ? 5 * numbers[i] : numbers[i], 1u << 20);
		assert_in_range(nr_left_out, 0, nr_within / 4);
	}
	assert_in_range(nr_left_out, 1, 1u << 20); /* of the shortest cells */
}

/* A kernel that runs through most of the time, beside others, and one that ends before it in the same stream. */
static void work_runs_through_several_cells(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	uint64_t nr_left_out;

	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t id = ++f->next_id;
		const uint64_t start_ns = FIRST_NS + (1 + i) * BLOCK_NS + 17;

		fold_fixture_add_launch(event_log_packer(log), id, start_ns - 10, 1, 0);
		event_packer_record(
			event_log_packer(log),
			&(struct gpu_record){.start_ns = start_ns,
					     .end_ns = start_ns + (30 - i * 20) * BLOCK_NS,
					     .correlation_id = id,
					     .window = (uint16_t)(1 + id % 2),
					     .name_id = 1,
					     .context_id = 1,
					     .stream_id = 1});
	}
	fold_fixture_end_more(log);
	make(f, 50, 0);
	check_ranges(f, &nr_left_out);
	assert_in_range(nr_left_out, 50, 1u << 20);
	const struct timeline_request request = {.from_ns = FIRST_NS,
						 .to_ns = FIRST_NS + 35 * BLOCK_NS};
	f->nr_cells = 0;
	fold_fixture_check(f, &request);
	assert_in_range(f->nr_cells, 30, 50);
}

static void cells_are_of_all_processes(void **state)
{
	struct fold_fixture *f = *state;
	uint8_t processes[FOLD_FIXTURE_PROCESSES] = {1, 1, 0, 0, 1, 0, 1, 1, 0};
	struct timeline_request request = ALL;

	make(f, 16, 0);
	request.processes = processes;
	fold_fixture_check(f, &request);
	assert_int_equal(f->nr_cells, 0);
}

/* ---- what has no sums */

static void a_cell_with_work_without_a_launch_has_none(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	const uint64_t start_ns = FIRST_NS + TIME_NS / 2;

	event_packer_record(event_log_packer(log), &(struct gpu_record){.start_ns = start_ns,
									.end_ns = start_ns + 99,
									.correlation_id = 4711000,
									.window = 1,
									.stream_id = 1});
	fold_fixture_end_more(log);
	assert_int_equal(make(f, 16, 0).nr_empty, 1);
	const struct timeline_request requests[] = {
		{.from_ns = FIRST_NS, .to_ns = FIRST_NS + TIME_NS / 4},
		{.from_ns = FIRST_NS + TIME_NS * 3 / 4, .to_ns = UINT64_MAX}};
	for (uint32_t i = 0; i < 2; i++)
		fold_fixture_check(f, &requests[i]);
	assert_in_range(f->nr_cells, 4, 8);
}

/* A clock that is off: the launch is in a later cell than its work, so it is not in each range with the work. */
static void a_cell_with_work_before_its_launch_has_none(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	const uint64_t start_ns = FIRST_NS + BLOCK_NS / 2 + 5;
	const uint32_t id = ++f->next_id;

	event_packer_record(event_log_packer(log),
			    &(struct gpu_record){.start_ns = start_ns,
						 .end_ns = start_ns + 99,
						 .correlation_id = id,
						 .window = (uint16_t)(1 + id % 2),
						 .stream_id = 1});
	fold_fixture_add_launch(event_log_packer(log), id, start_ns + BLOCK_NS, 1, 0);
	fold_fixture_end_more(log);
	assert_int_equal(make(f, 8, 0).nr_empty, 1);
	for (uint32_t i = 0; i < 200; i++) {
		const uint64_t from_ns = FIRST_NS + (i < 100 ? 0 : (i % 10) * BLOCK_NS / 10);
		const struct timeline_request request = {
			.from_ns = from_ns, .to_ns = from_ns + (i + 1) * (3 * BLOCK_NS / 100)};

		fold_fixture_check(f, &request);
	}
	assert_in_range(f->nr_cells, 50, 1000);
}

/* Ids that come again before their work are of two launches, and only a look at all events tells them apart. */
static void a_log_whose_ids_come_again_has_none(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);

	for (uint32_t i = 0; i < 2; i++)
		fold_fixture_add_launch(event_log_packer(log), 7777777, FIRST_NS + TIME_NS / 2 + i,
					1 + i, 0);
	fold_fixture_end_more(log);
	make(f, 16, -EAGAIN); /* work of the first one may be in any cell */
	assert_int_equal(count_cells(f, &ALL), 0);
}

static void damage_byte(const char *path, off_t at, uint8_t mask)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= mask;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static off_t size_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_size;
}

static void a_damaged_log_has_none(void **state)
{
	struct fold_fixture *f = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s" EVENT_FORMAT_FOLDER "/00000001" EVENT_FORMAT_SUFFIX,
		 f->store);
	damage_byte(path, size_of(path) - 5, 1);
	make(f, 16, -EAGAIN);
	assert_int_equal(count_cells(f, &ALL), 0);
}

static void a_profile_that_is_written_has_none(void **state)
{
	struct fold_fixture *f = *state;

	f->profile.written = true;
	make(f, 16, -EBUSY);
	f->profile.written = false;
	make(f, 16, 0);
	assert_int_equal(count_cells(f, &ALL), 16);
	f->profile.written = true;
	assert_int_equal(count_cells(f, &ALL), 0);
}

static void few_events_need_none(void **state)
{
	struct fold_fixture *f = *state;

	make(f, 0, -ENODATA);
	make(f, 16, 0);
	assert_int_equal(make(f, 0, 0).nr_cells, 16); /* they are there already */
}

/* ---- files that are not used */

static void a_log_that_has_grown_makes_them_void(void **state)
{
	struct fold_fixture *f = *state;
	uint64_t nr_left_out;

	make(f, 16, 0);
	assert_int_equal(count_cells(f, &ALL), 16);
	struct event_log *log = fold_fixture_write_more(f);
	fold_fixture_add_launch(event_log_packer(log), ++f->next_id, FIRST_NS, 1, 0);
	fold_fixture_end_more(log);
	assert_int_equal(count_cells(f, &ALL), 0);
	assert_int_equal(check_ranges(f, &nr_left_out), 0);
}

static void another_profiles_are_not_used(void **state)
{
	struct fold_fixture *f = *state;

	make(f, 16, 0);
	f->profile.timeline_id[0] ^= 1;
	assert_int_equal(count_cells(f, &ALL), 0);
	f->profile.timeline_id[0] ^= 1;
	assert_int_equal(count_cells(f, &ALL), 16);
}

/* Any byte of the file may be another one, or the file may end early: the sums stay right. */
static void damaged_files_are_told_from_sound_ones(void **state)
{
	struct fold_fixture *f = *state;
	const struct timeline_request request = {.from_ns = FIRST_NS,
						 .to_ns = FIRST_NS + 20 * BLOCK_NS};
	uint32_t nr_used = 0;
	char path[128];

	make(f, 8, 0);
	snprintf(path, sizeof(path), "%s" CELL_FORMAT_SUFFIX, f->store);
	const off_t size = size_of(path);
	for (uint32_t i = 0; i < 60; i++) {
		const off_t at = i < 30 ? (off_t)fold_fixture_some(f, 400)
					: (off_t)fold_fixture_some(f, (uint32_t)size);

		damage_byte(path, at, (uint8_t)(1 + fold_fixture_some(f, 255)));
		f->nr_cells = 0;
		fold_fixture_check(f, &request);
		nr_used += f->nr_cells > 0;
		make(f, 8, 0);
	}
	assert_in_range(nr_used, 1, 40); /* damage of other cells does not matter */
	assert_int_equal(truncate(path, size / 3), 0);
	fold_fixture_check(f, &request);
	assert_int_equal(truncate(path, 5), 0);
	fold_fixture_check(f, &request);
}

static void add_to_fresh_fold(const struct fold_fixture *f, const uint8_t *data, size_t size)
{
	uint8_t processes[FOLD_FIXTURE_PROCESSES];
	struct cell_part_rows rows = {0};
	struct stream_fold fold;

	memset(processes, 1, sizeof(processes));
	assert_int_equal(stream_fold_init(&fold, f->source, NULL, STREAM_FOLD_INTERVALS), 0);
	const int error =
		cell_part_add(&fold, data, size, FIRST_NS, FIRST_NS + TIME_NS, processes, &rows);
	assert_true(error == 0 || error == -EPROTO || error == -ESTALE || error == -E2BIG);
	cell_part_rows_fini(&rows);
	stream_fold_end(&fold);
	stream_fold_fini(&fold);
}

/* Parts with sound checksums and any bytes. */
static void hostile_parts_are_refused(void **state)
{
	struct fold_fixture *f = *state;
	struct cell_reader reader;
	struct cell_file file;
	const uint8_t *data;
	size_t size;

	make(f, 1, 0);
	assert_int_equal(cell_file_open(&file, f->source), 0);
	assert_int_equal(cell_reader_init(&reader, &file), 0);
	assert_int_equal(cell_reader_part(&reader, 0, 0, &data, &size), 0);
	for (uint32_t i = 0; i < 3000; i++) {
		const size_t kept = i % 5 ? size : fold_fixture_some(f, (uint32_t)size);
		uint8_t *bytes = malloc(kept + 1); /* so that a sanitizer sees its end */

		assert_non_null(bytes);
		memcpy(bytes, data, kept);
		for (uint32_t k = fold_fixture_some(f, 4); k > 0 && kept; k--)
			bytes[fold_fixture_some(f, i % 3 ? (uint32_t)kept : 60) % kept] =
				(uint8_t)fold_fixture_some(f, 256);
		uint8_t *exact = realloc(bytes, kept ? kept : 1);
		add_to_fresh_fold(f, exact, kept);
		free(exact);
	}
	cell_reader_fini(&reader);
	cell_file_close(&file);
}

#define TEST(name)       cmocka_unit_test_setup_teardown(name, set_up, fold_fixture_tear_down)
#define TEST_SHORT(name) cmocka_unit_test_setup_teardown(name, set_up_short, fold_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_range_has_the_sums_of_its_events),
		TEST(work_runs_through_several_cells),
		TEST(cells_are_of_all_processes),
		TEST(a_cell_with_work_without_a_launch_has_none),
		TEST_SHORT(a_cell_with_work_before_its_launch_has_none),
		TEST(a_log_whose_ids_come_again_has_none),
		TEST(a_damaged_log_has_none),
		TEST(a_profile_that_is_written_has_none),
		TEST(few_events_need_none),
		TEST(a_log_that_has_grown_makes_them_void),
		TEST(another_profiles_are_not_used),
		TEST(damaged_files_are_told_from_sound_ones),
		TEST(hostile_parts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
