#include "binomial.h"

#include <math.h>

#define NO_SPREADS 20 /* from the mean */

double binomial_tail(uint64_t count, uint64_t total, double p)
{
	double sum = 0;
	int sign;

	if (count == 0)
		return 1;
	double all = lgamma_r((double)total + 1, &sign), mean = (double)total * p;
	/* Terms far below the mean add nothing that a double can hold. */
	double least = mean - NO_SPREADS * sqrt(mean * (1 - p));
	uint64_t from = least > (double)count ? (uint64_t)least : count;
	for (uint64_t i = from; i <= total; i++) {
		double log_term = all - lgamma_r((double)i + 1, &sign) -
				  lgamma_r((double)(total - i) + 1, &sign) + (double)i * log(p) +
				  (double)(total - i) * log1p(-p);
		double term = exp(log_term);

		sum += term;
		/* Beyond the mean the terms only fall. */
		if ((double)i > mean && term <= sum * 1e-16)
			break;
	}
	return sum < 1 ? sum : 1;
}
