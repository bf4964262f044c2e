#include "noise.h"

#include <math.h>

#include "run_window.h"
#include "student.h"

/* A drift that fills the whole run has shown one value, so to speak. So few are no base for an estimate, and Student's
 * quantile of three degrees of freedom makes it wide. */
#define EFFECTIVE_MIN 4.0

struct noise noise_of_values(const double *values, uint32_t n)
{
	double mean = 0, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		mean += values[i] / n;
	for (uint32_t i = 0; i < n; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return (struct noise){sqrt(sum / (n - 1) / n), n - 1, 0};
}

void noise_side_add(struct noise_side *side, double value)
{
	const double distance = value - side->mean;

	side->mean += distance / ++side->nr;
	side->squares += distance * (value - side->mean);
}

bool noise_of_sides(const struct noise_side *before, const struct noise_side *after,
		    struct noise *noise)
{
	const uint32_t nr = before->nr + after->nr;

	*noise = (struct noise){0};
	if (nr < 4)
		return false;
	noise->freedom = nr - 2;
	noise->deviation = sqrt((before->squares + after->squares) / noise->freedom *
				(1.0 / before->nr + 1.0 / after->nr));
	return true;
}

/* Makes means of batches. Returns their number. */
static uint32_t make_batches(const struct run_window *windows, uint32_t n,
			     double batches[static NOISE_BATCHES])
{
	const uint32_t most = n < NOISE_BATCHES ? n : NOISE_BATCHES;
	double whole = 0, seen = 0, taken = 0, usual = 0;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < n; i++)
		whole += windows[i].usual_ns;
	for (uint32_t i = 0; i < n && whole > 0; i++) {
		taken += windows[i].ns;
		usual += windows[i].usual_ns;
		seen += windows[i].usual_ns;
		if (usual <= 0 || (seen < whole * (nr + 1) / most && i + 1 < n))
			continue;
		batches[nr++] = taken / usual;
		taken = usual = 0;
		if (nr == most)
			break;
	}
	return nr;
}

/* Returns the first-order correlation, corrected for what a mean of few values takes away from it (Marriott and Pope,
 * 1954); 0 if it is negative. */
static double correlation(const double *values, uint32_t n, double mean, double sum)
{
	double products = 0;

	for (uint32_t i = 1; i < n; i++)
		products += (values[i] - mean) * (values[i - 1] - mean);
	double r = sum > 0 ? products / sum : 0;
	r += (1 + 3 * r) / n;
	return r < 0 ? 0 : r > 0.99 ? 0.99 : r;
}

bool noise_of_windows(const struct run_window *windows, uint32_t n, struct noise *noise)
{
	double batches[NOISE_BATCHES], mean = 0, sum = 0;
	const uint32_t nr = make_batches(windows, n, batches);

	*noise = (struct noise){0};
	if (nr < NOISE_BATCHES_MIN)
		return false;
	for (uint32_t i = 0; i < nr; i++)
		mean += batches[i] / nr;
	for (uint32_t i = 0; i < nr; i++) {
		sum += (batches[i] - mean) * (batches[i] - mean);
	}
	const double r = correlation(batches, nr, mean, sum);
	const double effective = nr * (1 - r) / (1 + r);
	*noise = (struct noise){sqrt(sum / (nr - 1) / fmax(effective, 1)) / mean,
				fmax(effective, EFFECTIVE_MIN) - 1, 0};
	return true;
}

struct noise noise_add(struct noise a, struct noise b)
{
	const double x = a.deviation * a.deviation, y = b.deviation * b.deviation;
	struct noise sum = {sqrt(x + y), INFINITY, a.bound + b.bound};

	if (x + y > 0)
		sum.freedom = (x + y) * (x + y) / (x * x / a.freedom + y * y / b.freedom);
	return sum;
}

double noise_width(const struct noise *noise, double probability)
{
	double chance = noise->deviation > 0
				? noise->deviation * student_quantile(probability, noise->freedom)
				: 0;

	return chance + noise->bound;
}
