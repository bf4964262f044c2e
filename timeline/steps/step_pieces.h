/* Adds stretches of one part to the steps of a process (step_rows.h) that they touch. Used by one thread. */
#ifndef STEP_PIECES_H
#define STEP_PIECES_H

#include "step_rows.h"

struct step_piece {
	uint64_t begin_ns, end_ns;
	enum step_part part;
	uint64_t launched_ns;        /* of work: when the last of it was launched */
	uint32_t tid, before, after; /* of STEP_IDLE_HOST, as in struct step_gap */
};

struct step_cursor { /* the rows of a thread that have not ended */
	uint32_t next, end;
};

struct step_cursors { /* of a process */
	uint32_t first, nr;
};

struct step_pieces {
	struct step_rows *rows;         /* borrowed */
	struct step_cursor *cursors;    /* owns */
	struct step_cursors *processes; /* owns; [id - 1] */
};

/* The rows' processes have ids up to nr_processes. 0 or -ENOMEM. Call step_pieces_fini() in any case. */
int step_pieces_init(struct step_pieces *pieces, struct step_rows *rows, uint32_t nr_processes);
void step_pieces_fini(struct step_pieces *pieces);

/* Returns whether the process has steps. */
bool step_pieces_has(const struct step_pieces *pieces, uint32_t process_id);

/* Those of a process come in order of time. An empty one is ignored. */
void step_pieces_add(struct step_pieces *pieces, uint32_t process_id,
		     const struct step_piece *piece);

#endif
