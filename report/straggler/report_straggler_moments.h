/* Finds when those were late that are named for a part of the run. Part of report_straggler; one thread. */
#ifndef REPORT_STRAGGLER_MOMENTS_H
#define REPORT_STRAGGLER_MOMENTS_H

struct profile;
struct report_straggler;

/* Sets the moments of members and groups, by the calls that have raw rows. Of a long run these are some of all, so a
 * moment is about right. 0 or -ENOMEM. */
int report_straggler_moments_find(const struct profile *profile, struct report_straggler *report);

#endif
