#include "step_pieces.h"

#include <errno.h>
#include <stdlib.h>

int step_pieces_init(struct step_pieces *pieces, struct step_rows *rows, uint32_t nr_processes)
{
	uint32_t nr = 0;

	*pieces = (struct step_pieces){
		.rows = rows,
		.cursors = calloc(rows->nr_rows + 1ull, sizeof(*pieces->cursors)),
		.processes = calloc(nr_processes + 1ull, sizeof(*pieces->processes)),
	};
	if (!pieces->cursors || !pieces->processes)
		return -ENOMEM;
	for (uint32_t i = 0, end; i < rows->nr_rows; i = end) {
		const struct step_row *row = &rows->rows[i];
		struct step_cursors *process = &pieces->processes[row->process_id - 1];

		for (end = i; end < rows->nr_rows && rows->rows[end].tid == row->tid &&
			      rows->rows[end].process_id == row->process_id;
		     end++)
			;
		pieces->cursors[nr] = (struct step_cursor){i, end};
		if (!process->nr++)
			process->first = nr;
		nr++;
	}
	return 0;
}

void step_pieces_fini(struct step_pieces *pieces)
{
	free(pieces->cursors);
	free(pieces->processes);
	*pieces = (struct step_pieces){0};
}

bool step_pieces_has(const struct step_pieces *pieces, uint32_t process_id)
{
	return pieces->processes[process_id - 1].nr > 0;
}

static void note_gap(struct step_row *row, const struct step_piece *piece, uint64_t begin_ns,
		     uint64_t end_ns)
{
	if (end_ns - begin_ns <= row->gap.end_ns - row->gap.begin_ns)
		return;
	row->gap = (struct step_gap){
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.tid = piece->tid,
		.before = piece->before,
		.after = piece->after,
	};
}

static void add_to_row(struct step_row *row, const struct step_piece *piece)
{
	const uint64_t begin_ns = piece->begin_ns > row->begin_ns ? piece->begin_ns : row->begin_ns;
	const uint64_t end_ns = piece->end_ns < row->end_ns ? piece->end_ns : row->end_ns;

	row->parts_ns[piece->part] += end_ns - begin_ns;
	if (piece->part < STEP_WORK_PARTS && piece->launched_ns < row->begin_ns)
		row->earlier_ns[piece->part] += end_ns - begin_ns;
	if (piece->part == STEP_IDLE_HOST)
		note_gap(row, piece, begin_ns, end_ns);
}

void step_pieces_add(struct step_pieces *pieces, uint32_t process_id,
		     const struct step_piece *piece)
{
	const struct step_cursors *process = &pieces->processes[process_id - 1];
	struct step_row *rows = pieces->rows->rows;

	if (piece->begin_ns >= piece->end_ns)
		return;
	for (uint32_t i = 0; i < process->nr; i++) {
		struct step_cursor *cursor = &pieces->cursors[process->first + i];

		while (cursor->next < cursor->end && rows[cursor->next].end_ns <= piece->begin_ns)
			cursor->next++;
		for (uint32_t k = cursor->next; k < cursor->end && rows[k].begin_ns < piece->end_ns;
		     k++)
			add_to_row(&rows[k], piece);
	}
}
