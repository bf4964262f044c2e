/* How long the end of a node's ranks may be held up for the node's profile. The time begins when the last rank asks for
 * its records to be stored, so what a slow disk takes before the last round is part of it. Pure. */
#ifndef END_BUDGET_H
#define END_BUDGET_H

#include <stdint.h>

#define END_BUDGET_MS       2000u
#define END_BUDGET_ROUND_MS 500u /* of that, the least for the last round */

struct end_budget {
	uint64_t since_ns; /* of clock_now_ns() */
	uint32_t limit_ms; /* 0: there is nothing to wait for */
};

/* Returns how long the last round may take from now on. */
uint32_t end_budget_left_ms(const struct end_budget *budget, uint64_t now_ns);

#endif
