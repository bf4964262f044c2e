#include "finding_kinds.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_print.h"
#include "report/model/report_summary.h"
#include "report/names/demangle.h"
#include "report/names/kernel_class.h"

#define NUMBER_SIZE 32u
#define LIMITS_SIZE 64u

/* Returns whether few warps are how the kernel is built, or its grid is another's concern (NCCL's channels). */
static bool is_built_so(const char *name)
{
	const enum kernel_class kernel_class = kernel_class_of(name);

	return kernel_class == KERNEL_CLASS_NCCL || kernel_class == KERNEL_CLASS_ATTENTION ||
	       kernel_class == KERNEL_CLASS_GEMM;
}

static double occupancy_part(const struct report_config *config)
{
	return config->occupancy.warps_max
		       ? (double)config->occupancy.warps / (double)config->occupancy.warps_max
		       : 1;
}

static double grid_part(const struct report_config *config)
{
	const double blocks = (double)config->shape.grid_x * (double)config->shape.grid_y *
			      (double)config->shape.grid_z;

	return config->limits.multiprocessors ? blocks / (double)config->limits.multiprocessors : 1;
}

static char *text_of(const struct report_config *config, double share)
{
	char limits[LIMITS_SIZE];
	/* A whole C++ name would fill the line before anything is said of it. */
	char *name = demangle_simplify(config->name), *text = NULL;

	if (name && grid_part(config) < SMALL_GRID)
		text = text_print("%s, %.0f %% of kernel time, uses at most %.0f of the GPU's "
				  "%" PRIu32 " multiprocessors (%.0f %%): its grid is too small",
				  name, 100 * share,
				  grid_part(config) * config->limits.multiprocessors,
				  config->limits.multiprocessors, 100 * grid_part(config));
	else if (name)
		text = text_print("%s, %.0f %% of kernel time, fills at most %.1f %% of a "
				  "multiprocessor's warps: limited by %s",
				  name, 100 * share, 100 * occupancy_part(config),
				  occupancy_limits_text(config->occupancy.limits, limits));
	free(name);
	return text;
}

static bool is_short(const struct report_config *config)
{
	return config->count && config->total_ns / config->count < SHORT_KERNEL_NS;
}

static const char *cure_of(const struct report_config *config)
{
	if (is_short(config))
		return "it takes no longer than its launch: fuse it with its neighbours, or launch "
		       "them in CUDA graphs";
	if (grid_part(config) < SMALL_GRID)
		return "give it more blocks (larger batches, split reductions), or run it beside "
		       "other kernels";
	return "fewer registers or less shared memory a block (__launch_bounds__, smaller tiles)";
}

static int add(const struct report_config *config, double share, struct findings *findings)
{
	const bool by_grid = grid_part(config) < SMALL_GRID;
	char mean[NUMBER_SIZE], count[NUMBER_SIZE];
	struct finding finding = {
		.kind = by_grid ? "small_grid" : "low_occupancy",
		.text = text_of(config, share),
		.evidence = text_print(
			"%s launches of grid %" PRIu32 "x%" PRIu32 "x%" PRIu32 ", block %" PRIu32
			"x%" PRIu32 "x%" PRIu32 ", %" PRIu32 " registers, %s on average",
			report_summary_count(config->count, count), config->shape.grid_x,
			config->shape.grid_y, config->shape.grid_z, config->shape.block_x,
			config->shape.block_y, config->shape.block_z, config->shape.registers,
			report_summary_time(config->count ? config->total_ns / config->count : 0,
					    mean)),
		.cure = cure_of(config),
		.share = by_grid ? grid_part(config) : occupancy_part(config),
		.threshold = by_grid ? SMALL_GRID : LOW_OCCUPANCY,
		.ns = config->total_ns,
		.plane = REPORT_PLANE_GPU,
		.kernel = strdup(config->name),
		.rank = REPORT_RANK_NONE,
		.gpu = REPORT_GPU_NONE,
	};

	return finding_add(findings, &finding);
}

/* Returns whether the kernel is one of those that take no longer than their launches. The cure of that finding is fewer
 * and longer kernels; smaller tiles or more blocks would be the contrary. */
static bool is_told_as_short(const struct report_config *config, const struct findings *findings)
{
	if (!is_short(config))
		return false;
	for (uint32_t i = 0; i < findings->nr_findings; i++)
		if (strcmp(findings->findings[i].kind, "short_kernels") == 0)
			return true;
	return false;
}

int low_occupancy_find(const struct findings_input *input, struct findings *findings)
{
	const struct report_statistics *statistics = input->statistics;
	const uint64_t whole_ns = input->work->kernel_ns;
	int result = 0;

	for (uint32_t i = 0; i < statistics->nr_configs && result == 0; i++) {
		const struct report_config *config = &statistics->configs[i];
		const double share = whole_ns ? (double)config->total_ns / (double)whole_ns : 0;

		if (share < OCCUPANCY_OF_TIME || !config->has_occupancy ||
		    is_built_so(config->name) || is_told_as_short(config, findings) ||
		    (occupancy_part(config) >= LOW_OCCUPANCY && grid_part(config) >= SMALL_GRID))
			continue;
		result = add(config, share, findings);
	}
	return result;
}
