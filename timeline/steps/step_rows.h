/* The steps of a job, of each process by itself, with their time in parts. The parts tell what all GPUs of the process
 * together did between the step's begin and its end on the host. They sum to that time, to the nanosecond. Where
 * several things ran at once, the first one in the order below counts. Plain data; used by one thread. */
#ifndef STEP_ROWS_H
#define STEP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/trace/timeline_busy.h"
#include "timeline/trace/timeline_steps.h"

enum step_part {
	STEP_COMPUTE, /* kernels that are not NCCL's */
	STEP_GRAPHS,  /* graphs that were recorded as a whole */
	STEP_NCCL_MOVES,
	STEP_NCCL_WAITS, /* for kernels of other ranks (nccl_waits.h) */
	STEP_NCCL,       /* NCCL's kernels of which nothing more is known */
	STEP_COPIES,     /* copies and memsets */
	/* Idle time ends when work starts. Until that work's launch it is the host's: */
	STEP_IDLE_LAUNCHES, /* for less than TIMELINE_BUSY_HOST_NS */
	STEP_IDLE_HOST,     /* for longer, or before the first work */
	STEP_IDLE_START,    /* since the launch: of latency, or for other work */
	STEP_IDLE_UNKNOWN,  /* the launch, or the work that follows, is not in the log */
	STEP_PARTS,
	STEP_WORK_PARTS = STEP_IDLE_LAUNCHES, /* the others are idle time */
};

/* A time in which the host let the GPUs idle (STEP_IDLE_HOST), with the launches around it. */
struct step_gap {
	uint64_t begin_ns, end_ns; /* of the part within the step; both 0: there is none */
	uint32_t tid;              /* the thread that launched at the end */
	uint32_t before, after;    /* stacks of that thread's launches; 0: not known */
};

struct step_row {
	uint64_t begin_ns, end_ns;
	uint64_t parts_ns[STEP_PARTS];
	uint64_t earlier_ns
		[STEP_WORK_PARTS]; /* of these, by work that was launched before the step began */
	struct step_gap gap;       /* the longest */
	uint32_t process_id, tid;
	uint32_t number; /* in its process, from 1 */
	bool is_first;   /* of its process, which warms up */
};

struct step_rows {
	struct step_row *rows; /* owns; by process, thread and time */
	uint32_t nr_rows;
	uint32_t nr_open;    /* steps whose end was not kept */
	uint32_t nr_cut;     /* of these, by windows (timeline_steps.h) */
	uint32_t nr_outside; /* of the wanted time */
};

/* Takes the steps with a begin and an end within the time. 0 or -ENOMEM. Call step_rows_fini() in any case. */
int step_rows_init(struct step_rows *rows, const struct timeline_steps *steps, uint64_t from_ns,
		   uint64_t to_ns);
void step_rows_fini(struct step_rows *rows);

/* Returns "compute", "idle_host": names in CSV and JSON, where "_ns" follows. step_rows_words(): "compute", "idle while
 * the host did not launch". Static storage. */
const char *step_rows_name(enum step_part part);
const char *step_rows_words(enum step_part part);

/* The sum of the four idle parts. */
uint64_t step_rows_idle(const struct step_row *row);

/* The sum of all earlier_ns. */
uint64_t step_rows_earlier(const struct step_row *row);

#endif
