#include "level_shift.h"

#include <math.h>
#include <string.h>

#include "lasting_noise.h"
#include "robust.h"

#define BLOCK_MAX 8u /* values */

static double middle_of(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Takes the middle one of each value and its neighbours. */
static void smooth(const double *values, uint32_t count, double *smoothed)
{
	for (uint32_t i = 0; i < count; i++)
		smoothed[i] = i == 0 || i + 1 == count
				      ? values[i]
				      : middle_of(values[i - 1], values[i], values[i + 1]);
}

static double level_of(const double *values, uint32_t count, uint32_t first, uint32_t nr_part,
		       int within, double *room)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < count; i++)
		if ((i - first < nr_part) == within)
			room[nr++] = values[i];
	return robust_mean(room, nr);
}

/* Returns how many times as much as independent values the values' means of blocks vary. */
static double lasting_of(const double *values, uint32_t count)
{
	double most = 1, squares = 0;

	for (uint32_t i = 0; i < count; i++)
		squares += values[i] * values[i] / count;
	for (uint32_t block = 2; block <= BLOCK_MAX && count / block >= 8; block *= 2) {
		double sum_squares = 0;

		for (uint32_t i = 0; i + block <= count; i += block) {
			double sum = 0;

			for (uint32_t j = 0; j < block; j++)
				sum += values[i + j];
			sum_squares += sum * sum;
		}
		most = fmax(most, sum_squares / (count / block * block) / squares);
	}
	return most;
}

double level_shift_z(const double *values, uint32_t count, uint32_t first, uint32_t nr_part,
		     double *room)
{
	double *smoothed = room, *noise = room + count, *work = room + 2ul * count;

	if (count < LEVEL_SHIFT_FEWEST || !nr_part || nr_part >= count)
		return -1;
	smooth(values, count, smoothed);
	const double outside = level_of(smoothed, count, first, nr_part, 0, work);
	const double shift = level_of(smoothed, count, first, nr_part, 1, work) - outside;
	for (uint32_t i = 0; i < count; i++)
		noise[i] = smoothed[i] - outside - (i - first < nr_part ? shift : 0);
	struct lasting_noise pairs = {0};
	lasting_noise_add(&pairs, noise, count, 0);
	const double alike = fmax(lasting_noise_alike(&pairs, 2, count), 0);
	/* y(t) - r y(t - 1) = level (1 - r) + shift (in(t) - r in(t - 1)) + independent noise: least squares. */
	double sx = 0, sxx = 0, sy = 0, sxy = 0;
	const uint32_t n = count - 1;
	for (uint32_t i = 1; i < count; i++) {
		const double x = (i - first < nr_part) - alike * (i - 1 - first < nr_part);
		const double y = smoothed[i] - alike * smoothed[i - 1];

		sx += x;
		sxx += x * x;
		sy += y;
		sxy += x * y;
	}
	const double spread_x = sxx - sx * sx / n;
	if (spread_x <= 0)
		return -1;
	const double slope = (sxy - sx * sy / n) / spread_x, mean = (sy - slope * sx) / n;
	double squares = 0;
	for (uint32_t i = 1; i < count; i++) {
		const double x = (i - first < nr_part) - alike * (i - 1 - first < nr_part);

		work[i - 1] = smoothed[i] - alike * smoothed[i - 1] - mean - slope * x;
		squares += work[i - 1] * work[i - 1];
	}
	if (squares <= 0)
		return slope > 0 ? INFINITY : 0;
	const double error = sqrt(squares / (n - 2) * lasting_of(work, n) / spread_x);
	return slope / error;
}
