/* What some ranks did, on one tree of stacks: nodes are frames, and below them leaves, which say what was done
 * ("[CPU]", "[GPU?_Kernel]gemm"). Part of straggler_causes; one thread. */
#ifndef STRAGGLER_WORK_H
#define STRAGGLER_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model/report_plane.h"

struct collective_log;
struct profile;
struct straggler_question;
struct straggler_work;

/* Of what a party has below a node, itself included. */
struct straggler_amount {
	double ns, count;
};

/* 0; -EPROTO; other errors of database.h; -ENOMEM: *work is NULL. All is borrowed until destroy. */
int straggler_work_create(const struct profile *profile, const char *store_path,
			  const struct collective_log *log,
			  const struct straggler_question *question, struct straggler_work **work);
void straggler_work_destroy(struct straggler_work *work); /* accepts NULL */

/* Nodes are 0, the root, to count - 1. A parent's number is below its children's. */
uint32_t straggler_work_nodes(const struct straggler_work *work);
uint32_t straggler_work_parent(const struct straggler_work *work, uint32_t node);
const char *straggler_work_name(const struct straggler_work *work, uint32_t node);
bool straggler_work_is_leaf(const struct straggler_work *work, uint32_t node);

/* Whether host samples are those in the windows; planes of which the first party has something. */
bool straggler_work_in_windows(const struct straggler_work *work);
uint32_t straggler_work_planes(const struct straggler_work *work);

/* Of a plane, or of some of its leaves. */
struct straggler_part {
	enum report_plane plane;
	const char *leaf; /* those of this name, or, but_leaf, all others; NULL: all */
	bool but_leaf;
};

/* Summed up from the leaves: amounts[node * nr_parties + party]. The caller owns it (free()). NULL: out of memory. */
struct straggler_amount *straggler_work_sum(const struct straggler_work *work,
					    const struct straggler_part *part);

#endif
