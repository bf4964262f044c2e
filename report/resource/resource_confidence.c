#include "resource_confidence.h"

#define NS_PER_S 1e9

/* Errors as shares of a rate, or of an amount. */
#define HIGH_ERROR   0.05
#define MEDIUM_ERROR 0.2

/* Of a class less of its time lies apart from other work: then chance alone may tell them apart. */
#define APART_HIGH   0.25
#define APART_MEDIUM 0.05

/* A mean of so many intervals is sure. */
#define HIGH_INTERVALS 3u

static enum resource_confidence lower(enum resource_confidence a, enum resource_confidence b)
{
	return a < b ? a : b;
}

static enum resource_confidence of_error(double error)
{
	return error <= HIGH_ERROR     ? RESOURCE_HIGH
	       : error <= MEDIUM_ERROR ? RESOURCE_MEDIUM
				       : RESOURCE_LOW;
}

bool resource_confidence_is_above(enum resource resource, double rate)
{
	return resource_unit(resource) == RESOURCE_NS && rate > NS_PER_S * (1 + HIGH_ERROR);
}

enum resource_confidence resource_confidence_idle(const struct resource_usage_device *device,
						  enum resource resource)
{
	const struct resource_usage_sum *of = &device->resources[resource];
	const struct resource_fit *fit = &of->fit;

	if (of->sample_mismatch > RESOURCE_MISMATCH)
		return RESOURCE_LOW;
	if (fit->idle == RESOURCE_IDLE_MEASURED)
		return fit->nr_idle >= HIGH_INTERVALS ? RESOURCE_HIGH : RESOURCE_MEDIUM;
	if (of->unfitted || fit->idle == RESOURCE_IDLE_UNKNOWN)
		return RESOURCE_LOW;
	return lower(of_error(fit->residual), RESOURCE_MEDIUM);
}

static enum resource_confidence of_fit(const struct resource_usage_device *device,
				       enum resource resource)
{
	if (device->resources[resource].unfitted)
		return RESOURCE_LOW;
	return lower(of_error(device->resources[resource].fit.residual),
		     resource_confidence_idle(device, resource));
}

/* Returns what nothing explains, as a share of the amount. */
static double rest_of(const struct resource_usage_device *device, enum resource resource)
{
	const struct resource_usage_sum *of = &device->resources[resource];
	const double s = (double)of->ns / NS_PER_S, amount = (double)of->amount;
	const double little = (double)resource_little(resource) * s;
	double rest = amount - (double)of->fit.idle_rate * s;

	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		rest -= (double)of->fit.class_rate[i] * (double)device->work_ns[i] / NS_PER_S;
	return rest <= 0 ? 0 : rest / (amount > little ? amount : little);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

enum resource_confidence resource_confidence_work(const struct resource_usage_device *device,
						  enum resource resource, uint32_t class)
{
	const struct resource_fit *fit = &device->resources[resource].fit;
	const uint64_t rate =
		larger(larger(fit->class_rate[class], fit->work_rate), resource_little(resource));
	const double apart = fit->apart[class];

	if (fit->error_rate[class] == RESOURCE_RATE_UNKNOWN || rate == 0 ||
	    resource_confidence_is_above(resource, (double)fit->class_rate[class]))
		return RESOURCE_LOW;
	const enum resource_confidence of_apart = apart >= APART_HIGH     ? RESOURCE_HIGH
						  : apart >= APART_MEDIUM ? RESOURCE_MEDIUM
									  : RESOURCE_LOW;

	const enum resource_confidence of_number =
		fit->nr_intervals >= fit->nr_classes + HIGH_INTERVALS ? RESOURCE_HIGH
								      : RESOURCE_MEDIUM;

	return lower(lower(resource_confidence_rest(device, resource), lower(of_apart, of_number)),
		     of_error((double)fit->error_rate[class] / (double)rate));
}

enum resource_confidence resource_confidence_rest(const struct resource_usage_device *device,
						  enum resource resource)
{
	return lower(of_fit(device, resource), of_error(rest_of(device, resource)));
}

const char *resource_confidence_word(enum resource_confidence confidence)
{
	static const char *const words[] = {
		[RESOURCE_LOW] = "low", [RESOURCE_MEDIUM] = "medium", [RESOURCE_HIGH] = "high"};

	return words[confidence];
}
