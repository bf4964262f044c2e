/* What the GPU counts for a list of metrics on a chip, and in how many passes. It needs no GPU and no driver, if the
 * chip's name is known. One thread at a time. Own memory comes from mmap(), but CUPTI's functions allocate. */
#ifndef METRICS_CONFIG_H
#define METRICS_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "proto/options/metric_options.h"

struct metrics_library;

/* Embedded; zeroed memory is none. */
struct metrics_config {
	void *host; /* CUPTI's */
	uint32_t nr_names, nr_passes;
	const char *names[METRIC_OPTIONS_MAX]; /* those that the chip has; borrowed */
	uint64_t
		unknown; /* 1 << number in the options of each metric that the chip does not have */
	uint8_t *image;  /* owns */
	size_t image_size;
};

/* Makes the configuration. availability: CUPTI's image of what the context's counters allow, or NULL. The options are
 * borrowed. Returns a CUptiResult; CUPTI_ABI_INVALID_PARAMETER: the chip is not known, or has none of the metrics. On
 * error it is none. */
int metrics_config_make(struct metrics_config *config, const struct metrics_library *library,
			const char *chip, const uint8_t *availability,
			const struct metric_options *options);
void metrics_config_fini(struct metrics_config *config, const struct metrics_library *library);

/* Turns what was counted in a range into a value for each of config->names. Returns a CUptiResult. */
int metrics_config_evaluate(const struct metrics_config *config,
			    const struct metrics_library *library, const uint8_t *counters,
			    size_t counters_size, uint32_t range,
			    double values[static METRIC_OPTIONS_MAX]);

#endif
