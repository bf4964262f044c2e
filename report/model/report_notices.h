/* Collects the notices of all processes, each text once. Part of report_build; used by one thread. */
#ifndef REPORT_NOTICES_H
#define REPORT_NOTICES_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "report/profile/profile.h"

/* Makes *notices, which the caller owns: free(). After those of processes comes one for each job of which ranks are not
 * in the profile, and one, of no process, for each part that was damaged. *absent: the text, in names, about the first
 * such job; 0: there is none. 0; -ENOMEM: *notices may be NULL. */
int report_notices_make(const struct profile *profile, struct report_names *names,
			struct report_notice **notices, uint32_t *nr_notices, uint32_t *absent);

/* Sets what the run was to record, as notices of processes say it: was_to_measure and was_to_sample of the tree. */
void report_notices_wanted(const struct profile *profile, struct report_tree *tree);

#endif
