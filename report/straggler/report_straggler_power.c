#include "report_straggler_power.h"

#include <math.h>

double report_straggler_power_hides(const struct report_straggler *report)
{
	if (!report->pipeline)
		return 0;
	const struct report_straggler_communicator *of =
		&report->communicators[report->nr_communicators];
	double hides = 0;

	/* Of many ranks z is known of some alone. */
	for (uint32_t i = 0; i < of->fold->nr_members; i++) {
		const struct straggler_subject *found = &of->members[i].found;

		if (fabs(found->z) > 0)
			hides = fmax(hides, STRAGGLER_Z_MIN * fabs(found->steady / found->z));
		/* Noise that lasts hides what is beyond that. */
		if (!found->ground)
			hides = fmax(hides, found->steady);
	}
	return hides > 0 ? fmin(1, hides) : 1;
}
