/* Finds the ranks that never came to a collective in which others waited (straggler_absences.h). Part of
 * report_straggler; one thread. */
#ifndef REPORT_STRAGGLER_ABSENCES_H
#define REPORT_STRAGGLER_ABSENCES_H

struct profile;
struct report_straggler;

/* Fills report->absences and missing. Clocks of hosts are compared as the profile has them. 0 or -ENOMEM. */
int report_straggler_absences_find(const struct profile *profile, struct report_straggler *report);

#endif
