/* Makes two runs of different lengths comparable: finds how many steps each made. Used by one thread. */
#ifndef RUN_SCALE_H
#define RUN_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#define RUN_SCALE_NEAR 0.02 /* factors that differ by less are the same */

struct profile;

enum run_unit {
	RUN_MARKS,       /* steps of one rank, which the program marks (api/flamegrid.h) */
	RUN_STEPS,       /* the same, counted by the pattern of its calls of NCCL */
	RUN_COLLECTIVES, /* calls of NCCL, of one rank each */
	RUN_LAUNCHES,    /* how often the same kernels were launched */
	RUN_WHOLE,       /* the two have no kernel in common: whole runs are compared */
};

/* What one profile tells. */
struct run_counts {
	uint64_t steps;       /* of all ranks together; 0: some rank's calls have no pattern */
	uint64_t collectives; /* numbered calls of all ranks together */
	uint32_t nr_ranks;    /* processes with such calls */
	/* Steps that programs mark, of all ranks together; 0: none. Ranks that launch kernels and mark no step count
	 * as many as the rank with the most. */
	uint64_t marks;
	uint32_t nr_marked; /* processes with such steps */
	bool differ;        /* some of them mark fewer than others */
};

struct run_scale {
	enum run_unit unit;
	double before, after; /* numbers of the unit; of launches 1 and factor */
	/* how many times longer the run after is */
	double factor;
};

/* Reads the marks of the profile and the calls of its store. 0, or -errno with *error as of
 * profile_collectives_load(). */
int run_counts_read(const struct profile *profile, const char *store_path,
		    struct run_counts *counts, char **error);

/* Returns how many ranks a number of this unit is of; 0: not known. */
uint32_t run_counts_ranks(const struct run_counts *counts, enum run_unit unit);

/* launches: change_table_launches(). Marked steps count if both have them, else steps by the pattern of calls, else
 * calls, else launches. Patterns and windows count steps to about one. So where launches tell nearly the same factor,
 * theirs is taken. */
struct run_scale run_scale_choose(const struct run_counts *before, const struct run_counts *after,
				  double launches);

/* Makes two ranks of one profile comparable, of which both have as many steps. RUN_WHOLE: that is not known. */
struct run_scale run_scale_of_ranks(const struct run_counts *counts);

/* Returns "step", "collective", "launch", or "run". Static storage. */
const char *run_unit_name(enum run_unit unit);

#endif
