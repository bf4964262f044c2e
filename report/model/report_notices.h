/* Collects the notices of all processes, each text once. Part of report_build; used by one thread. */
#ifndef REPORT_NOTICES_H
#define REPORT_NOTICES_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "aggregator/profile/roster.h"

/* Makes *notices, which the caller owns: free(). 0; -ENOMEM: *notices is NULL and the count 0. */
int report_notices_make(const struct roster *roster, struct report_names *names,
			struct report_notice **notices, uint32_t *nr_notices);

#endif
