#include "meter_confidence.h"

#define NS_PER_S 1e9

/* Errors as shares of a rate, or of an amount. */
#define HIGH_ERROR   0.05
#define MEDIUM_ERROR 0.2

/* Of a class less of its time lies apart from other work: then chance alone may tell them apart. */
#define APART_HIGH   0.25
#define APART_MEDIUM 0.05

/* A mean of so many intervals is sure. */
#define HIGH_INTERVALS 3u

static enum meter_confidence lower(enum meter_confidence a, enum meter_confidence b)
{
	return a < b ? a : b;
}

static enum meter_confidence of_error(double error)
{
	return error <= HIGH_ERROR ? METER_HIGH : error <= MEDIUM_ERROR ? METER_MEDIUM : METER_LOW;
}

enum meter_confidence meter_confidence_idle(const struct metered_device *device, enum meter meter)
{
	const struct metered_meter *of = &device->meters[meter];
	const struct meter_fit *fit = &of->fit;

	if (fit->idle == METER_IDLE_MEASURED)
		return fit->nr_idle >= HIGH_INTERVALS ? METER_HIGH : METER_MEDIUM;
	if (of->unfitted || fit->idle == METER_IDLE_UNKNOWN)
		return METER_LOW;
	return lower(of_error(fit->residual), METER_MEDIUM);
}

static enum meter_confidence of_fit(const struct metered_device *device, enum meter meter)
{
	if (device->meters[meter].unfitted)
		return METER_LOW;
	return lower(of_error(device->meters[meter].fit.residual),
		     meter_confidence_idle(device, meter));
}

/* Returns what nothing explains, as a share of the amount. */
static double rest_of(const struct metered_device *device, enum meter meter)
{
	const struct metered_meter *of = &device->meters[meter];
	const double s = (double)of->ns / NS_PER_S, amount = (double)of->amount;
	const double little = (double)meter_little(meter) * s;
	double rest = amount - (double)of->fit.idle_rate * s;

	for (uint32_t i = 0; i < METER_CLASSES; i++)
		rest -= (double)of->fit.class_rate[i] * (double)device->work_ns[i] / NS_PER_S;
	return rest <= 0 ? 0 : rest / (amount > little ? amount : little);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

enum meter_confidence meter_confidence_work(const struct metered_device *device, enum meter meter,
					    uint32_t class)
{
	const struct meter_fit *fit = &device->meters[meter].fit;
	const uint64_t rate =
		larger(larger(fit->class_rate[class], fit->work_rate), meter_little(meter));
	const double apart = fit->apart[class];

	if (fit->error_rate[class] == METER_RATE_UNKNOWN || rate == 0)
		return METER_LOW;
	const enum meter_confidence of_apart = apart >= APART_HIGH     ? METER_HIGH
					       : apart >= APART_MEDIUM ? METER_MEDIUM
								       : METER_LOW;

	const enum meter_confidence of_number =
		fit->nr_intervals >= fit->nr_classes + HIGH_INTERVALS ? METER_HIGH : METER_MEDIUM;

	return lower(lower(meter_confidence_rest(device, meter), lower(of_apart, of_number)),
		     of_error((double)fit->error_rate[class] / (double)rate));
}

enum meter_confidence meter_confidence_rest(const struct metered_device *device, enum meter meter)
{
	return lower(of_fit(device, meter), of_error(rest_of(device, meter)));
}

const char *meter_confidence_word(enum meter_confidence confidence)
{
	static const char *const words[] = {
		[METER_LOW] = "low", [METER_MEDIUM] = "medium", [METER_HIGH] = "high"};

	return words[confidence];
}
