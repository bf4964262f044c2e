#include "energy_confidence.h"

/* Errors as shares of a power, or of energy. */
#define HIGH_ERROR   0.05
#define MEDIUM_ERROR 0.2

/* Of a class less of its time lies apart from other work: then chance alone may tell them apart. */
#define APART_HIGH   0.25
#define APART_MEDIUM 0.05

/* A mean of so many intervals is sure. */
#define HIGH_INTERVALS 3u

static enum energy_confidence lower(enum energy_confidence a, enum energy_confidence b)
{
	return a < b ? a : b;
}

static enum energy_confidence of_error(double error)
{
	return error <= HIGH_ERROR     ? ENERGY_HIGH
	       : error <= MEDIUM_ERROR ? ENERGY_MEDIUM
				       : ENERGY_LOW;
}

enum energy_confidence energy_confidence_idle(const struct energy_device *device)
{
	const struct energy_fit *fit = &device->fit;

	if (device->unfitted && fit->idle != ENERGY_IDLE_MEASURED)
		return ENERGY_LOW;
	if (fit->idle == ENERGY_IDLE_MEASURED)
		return fit->nr_idle >= HIGH_INTERVALS ? ENERGY_HIGH : ENERGY_MEDIUM;
	return fit->idle == ENERGY_IDLE_FITTED ? lower(of_error(fit->residual), ENERGY_MEDIUM)
					       : ENERGY_LOW;
}

static enum energy_confidence of_fit(const struct energy_device *device)
{
	if (device->unfitted)
		return ENERGY_LOW;
	return lower(of_error(device->fit.residual), energy_confidence_idle(device));
}

enum energy_confidence energy_confidence_work(const struct energy_device *device, uint32_t class)
{
	const struct energy_fit *fit = &device->fit;
	const uint32_t mw =
		fit->class_mw[class] > fit->work_mw ? fit->class_mw[class] : fit->work_mw;
	const double apart = fit->apart[class];

	if (fit->error_mw[class] == UINT32_MAX || mw == 0)
		return ENERGY_LOW;
	const enum energy_confidence of_apart = apart >= APART_HIGH     ? ENERGY_HIGH
						: apart >= APART_MEDIUM ? ENERGY_MEDIUM
									: ENERGY_LOW;

	const enum energy_confidence of_number =
		fit->nr_intervals >= fit->nr_classes + HIGH_INTERVALS ? ENERGY_HIGH : ENERGY_MEDIUM;

	return lower(lower(of_fit(device), lower(of_apart, of_number)),
		     of_error((double)fit->error_mw[class] / mw));
}

enum energy_confidence energy_confidence_rest(const struct energy_device *device)
{
	return of_fit(device);
}

const char *energy_confidence_word(enum energy_confidence confidence)
{
	static const char *const words[] = {
		[ENERGY_LOW] = "low", [ENERGY_MEDIUM] = "medium", [ENERGY_HIGH] = "high"};

	return words[confidence];
}
