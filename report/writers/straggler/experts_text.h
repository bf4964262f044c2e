/* Says in words how evenly ranks work between exchanges of all with all. Pure; any thread. */
#ifndef EXPERTS_TEXT_H
#define EXPERTS_TEXT_H

#include <stddef.h>

#include "report/straggler/report_straggler.h"

/* Appends why a rank is late to exchanges: "its expert took 1.40 times the others' GPU time"; nothing if that is not
 * known. */
void experts_text_reason(char *line, size_t size, const struct report_straggler_experts *experts);

/* Appends what is known of exchanges: "its expert took 1.40 times the others' GPU time; the others waited 3.100 ms a
 * step", "imbalance: of ranks 0-7 each time another one holds up the others, 3.100 ms a step, 6.00 % of the time". */
void experts_text_append(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_experts *experts);

#endif
