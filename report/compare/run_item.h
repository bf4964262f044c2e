/* What a check knows of one run: the time of each kernel, by rank and by window. run_work.h makes it. Plain data. */
#ifndef RUN_ITEM_H
#define RUN_ITEM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "run_pace.h"
#include "run_scale.h"

#define RUN_WORK_ALL 0u /* items[0]: all kernels but NCCL's */

/* A kernel may have any name, so kind and name together tell items apart. */
enum run_kind { RUN_KIND_ALL, RUN_KIND_KERNEL, RUN_KIND_COPIES };

/* The time of an item that a line launches. */
struct run_line {
	char *text; /* owns, as function; "fit.py:norm:18 > gpu.py:launch:21" */
	char *function; /* without numbers, so that it matches other versions: "fit.py:norm > gpu.py:launch" */
	const char *own_text, *own_function; /* the same without a caller; lie in those */
	uint64_t ns;
};

/* All launches of one kernel, or copies of one kind. */
struct run_item {
	char *name; /* owns; "gemm", "[GPU_Memcpy]HtoD"; matches the names of other runs */
	enum run_kind kind;
	bool is_nccl;
	uint64_t count, ns;
	/* The sum of (duration - mean)^2 over launches is at most this: of n launches with least m, greatest M and mean
	 * u, n (M - u) (u - m) (Bhatia and Davis, 2000). Of covered_ns of ns alone. */
	double spread_ns2;
	uint64_t covered_ns;
	struct run_line *lines; /* owns; of a kernel; by function, then by text */
	uint32_t nr_lines, room_lines;
};

/* The order of by_name: below 0, 0 or above 0. */
static inline int run_item_order(const struct run_item *a, const struct run_item *b)
{
	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

/* A GPU in a process. */
struct run_member {
	uint8_t uuid[16]; /* zeros: not known */
	int32_t rank;     /* REPORT_RANK_NONE */
};

struct run_part {
	uint32_t item, member;
	uint64_t count, ns;
};

struct run_work {
	struct run_item *items; /* owns, as all arrays */
	uint32_t nr_items;
	const struct run_item **by_name; /* of items, by kind, then by name */
	struct run_member *members;      /* by UUID, then by rank */
	uint32_t nr_members;
	uint32_t nr_numbers;    /* ranks by their numbers, with work; 1: no process has a number */
	uint32_t nr_gpus;       /* with work */
	struct run_part *parts; /* by item, then by member */
	uint32_t nr_parts;
	struct run_window *windows; /* by item, then by number */
	uint32_t nr_windows;
	struct run_counts counts;
	struct run_pace pace;
	char *device;  /* owns; clean name of the GPUs; "": not known, or of several types */
	bool lossy;    /* something is missing, or is not there yet */
	char *summary; /* owns; the closing line of its report */
};

#endif
