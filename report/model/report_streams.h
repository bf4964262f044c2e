/* Names streams and contexts for readers, where more than their ids is known. Part of report_build; used by one
 * thread. */
#ifndef REPORT_STREAMS_H
#define REPORT_STREAMS_H

#include <stdint.h>

#include "report_names.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"

/* Names a row's context "green context2 (16 SMs)"; *text 0: only its id is known. 0 or -ENOMEM. */
int report_streams_context(struct report_names *names, const struct roster_process *process,
			   const struct fold_key *key, uint32_t *text);

/* Names its stream "stream13 \"prefetch\" (priority -1)"; *text 0: only its id is known. 0 or -ENOMEM. */
int report_streams_name(struct report_names *names, const struct catalog *catalog,
			const struct roster_process *process, const struct fold_key *key,
			uint32_t *text);

#endif
