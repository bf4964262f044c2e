/* Sums of cells of a fold_fixture's log, and checks of ranges with them. */
#ifndef CELLS_FIXTURE_H
#define CELLS_FIXTURE_H

#include <sys/types.h>

#include "fold_fixture.h"

#include "timeline/slice/cell_maker.h"

#define CELLS_FIXTURE_NS (FOLD_FIXTURE_BLOCKS * FOLD_FIXTURE_BLOCK_NS)
#define CELLS_FIXTURE_ALL                                                                          \
	((struct timeline_request){.from_ns = FOLD_FIXTURE_FIRST_NS, .to_ns = UINT64_MAX})

/* Asserts that making cells has that result. */
struct cell_made cells_fixture_make(struct fold_fixture *f, uint32_t nr_cells, int result);

/* Returns how many cells have sums and lie within the range. */
uint32_t cells_fixture_count(const struct fold_fixture *f, const struct timeline_request *request);

/* Checks the whole and some ranges, and returns how many cells lie within them; *nr_left_out: those whose events were
 * read. */
uint64_t cells_fixture_check(struct fold_fixture *f, uint64_t *nr_left_out);

/* The path of the file with the sums. */
void cells_fixture_path(const struct fold_fixture *f, char path[static 128]);

off_t cells_fixture_size(const char *path);
void cells_fixture_damage(const char *path, off_t at, uint8_t mask);

#endif
