/* Looks for the causes of those for whom the others waited most. Part of report_straggler; one thread. */
#ifndef REPORT_STRAGGLER_CAUSES_H
#define REPORT_STRAGGLER_CAUSES_H

struct profile;
struct report_straggler;

/* Sets the causes and scopes of the first REPORT_STRAGGLER_EXPLAINED groups and ranks that are named, and tells of the
 * others that they were skipped. store_path: of the profile. 0, or as straggler_explain(). */
int report_straggler_causes_find(const struct profile *profile, const char *store_path,
				 struct report_straggler *report);

#endif
