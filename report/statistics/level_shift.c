#include "level_shift.h"

#include <math.h>
#include <string.h>

#include "lasting_noise.h"
#include "robust.h"

#define BLOCK_MAX 8u /* values */
#define SIDE      3u /* values on each side of one that may be a hiccup */
#define HICCUP    4  /* spreads of steps, from the middle one of the neighbours */
#define NOISE_MAX                                                                                  \
	3 /* spreads: noise beyond counts as that, because a hiccup hides how alike all others are */
#define FREE 4u /* two levels, and two edges that are chosen to fit */

/* Returns the spread of steps from one value to the next. */
static double spread_of_steps(const double *values, uint32_t count, double *room)
{
	for (uint32_t i = 1; i < count; i++)
		room[i - 1] = values[i] - values[i - 1];
	return robust_spread(room, count - 1);
}

/* Takes the middle one of the neighbours for each value that is far off. An edge is not far off: more than half of the
 * values around are on its own side. */
static void leave_out_hiccups(const double *values, uint32_t count, double *cleaned, double *room)
{
	const double most = HICCUP * spread_of_steps(values, count, room);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t from = i < SIDE ? 0 : i - SIDE;

		if (from + 2 * SIDE >= count)
			from = count - 1 - 2 * SIDE;
		memcpy(room, values + from, (2 * SIDE + 1) * sizeof(*room));
		const double middle = robust_median(room, 2 * SIDE + 1);
		cleaned[i] = fabs(values[i] - middle) > most ? middle : values[i];
	}
}

/* Returns how alike neighbours are. */
static double alike_of(double *noise, uint32_t count, double *room)
{
	struct lasting_noise pairs = {0};

	memcpy(room, noise, count * sizeof(*noise));
	const double most = NOISE_MAX * robust_spread(room, count);
	for (uint32_t i = 0; i < count && most > 0; i++)
		noise[i] = fmax(-most, fmin(noise[i], most));
	lasting_noise_add(&pairs, noise, count, 0);
	return fmax(lasting_noise_alike(&pairs, FREE, count), 0);
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
	double *cleaned = room, *noise = room + count, *work = room + 2ul * count;

	if (count < LEVEL_SHIFT_FEWEST || !nr_part || nr_part >= count)
		return -1;
	leave_out_hiccups(values, count, cleaned, work);
	const double outside = level_of(cleaned, count, first, nr_part, 0, work);
	const double shift = level_of(cleaned, count, first, nr_part, 1, work) - outside;
	for (uint32_t i = 0; i < count; i++)
		noise[i] = cleaned[i] - outside - (i - first < nr_part ? shift : 0);
	const double alike = alike_of(noise, count, work);
	/* y(t) - r y(t - 1) = level (1 - r) + shift (in(t) - r in(t - 1)) + independent noise: least squares. */
	double sx = 0, sxx = 0, sy = 0, sxy = 0;
	const uint32_t n = count - 1;
	for (uint32_t i = 1; i < count; i++) {
		const double x = (i - first < nr_part) - alike * (i - 1 - first < nr_part);
		const double y = cleaned[i] - alike * cleaned[i - 1];

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

		work[i - 1] = cleaned[i] - alike * cleaned[i - 1] - mean - slope * x;
		squares += work[i - 1] * work[i - 1];
	}
	if (squares <= 0)
		return slope > 0 ? INFINITY : 0;
	const double error = sqrt(squares / (n - 2) * lasting_of(work, n) / spread_x);
	return slope / error;
}
