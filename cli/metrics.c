/* The verb `metrics`: what launches can be measured by on a chip, and in how many passes. It asks CUPTI's host part,
 * which needs no GPU. */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/verbs.h"
#include "inject/cupti/cupti_abi.h"
#include "inject/cupti/cupti_host_part.h"
#include "inject/cupti/cupti_search.h"
#include "inject/cupti/metrics_library.h"
#include "inject/metrics/metrics_config.h"
#include "options/option_line.h"
#include "proto/options/metric_options.h"
#include "report/names/text_line.h"

#define CHIPS_SIZE 512 /* of all names */

/* Maps the first libcupti that has the functions. */
static bool open_library(struct metrics_library *library)
{
	struct cupti_search search;

	cupti_search_environment(NULL, 0, NULL, &search);
	for (uint32_t i = 0; i < search.nr_candidates; i++) {
		void *handle = dlopen(search.candidates[i].path, RTLD_NOW | RTLD_LOCAL);

		if (!handle)
			continue;
		metrics_library_resolve(handle, library);
		if (!library->is_whole)
			continue;
		cupti_host_part_map(library->call[METRICS_HOST_INITIALIZE]);
		return true;
	}
	log_error("no libcupti of CUDA 12.6 or later was found (looked at %s)", search.looked);
	return false;
}

/* Returns whether the library has a chip of this name, or cannot tell. Else says which it has. */
static bool knows_chip(const struct metrics_library *library, const char *chip)
{
	struct metrics_chips chips = {.size = sizeof(chips)};
	char names[CHIPS_SIZE] = "";

	if (library->call[METRICS_HOST_CHIPS](&chips) != CUPTI_ABI_SUCCESS || chips.count == 0)
		return true;
	for (size_t i = 0; i < chips.count; i++) {
		if (strcmp(chips.names[i], chip) == 0)
			return true;
		text_line_append(names, sizeof(names), "%s%s", i ? ", " : "", chips.names[i]);
	}
	log_error("there is no chip %s; there are %s", chip, names);
	return false;
}

static int fail(const char *chip, int result)
{
	log_error("%s: CUPTI's error %d: no such chip, or libnvperf_host is not beside libcupti",
		  chip, result);
	return EXIT_FAILED;
}

static int list_chips(const struct metrics_library *library)
{
	struct metrics_chips chips = {.size = sizeof(chips)};
	int result = library->call[METRICS_HOST_CHIPS](&chips);

	if (result != CUPTI_ABI_SUCCESS)
		return fail("--chip", result);
	for (size_t i = 0; i < chips.count; i++)
		puts(chips.names[i]);
	return EXIT_OK;
}

static void list_type(const struct metrics_library *library, void *host, int type)
{
	struct metrics_base base = {
		.size = METRICS_ABI_SIZE(struct metrics_base, count), .object = host, .type = type};

	if (library->call[METRICS_HOST_BASE_METRICS](&base) != CUPTI_ABI_SUCCESS)
		return;
	for (size_t i = 0; i < base.count; i++) {
		struct metrics_properties of = {
			.size = METRICS_ABI_SIZE(struct metrics_properties, type),
			.object = host,
			.name = base.names[i]};
		const bool known = library->call[METRICS_HOST_PROPERTIES](&of) == CUPTI_ABI_SUCCESS;

		printf("%-64s %s\n", base.names[i], known && of.description ? of.description : "");
	}
}

static int list_metrics(const struct metrics_library *library, const char *chip)
{
	struct metrics_host host = {.size = METRICS_ABI_SIZE(struct metrics_host, object),
				    .type = METRICS_ABI_TYPE_RANGE,
				    .chip = chip};
	int result = library->call[METRICS_HOST_INITIALIZE](&host);
	const char *list, *name;

	if (result != CUPTI_ABI_SUCCESS)
		return fail(chip, result);
	for (uint32_t i = 0; (name = metric_options_set(i, &list)) != NULL; i++)
		printf("%-64s %s\n", name, list);
	puts("Names below take an ending, such as .sum, .avg, .min, .max, .avg.per_second or\n"
	     ".avg.pct_of_peak_sustained_elapsed; ratios take .ratio, .pct or .max_rate.");
	for (int type = 0; type < 3; type++)
		list_type(library, host.object, type);
	struct metrics_call end = {.size = sizeof(end), .object = host.object};
	library->call[METRICS_HOST_DEINITIALIZE](&end);
	return EXIT_OK;
}

static int count_passes(const struct metrics_library *library, const char *chip, const char *list)
{
	struct metric_options options = {0};
	struct metrics_config config;

	int result = metric_options_add(&options, list);
	if (result < 0)
		return option_line_refuse(&option_table_metrics, "%s: %s",
					  result == -ENXIO ? options.names[options.nr_names] : list,
					  metric_options_refusal(result));
	result = metrics_config_make(&config, library, chip, NULL, &options);
	for (uint32_t i = 0; i < options.nr_names; i++)
		if (config.unknown >> i & 1)
			log_error("%s has no metric %s (flamegrid metrics --chip %s lists them)",
				  chip, options.names[i], chip);
	if (result != CUPTI_ABI_SUCCESS && !config.unknown)
		return fail(chip, result);
	if (result == CUPTI_ABI_SUCCESS)
		printf("%" PRIu32 " metric%s, %" PRIu32 " %s\n", config.nr_names,
		       config.nr_names == 1 ? "" : "s", config.nr_passes,
		       config.nr_passes == 1 ? "pass" : "passes");
	const bool all = !config.unknown;
	if (result == CUPTI_ABI_SUCCESS)
		metrics_config_fini(&config, library);
	return all ? EXIT_OK : EXIT_FAILED;
}

int verb_metrics(const char *program, int argc, char **argv)
{
	const char *chip = NULL;
	const struct option_target targets[] = {{"chip", .text = &chip, .least = 1}};
	int status = option_line_parse(&option_table_metrics, targets, 1, argc, argv);
	struct metrics_library library;

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	if (argv[optind] && !chip)
		return option_line_refuse(&option_table_metrics,
					  "a list of metrics goes with --chip");
	if (!open_library(&library))
		return EXIT_FAILED;
	if (!chip)
		return list_chips(&library);
	if (!knows_chip(&library, chip))
		return EXIT_FAILED;
	return argv[optind] ? count_passes(&library, chip, argv[optind])
			    : list_metrics(&library, chip);
}
