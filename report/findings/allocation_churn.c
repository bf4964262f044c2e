#include "finding_kinds.h"

#include <string.h>

#include "base/text_print.h"
#include "proto/memory_kind.h"
#include "report/digest/host_lines.h"
#include "report/model/report_groups.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u

/* Pools and arrays have allocators of their own. */
static int is_device_alloc(const void *context, const struct report_leaf *leaf)
{
	const struct report_tree *tree = context;

	return leaf->kind == REPORT_KIND_ALLOC &&
	       strcmp(report_groups_activity(tree->strings[leaf->name]), "device") == 0;
}

/* Returns which part of the GPUs' allocations is freed again. */
static double freed_part(const struct report_tree *tree)
{
	uint64_t allocs = 0, frees = 0;

	for (uint32_t i = 0; i < tree->nr_memory; i++) {
		if (tree->memory[i].space != MEMORY_SPACE_DEVICE)
			continue;
		allocs += tree->memory[i].allocs;
		frees += tree->memory[i].frees;
	}
	return allocs ? (double)frees / (double)allocs : 0;
}

int allocation_churn_find(const struct findings_input *input, struct findings *findings)
{
	const struct report_tree *tree = input->allocs;
	char number[NUMBER_SIZE], kernels[NUMBER_SIZE];
	uint64_t count = 0;

	for (uint32_t i = 0; tree && i < tree->nr_leaves; i++)
		if (is_device_alloc(tree, &tree->leaves[i]))
			count += tree->leaves[i].count;
	const double share =
		input->work->kernels ? (double)count / (double)input->work->kernels : 0;
	if (count < ALLOCATIONS_LEAST || share < ALLOCATIONS_KERNELS ||
	    freed_part(tree) < ALLOCATIONS_FREED)
		return 0;
	struct host_lines lines;
	int result = host_lines_init(&lines, tree, REPORT_PLANE_MEMORY, is_device_alloc, tree);
	if (!result)
		result = host_lines_add_callers(&lines, tree, REPORT_PLANE_MEMORY);
	if (result) {
		host_lines_fini(&lines);
		return result;
	}
	uint32_t most = 0; /* allocations take no time, so the lines are not in order */
	for (uint32_t i = 1; i < lines.nr_lines; i++)
		if (lines.lines[i].count > lines.lines[most].count)
			most = i;
	struct finding finding = {
		.kind = "allocation_churn",
		.text = text_print("device memory is allocated and freed in every step%s%s",
				   lines.nr_lines ? ", most in " : "",
				   lines.nr_lines ? lines.lines[most].text : ""),
		.evidence = text_print("%s calls of cudaMalloc beside %s kernels, %.0f %% of them "
				       "freed again",
				       report_summary_count(count, number),
				       report_summary_count(input->work->kernels, kernels),
				       100 * freed_part(tree)),
		.cure = "keep the buffers, or take them from a pool (cudaMallocAsync, PyTorch's "
			"caching allocator): cudaFree waits for the whole device",
		.share = share,
		.threshold = ALLOCATIONS_KERNELS,
		.plane = REPORT_PLANE_MEMORY,
		.line = lines.nr_lines ? strdup(lines.lines[most].text) : NULL,
		.rank = REPORT_RANK_NONE,
		.gpu = REPORT_GPU_NONE,
	};
	host_lines_fini(&lines);
	return finding_add(findings, &finding);
}
