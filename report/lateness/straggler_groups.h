/* Finds groups of ranks that are late together on a communicator: those of a stage of the pipelines, of a switch, of
 * hosts with like names, of a host, or of a local rank on all hosts; else a part of the ranks that is apart from the
 * rest. Each is tested as a rank is (straggler.h). A group is named only if it, and not one of its ranks, is late:
 *   - three quarters of its ranks, and two at least, are late by at least half of its lateness; or
 *   - if it is late in a phase, that holds of what is usual there; or
 *   - if it is late in lumps, each of them is later than usual with the others of the group, by half as much, in most
 *     of the stretches in which these are latest: as many as hold half of what ranks outside waited, or half of a
 *     stall.
 * It has half of the ranks at most. Of two named groups with ranks in common the larger one stays. A part stays only
 * if it has three ranks, and not all of them are named one by one. It takes the place of groups that are pieces of
 * it. These are in it and late as it is; a single one explains less waiting. The ranks outside wait for a group.
 * What its own ranks wait for one another (inside_ns) is known by what they wait in all. Pure; any thread. */
#ifndef STRAGGLER_GROUPS_H
#define STRAGGLER_GROUPS_H

#include <stdint.h>

#include "straggler_subject.h"

#define STRAGGLER_PLACE_NONE UINT32_MAX

enum straggler_group_kind {
	STRAGGLER_GROUP_STAGE = 0, /* of a pipeline */
	STRAGGLER_GROUP_SWITCH,    /* of the network, with several hosts */
	STRAGGLER_GROUP_HOSTS,     /* several hosts whose names differ in their last number alone */
	STRAGGLER_GROUP_HOST,
	STRAGGLER_GROUP_LOCAL_RANK,
	STRAGGLER_GROUP_PART, /* the late one of two parts */
};

/* Where a member is: a number for each kind but the last. STRAGGLER_PLACE_NONE: not known. */
struct straggler_place {
	uint32_t numbers[STRAGGLER_GROUP_PART];
};

struct straggler_group {
	enum straggler_group_kind kind;
	uint32_t number;   /* the place; 0 of a part */
	uint32_t *members; /* owns; of the fold */
	uint32_t nr_members;
	struct straggler_subject found;
};

/* *tests: how many groups straggler_groups_find() tests, at most. places: one for each of the count members. 0 or
 * -ENOMEM. */
int straggler_groups_tests(const struct straggler_place *places, uint32_t count, uint32_t *tests);

/* Finds the named groups, those for which the others waited longest first. input: that of the ranks; ranks: what
 * straggler_find() found of them. Ranks of a named group are named no more. The caller owns *groups:
 * straggler_groups_free(). 0 or -ENOMEM. */
int straggler_groups_find(const struct straggler_input *input, const struct straggler_place *places,
			  struct straggler_subject *ranks, struct straggler_group **groups,
			  uint32_t *nr_groups);
void straggler_groups_free(struct straggler_group *groups, uint32_t nr_groups);

#endif
