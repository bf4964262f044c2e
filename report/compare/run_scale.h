/* Makes two runs of different lengths comparable: finds how many steps each made. Used by one thread. */
#ifndef RUN_SCALE_H
#define RUN_SCALE_H

#include <stdint.h>

enum run_unit {
	RUN_STEPS,       /* of one rank, counted by the pattern of its calls of NCCL */
	RUN_COLLECTIVES, /* calls of NCCL, of one rank each */
	RUN_LAUNCHES,    /* how often the same kernels were launched */
	RUN_WHOLE,       /* the two have no kernel in common: whole runs are compared */
};

/* What one profile tells. */
struct run_counts {
	uint64_t steps;       /* of all ranks together; 0: some rank's calls have no pattern */
	uint64_t collectives; /* numbered calls of all ranks together */
	uint32_t nr_ranks;    /* processes with such calls */
};

struct run_scale {
	enum run_unit unit;
	double before, after; /* numbers of the unit; of launches 1 and factor */
	/* how many times longer the run after is */
	double factor;
};

/* Reads the calls of the store. 0, or -errno with *error as of profile_collectives_load(). */
int run_counts_read(const char *store_path, struct run_counts *counts, char **error);

/* launches: change_table_launches(). Steps count if both have them, else calls, else launches. Steps are counted to
 * about one; so where launches tell nearly the same factor, theirs is taken. */
struct run_scale run_scale_choose(const struct run_counts *before, const struct run_counts *after,
				  double launches);

/* Returns "step", "collective", "launch", or "run". Static storage. */
const char *run_unit_name(enum run_unit unit);

#endif
