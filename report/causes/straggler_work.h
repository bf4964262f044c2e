/* Puts the work of some ranks on one tree of stacks. Nodes are frames; below them are leaves, which name the work
 * ("[CPU]", "[GPU?_Kernel]gemm"). The work is that in the question's windows, or of whole runs where there are no
 * windows, or no single pieces of it. A thread's waits for its own GPU are left out (gpu_wait.h). Part of
 * straggler_causes; one thread. */
#ifndef STRAGGLER_WORK_H
#define STRAGGLER_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model/report_plane.h"

struct collective_folds;
struct profile;
struct straggler_question;
struct straggler_work;

/* The amount that a party has at a node and below it. */
struct straggler_amount {
	double ns, count;
};

/* 0; -EPROTO; other errors of database.h; -ENOMEM. On error *work is NULL. All arguments are borrowed until destroy. */
int straggler_work_create(const struct profile *profile, const char *store_path,
			  const struct collective_folds *folds,
			  const struct straggler_question *question, struct straggler_work **work);
void straggler_work_destroy(struct straggler_work *work); /* accepts NULL */

/* Nodes are numbered from 0, the root, to straggler_work_nodes() - 1. A parent's number is below its children's. */
uint32_t straggler_work_nodes(const struct straggler_work *work);
uint32_t straggler_work_parent(const struct straggler_work *work, uint32_t node);
const char *straggler_work_name(const struct straggler_work *work, uint32_t node);
bool straggler_work_is_leaf(const struct straggler_work *work, uint32_t node);

/* The sorts of work, which are examined one by one. */
enum straggler_sort {
	STRAGGLER_GPU_WORK,
	STRAGGLER_CPU,
	STRAGGLER_WAITS,        /* off the CPU, but for the next two */
	STRAGGLER_THREAD_WAITS, /* futex: they follow from the work of another thread */
	STRAGGLER_RUN_QUEUE,    /* no CPU was free */
	STRAGGLER_IDLE,
	STRAGGLER_SORTS,
};

enum report_plane straggler_work_plane(enum straggler_sort sort);

/* Return whether a sort of work is only that in the windows, whether enough of it is kept, and the planes of the first
 * party's work. */
bool straggler_work_in_windows(const struct straggler_work *work, enum straggler_sort sort);
bool straggler_work_is_kept(const struct straggler_work *work, enum straggler_sort sort);
uint32_t straggler_work_planes(const struct straggler_work *work);

/* Returns sums of the leaves: amounts[node * nr_parties + party]. The caller owns them: free(). NULL: out of memory. */
struct straggler_amount *straggler_work_sum(const struct straggler_work *work,
					    enum straggler_sort sort);

#endif
