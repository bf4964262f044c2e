/* Files of sums of cells that are not used: of another log, damaged or hostile ones. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cells_fixture.h"

#include "base/output_file.h"
#include "timeline/cells/cell_bytes.h"
#include "timeline/cells/cell_file.h"
#include "timeline/cells/cell_origin.h"
#include "timeline/cells/process_shares.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/slice/cell_part.h"

#define FIRST_NS FOLD_FIXTURE_FIRST_NS
#define BLOCK_NS FOLD_FIXTURE_BLOCK_NS

static int set_up(void **state)
{
	return fold_fixture_set_up(state, FOLD_FIXTURE_BLOCKS, FOLD_FIXTURE_PIECES,
				   (struct fold_fixture_lacks){0});
}

static void a_log_that_has_grown_makes_them_void(void **state)
{
	struct fold_fixture *f = *state;
	uint64_t nr_left_out;

	cells_fixture_make(f, 16, 0);
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 16);
	struct event_log *log = fold_fixture_write_more(f);
	fold_fixture_add_launch(event_log_packer(log), ++f->next_id, FIRST_NS, 1, 0);
	fold_fixture_end_more(log);
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 0);
	assert_int_equal(cells_fixture_check(f, &nr_left_out), 0);
}

/* Nobody waits until somebody reads it. */
static void a_pipe_in_its_place_is_an_error(void **state)
{
	struct fold_fixture *f = *state;
	struct stat status;
	char path[128];

	cells_fixture_path(f, path);
	assert_int_equal(mkfifo(path, 0600), 0);
	cells_fixture_make(f, 16, -EEXIST);
	assert_int_equal(stat(path, &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cells_fixture_make(f, 16, 0).nr_cells, 16);
}

static void another_profiles_are_not_used(void **state)
{
	struct fold_fixture *f = *state;

	cells_fixture_make(f, 16, 0);
	f->profile.timeline_id[0] ^= 1;
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 0);
	f->profile.timeline_id[0] ^= 1;
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 16);
}

/* Writes a file of one empty part for each cell, whose checksums are right, with that version and so many shares. */
static void write_file(const struct fold_fixture *f, uint32_t version, uint32_t nr_shares)
{
	struct cell_file_head head = {.nr_shares = nr_shares,
				      .nr_cells = 8,
				      .first_ns = FIRST_NS,
				      .cell_ns = BLOCK_NS,
				      .origin = cell_origin(f->source)};
	struct cell_file_part parts[8 * (PROCESS_SHARES_MOST + 1)] = {0};
	struct cell_bytes bytes[8 * (PROCESS_SHARES_MOST + 1)] = {0};
	struct cell_packer packer;
	struct output_file file;
	char path[PATH_MAX];

	assert_int_equal(cell_packer_init(&packer), 0);
	for (uint32_t i = 0; i < cell_format_nr_parts(&head); i++) {
		assert_int_equal(cell_bytes_put(&bytes[i], 0), 0);
		assert_int_equal(cell_packer_pack(&packer, &bytes[i], &parts[i]), 0);
	}
	assert_int_equal(cell_file_create(&file, f->source, path), 0);
	assert_int_equal(cell_file_write(&file, f->source, &head, parts, bytes, 0), 0);
	for (uint32_t i = 0; i < cell_format_nr_parts(&head); i++)
		free(bytes[i].data);
	cell_packer_fini(&packer);
	head.version = version;
	head.checksum = EVENT_FORMAT_CHECKSUM(&head);
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	close(fd);
}

static void another_versions_file_is_not_used(void **state)
{
	struct fold_fixture *f = *state;

	write_file(f, CELL_FORMAT_VERSION, PROCESS_SHARES_MOST);
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 8);
	write_file(f, CELL_FORMAT_VERSION - 1, PROCESS_SHARES_MOST);
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 0);
	write_file(f, CELL_FORMAT_VERSION + 1, PROCESS_SHARES_MOST);
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 0);
}

/* The file's own shares are sound, but they are not those of the profile. */
static void a_file_of_other_shares_is_not_used(void **state)
{
	struct fold_fixture *f = *state;

	for (uint32_t nr = 1; nr < PROCESS_SHARES_MOST; nr++) {
		struct crew_fold fold;

		write_file(f, CELL_FORMAT_VERSION, nr);
		assert_int_equal(
			crew_fold_read(&fold, f->source, &CELLS_FIXTURE_ALL, NULL, FIRST_NS), 0);
		assert_int_equal(fold.nr_cells + fold.nr_damaged, 0);
		assert_null(fold.cells.parts);
		crew_fold_fini(&fold);
	}
}

/* Nothing else tells of each number of the index. */
static void a_damaged_index_makes_the_file_void(void **state)
{
	struct fold_fixture *f = *state;
	char path[128];

	cells_fixture_make(f, 8, 0);
	cells_fixture_path(f, path);
	for (off_t at = 0; at < (off_t)sizeof(struct cell_file_part); at++) {
		const off_t in_file = (off_t)sizeof(struct cell_file_head) + at;

		cells_fixture_damage(path, in_file, 1);
		assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 0);
		cells_fixture_damage(path, in_file, 1);
		assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 8);
	}
}

/* Any byte of the file may be another one, or the file may end early: the sums stay right. */
static void damaged_files_are_told_from_sound_ones(void **state)
{
	struct fold_fixture *f = *state;
	const struct timeline_request request = {.from_ns = FIRST_NS,
						 .to_ns = FIRST_NS + 20 * BLOCK_NS};
	uint32_t nr_used = 0;
	char path[128];

	cells_fixture_make(f, 8, 0);
	cells_fixture_path(f, path);
	const off_t size = cells_fixture_size(path);
	for (uint32_t i = 0; i < 60; i++) {
		const off_t at = i < 30 ? (off_t)fold_fixture_some(f, 400)
					: (off_t)fold_fixture_some(f, (uint32_t)size);

		cells_fixture_damage(path, at, (uint8_t)(1 + fold_fixture_some(f, 255)));
		f->nr_cells = 0;
		fold_fixture_check(f, &request);
		nr_used += f->nr_cells > 0;
		cells_fixture_make(f, 8, 0);
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
	uint64_t stale_ns;

	memset(processes, 1, sizeof(processes));
	assert_int_equal(stream_fold_init(&fold, f->source, NULL, STREAM_FOLD_INTERVALS), 0);
	const int error = cell_part_add(&fold, data, size, FIRST_NS, FIRST_NS + CELLS_FIXTURE_NS,
					processes, &rows, &stale_ns);
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

	cells_fixture_make(f, 1, 0);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fold_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_log_that_has_grown_makes_them_void),
		TEST(a_pipe_in_its_place_is_an_error),
		TEST(another_profiles_are_not_used),
		TEST(another_versions_file_is_not_used),
		TEST(a_file_of_other_shares_is_not_used),
		TEST(a_damaged_index_makes_the_file_void),
		TEST(damaged_files_are_told_from_sound_ones),
		TEST(hostile_parts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
