#include "unwind_rows.h"

#include <errno.h>
#include <sys/mman.h>

#include "proto/sparse_memory.h"

#define FIRST_BYTES 65536u
#define PAGE_BYTES  4096u

void unwind_rows_init(struct unwind_rows *rows, uint64_t bytes_max)
{
	*rows = (struct unwind_rows){.max = bytes_max / sizeof(struct unwind_row)};
}

void unwind_rows_fini(struct unwind_rows *rows)
{
	if (rows->rows)
		munmap(rows->rows, rows->room * sizeof(struct unwind_row));
	unwind_rows_init(rows, 0);
}

/* Returns the size of the next mapping: twice this one, but no more than the rows may take. */
static size_t next_size(const struct unwind_rows *rows, size_t bytes)
{
	size_t most =
		(rows->max * sizeof(struct unwind_row) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

	return 2 * bytes < most ? 2 * bytes : most;
}

static int grow(struct unwind_rows *rows)
{
	size_t bytes = rows->room * sizeof(struct unwind_row), next;
	void *room;

	if (rows->nr >= rows->max)
		return -ENOSPC;
	if (bytes == 0) {
		next = FIRST_BYTES;
		room = sparse_memory_map(next, PROT_READ | PROT_WRITE);
	} else {
		next = next_size(rows, bytes);
		room = mremap(rows->rows, bytes, next, MREMAP_MAYMOVE);
	}
	if (!room || room == MAP_FAILED)
		return -ENOMEM;
	rows->rows = room;
	rows->room = next / sizeof(struct unwind_row);
	return 0;
}

void unwind_rows_put(struct unwind_rows *rows, uint32_t pc, uint32_t rule)
{
	if (rows->error)
		return;
	if (rows->nr && rows->rows[rows->nr - 1].pc == pc)
		rows->nr--;
	if (rows->nr && rows->rows[rows->nr - 1].rule == rule)
		return;
	if (rows->nr == rows->room || rows->nr >= rows->max)
		rows->error = grow(rows);
	if (rows->error == 0)
		rows->rows[rows->nr++] = (struct unwind_row){.pc = pc, .rule = rule};
}
