#include "metrics_config.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/cupti/cupti_abi.h"
#include "inject/cupti/metrics_library.h"

#define OUT_OF_MEMORY 8 /* CUptiResult */

static int open_host(void **host, const struct metrics_library *library, const char *chip,
		     const uint8_t *availability)
{
	struct metrics_host call = {.size = METRICS_ABI_SIZE(struct metrics_host, object),
				    .type = METRICS_ABI_TYPE_RANGE,
				    .chip = chip,
				    .availability = availability};
	int result = library->call[METRICS_HOST_INITIALIZE](&call);

	*host = result == CUPTI_ABI_SUCCESS ? call.object : NULL;
	return result;
}

static void close_host(void *host, const struct metrics_library *library)
{
	struct metrics_call call = {.size = sizeof(call), .object = host};

	if (host)
		library->call[METRICS_HOST_DEINITIALIZE](&call);
}

static int add(void *host, const struct metrics_library *library, const char **names, size_t count)
{
	struct metrics_add call = {
		.size = sizeof(call), .object = host, .names = names, .count = count};

	return library->call[METRICS_HOST_ADD](&call);
}

/* Each metric is tried with a host of its own, since one that is refused leaves the host in a state that nobody
 * describes. */
static int choose(struct metrics_config *config, const struct metrics_library *library,
		  const char *chip, const uint8_t *availability,
		  const struct metric_options *options)
{
	for (uint32_t i = 0; i < options->nr_names; i++) {
		const char *name = options->names[i];
		void *host;
		int result = open_host(&host, library, chip, availability);

		if (result != CUPTI_ABI_SUCCESS)
			return result;
		if (add(host, library, &name, 1) == CUPTI_ABI_SUCCESS)
			config->names[config->nr_names++] = name;
		else
			config->unknown |= 1ull << i;
		close_host(host, library);
	}
	return config->nr_names ? CUPTI_ABI_SUCCESS : CUPTI_ABI_INVALID_PARAMETER;
}

static int make_image(struct metrics_config *config, const struct metrics_library *library)
{
	struct metrics_config_size ask = {.size = sizeof(ask), .object = config->host};
	int result = library->call[METRICS_HOST_CONFIG_SIZE](&ask);

	if (result != CUPTI_ABI_SUCCESS)
		return result;
	config->image = mmap(NULL, ask.image_size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (config->image == MAP_FAILED) {
		config->image = NULL;
		return OUT_OF_MEMORY;
	}
	config->image_size = ask.image_size;
	struct metrics_image get = {.size = sizeof(get),
				    .object = config->host,
				    .image_size = ask.image_size,
				    .image = config->image};
	result = library->call[METRICS_HOST_CONFIG](&get);
	struct metrics_passes passes = {
		.size = sizeof(passes), .image_size = ask.image_size, .image = config->image};
	if (result == CUPTI_ABI_SUCCESS)
		result = library->call[METRICS_HOST_PASSES](&passes);
	config->nr_passes = (uint32_t)passes.passes;
	return result == CUPTI_ABI_SUCCESS && passes.passes == 0 ? CUPTI_ABI_NOT_SUPPORTED : result;
}

int metrics_config_make(struct metrics_config *config, const struct metrics_library *library,
			const char *chip, const uint8_t *availability,
			const struct metric_options *options)
{
	*config = (struct metrics_config){0};
	int result = choose(config, library, chip, availability, options);
	if (result == CUPTI_ABI_SUCCESS)
		result = open_host(&config->host, library, chip, availability);
	if (result == CUPTI_ABI_SUCCESS)
		result = add(config->host, library, config->names, config->nr_names);
	if (result == CUPTI_ABI_SUCCESS)
		result = make_image(config, library);
	if (result != CUPTI_ABI_SUCCESS)
		metrics_config_fini(config, library);
	return result;
}

void metrics_config_fini(struct metrics_config *config, const struct metrics_library *library)
{
	uint64_t unknown = config->unknown;

	close_host(config->host, library);
	if (config->image)
		munmap(config->image, config->image_size);
	*config = (struct metrics_config){.unknown = unknown};
}

int metrics_config_evaluate(const struct metrics_config *config,
			    const struct metrics_library *library, const uint8_t *counters,
			    size_t counters_size, uint32_t range,
			    double values[static METRIC_OPTIONS_MAX])
{
	struct metrics_evaluate call = {
		.size = METRICS_ABI_SIZE(struct metrics_evaluate, values),
		.object = config->host,
		.counters = counters,
		.counters_size = counters_size,
		.range = range,
		.names = (const char **)config->names,
		.count = config->nr_names,
		.values = values,
	};

	return library->call[METRICS_HOST_EVALUATE](&call);
}
