#include "student.h"

#include <math.h>

#define STEPS 200 /* more than a bisection of doubles needs */

/* The continued fraction of the incomplete beta function (Lentz). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), value;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	value = d;
	for (int i = 1; i <= 10000; i++) {
		double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
		double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		value *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		value *= d * c;
		if (fabs(d * c - 1) < 1e-14)
			break;
	}
	return value;
}

/* The regularised incomplete beta function. */
static double beta_part(double a, double b, double x)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double tail(double t, double freedom)
{
	if (isinf(freedom))
		return erfc(t / sqrt(2)) / 2;
	return beta_part(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
}

double student_quantile(double probability, double freedom)
{
	double low = 0, high = 1;

	while (tail(high, freedom) > probability && high < 1e12)
		high *= 2;
	for (int i = 0; i < STEPS && high - low > 1e-12 * high; i++) {
		double middle = (low + high) / 2;

		if (tail(middle, freedom) > probability)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}
