/* Says when the guest looks at CUPTI's samples: soon after the first session began, so that a killed process has some;
 * then ever later, up to once a second. Pure; one thread at a time. */
#ifndef LOOK_PACE_H
#define LOOK_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define LOOK_PACE_FIRST_NS                                                                         \
	125000000u /* from the first look to the second; then twice as long each time, up to: */
#define LOOK_PACE_NS 1000000000u

/* Embedded; zeroed memory is one of which no session has begun. */
struct look_pace {
	uint64_t next_ns, wait_ns;
};

/* Returns whether a look is due, and counts it as taken. begun: a session has begun before; without one, looks find
 * nothing, and are always due. */
static inline bool look_pace_is_due(struct look_pace *pace, uint64_t now_ns, bool begun)
{
	if (now_ns < pace->next_ns)
		return false;
	if (begun) {
		pace->wait_ns = pace->wait_ns ? 2 * pace->wait_ns : LOOK_PACE_FIRST_NS;
		if (pace->wait_ns > LOOK_PACE_NS)
			pace->wait_ns = LOOK_PACE_NS;
		pace->next_ns = now_ns + pace->wait_ns;
	}
	return true;
}

#endif
