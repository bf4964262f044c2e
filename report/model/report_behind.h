/* Says how far the aggregator was behind, as agents told it (LEDGER_BEHIND). Part of report_build; used by one
 * thread. */
#ifndef REPORT_BEHIND_H
#define REPORT_BEHIND_H

#include <stdint.h>

#include "report_names.h"

#include "aggregator/profile/collection.h"

#define REPORT_BEHIND_SIZE 512u

/* Writes a text for a line of the ledger, cut to size: "times that the aggregator was behind: node n3 by up to 4.000 s,
 * and nothing was lost by it". Of several agents it names the one that waited longest. What the rings of these nodes
 * had no room for counts as lost by it. Without such an agent the text is the ledger's own, and *longest_ns
 * is 0. 0; -ENOMEM: the text is empty. */
int report_behind_text(const struct collection *collection, struct report_names *names,
		       char text[REPORT_BEHIND_SIZE], uint64_t *longest_ns);

#endif
