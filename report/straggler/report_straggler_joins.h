/* Joins what is found of one subject on several communicators. Where these follow one another in time, as after a
 * restart, what it costs there adds up. While it is on them at the same time, one delay makes it late on all, so the
 * first counts. One thread. */
#ifndef REPORT_STRAGGLER_JOINS_H
#define REPORT_STRAGGLER_JOINS_H

#include "report_straggler_result.h"

/* Sets `joined` and `adds` of groups, and `joined` of members. The groups and the named ranks are known. */
void report_straggler_joins_find(struct report_straggler *report);

/* Returns what is found of a group on a communicator, by index, if it is the group's, or adds to that; else NULL. */
const struct straggler_subject *
report_straggler_joins_group(const struct report_straggler *report,
			     const struct report_straggler_group *group, uint32_t communicator);

/* The same of a named rank. */
const struct straggler_subject *
report_straggler_joins_rank(const struct report_straggler *report,
			    const struct report_straggler_rank *rank, uint32_t communicator);

#endif
