#include "lasting_noise.h"

#include <math.h>

#define FAR       3u  /* stretches */
#define ALIKE_MIN 0.2 /* what is less alike tells nothing of how long noise lasts */
#define ERRORS    2   /* standard errors of a correlation that chance makes */

static void add(struct lasting_noise *pairs, uint32_t distance, const double *distances,
		uint32_t count, double most)
{
	const uint32_t lag = distance ? FAR : 1;

	for (uint32_t i = lag; i < count; i++) {
		const double x = distances[i], y = distances[i - lag];

		if (most > 0 && (fabs(x) > most || fabs(y) > most))
			continue;
		pairs->counts[distance]++;
		pairs->products[distance] += x * y;
		pairs->squares[distance] += (x * x + y * y) / 2;
	}
}

void lasting_noise_add(struct lasting_noise *pairs, const double *distances, uint32_t count,
		       double most)
{
	add(pairs, 0, distances, count, most);
	add(pairs, 1, distances, count, most);
}

/* Returns a correlation without its bias. */
static double alike_of(const struct lasting_noise *pairs, uint32_t distance, uint32_t means,
		       uint32_t n)
{
	if (pairs->squares[distance] <= 0)
		return 0;
	const double r = pairs->products[distance] / pairs->squares[distance];

	return r > 0 ? fmin(r + (1 + 3 * r) * means / n, 1 - 1.0 / n) : r;
}

double lasting_noise_alike(const struct lasting_noise *pairs, uint32_t means, uint32_t n)
{
	return alike_of(pairs, 0, means, n);
}

double lasting_noise_part(const struct lasting_noise *pairs, uint32_t means, uint32_t n)
{
	const double near = alike_of(pairs, 0, means, n);

	return near > 0 ? (1 - near) / (1 + near) : 1;
}

double lasting_noise_least(const struct lasting_noise *pairs, uint32_t means, uint32_t n)
{
	const double near = alike_of(pairs, 0, means, n), far = alike_of(pairs, 1, means, n);
	const double part = lasting_noise_part(pairs, means, n);

	if (near < ALIKE_MIN || far <= pow(near, FAR) + ERRORS / sqrt(pairs->counts[1]))
		return part;
	/* Of noise that lasts, with other noise: near = a r, far = a r^3. All correlations add up to near / (1 - r). */
	const double lasts = fmin(sqrt(far / near), 1 - 1.0 / n);
	return fmin(part, 1 / (1 + 2 * near / (1 - lasts)));
}
