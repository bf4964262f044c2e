/* Finds the ranks that are late because of others. Part of report_straggler; one thread. */
#ifndef REPORT_STRAGGLER_VICTIMS_H
#define REPORT_STRAGGLER_VICTIMS_H

struct report_straggler;

/* Ranks and groups of a pipeline that are late in collectives, but wait no less than others in all, and for half of
 * their lateness at least, are named no more: the late stage or rank of the pipelines is. In a step without a late one
 * the last backward pass ends in the first stage, and that stage comes last to each collective of all. Nor is a group
 * named of which more than a quarter was kept waiting by a late rank on another communicator, as in
 * report_straggler_victims_find(): the rest is no group that is late together. Call it when all communicators are
 * judged. 0 or -ENOMEM. */
int report_straggler_victims_excuse(struct report_straggler *report);

/* Sets kept_by and kept_on of ranks that another named one, or one of a named group, kept waiting on another
 * communicator, and kept_by of those that were excused. A wait counts above the median of the victim's own
 * communicator, because one that all share makes none of them late. Call it when groups are made. 0 or -ENOMEM. */
int report_straggler_victims_find(struct report_straggler *report);

#endif
