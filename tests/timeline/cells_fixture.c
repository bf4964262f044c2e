#include "cells_fixture.h"

#include "tests/support/cmocka_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "timeline/cells/cell_file.h"

#define RANGES 40u

struct cell_made cells_fixture_make(struct fold_fixture *f, uint32_t nr_cells, int result)
{
	struct cell_made cells = {0};
	uint64_t first_ns, last_ns;

	assert_int_equal(timeline_source_extent(f->source, &first_ns, &last_ns), 0);
	assert_int_equal(cell_maker_make(f->source, first_ns, last_ns, nr_cells, &cells), result);
	return cells;
}

uint32_t cells_fixture_count(const struct fold_fixture *f, const struct timeline_request *request)
{
	struct cell_file file;
	uint32_t nr = 0;

	assert_int_equal(cell_file_open(&file, f->source), 0);
	for (uint32_t cell = 0; cell < file.head.nr_cells; cell++)
		nr += cell_file_has(&file, cell) && cell_file_at(&file, cell) >= request->from_ns &&
		      cell_file_at(&file, cell + 1) <= request->to_ns;
	cell_file_close(&file);
	return nr;
}

static struct timeline_request some_range(struct fold_fixture *f)
{
	const uint64_t from_ns = FOLD_FIXTURE_FIRST_NS + fold_fixture_some(f, CELLS_FIXTURE_NS);

	return (struct timeline_request){.from_ns = from_ns,
					 .to_ns = from_ns + fold_fixture_some(f, CELLS_FIXTURE_NS)};
}

uint64_t cells_fixture_check(struct fold_fixture *f, uint64_t *nr_left_out)
{
	uint64_t nr_within = 0;

	f->nr_cells = 0;
	for (uint32_t i = 0; i < RANGES; i++) {
		const struct timeline_request request = i ? some_range(f) : CELLS_FIXTURE_ALL;

		f->nr_cpus = 1 + fold_fixture_some(f, 10);
		nr_within += cells_fixture_count(f, &request);
		fold_fixture_check(f, &request);
	}
	assert_in_range(f->nr_cells, 0, nr_within);
	*nr_left_out = nr_within - f->nr_cells;
	return nr_within;
}

void cells_fixture_path(const struct fold_fixture *f, char path[static 128])
{
	snprintf(path, 128, "%s" CELL_FORMAT_SUFFIX, f->store);
}

off_t cells_fixture_size(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_size;
}

void cells_fixture_damage(const char *path, off_t at, uint8_t mask)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= mask;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}
