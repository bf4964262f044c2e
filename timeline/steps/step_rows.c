#include "step_rows.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
	const char *name, *words;
} parts[STEP_PARTS] = {
	[STEP_COMPUTE] = {"compute", "compute"},
	[STEP_GRAPHS] = {"graphs", "graphs"},
	[STEP_NCCL_MOVES] = {"nccl_moves", "NCCL moving data"},
	[STEP_NCCL_WAITS] = {"nccl_waits", "NCCL waiting for other ranks"},
	[STEP_NCCL] = {"nccl", "NCCL"},
	[STEP_COPIES] = {"copies", "copies"},
	[STEP_IDLE_LAUNCHES] = {"idle_launches", "idle time between launches"},
	[STEP_IDLE_HOST] = {"idle_host", "idle time while the host did not launch"},
	[STEP_IDLE_START] = {"idle_start", "idle time between a launch and its work"},
	[STEP_IDLE_UNKNOWN] = {"idle_unknown", "idle time for an unknown reason"},
};

int step_rows_init(struct step_rows *rows, const struct timeline_steps *steps, uint64_t from_ns,
		   uint64_t to_ns)
{
	*rows = (struct step_rows){.nr_open = steps->nr_open, .nr_cut = steps->nr_cut};
	rows->rows = calloc(steps->nr_steps + 1ull, sizeof(*rows->rows));
	if (!rows->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps->nr_steps; i++) {
		const struct timeline_step *step = &steps->steps[i];

		if (step->begin_ns < from_ns || step->end_ns > to_ns ||
		    step->begin_ns >= step->end_ns)
			rows->nr_outside++;
		else
			rows->rows[rows->nr_rows++] = (struct step_row){
				.begin_ns = step->begin_ns,
				.end_ns = step->end_ns,
				.process_id = step->process_id,
				.tid = step->tid,
				.number = step->number,
				.is_first = step->is_first,
			};
	}
	return 0;
}

void step_rows_fini(struct step_rows *rows)
{
	free(rows->rows);
	*rows = (struct step_rows){0};
}

const char *step_rows_name(enum step_part part)
{
	return parts[part].name;
}

const char *step_rows_words(enum step_part part)
{
	return parts[part].words;
}

uint64_t step_rows_idle(const struct step_row *row)
{
	return row->parts_ns[STEP_IDLE_LAUNCHES] + row->parts_ns[STEP_IDLE_HOST] +
	       row->parts_ns[STEP_IDLE_START] + row->parts_ns[STEP_IDLE_UNKNOWN];
}

uint64_t step_rows_earlier(const struct step_row *row)
{
	uint64_t ns = 0;

	for (uint32_t part = 0; part < STEP_WORK_PARTS; part++)
		ns += row->earlier_ns[part];
	return ns;
}
