#include "run_verdict.h"

#include <math.h>

#include "noise.h"

#define EXACT 1e-9

enum check_state run_verdict_judge(const struct check_question *question, const struct noise *noise,
				   double relative, uint32_t nr_judged, double *low, double *high)
{
	const double limit = log1p(question->max_regress), change = log1p(relative);
	const double below = noise_width(noise, RUN_CHECK_ALARMS / nr_judged);
	const double above = noise_width(noise, RUN_CHECK_MISSES);
	const double either = fmax(above, below);

	*low = expm1(change - below);
	*high = expm1(change + above);
	if (change + either < -EXACT && change - either < EXACT - limit)
		return CHECK_FASTER;
	if (change + above < limit - EXACT)
		return CHECK_SAME;
	return change - below > EXACT ? CHECK_REGRESSED : CHECK_NOISY;
}
