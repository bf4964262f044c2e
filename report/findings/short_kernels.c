#include "finding_kinds.h"

#include <inttypes.h>

#include "base/text_print.h"
#include "report/digest/host_lines.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u

/* A leaf has the kernels of one name under one stack, so their mean is that of equal work. */
static int is_short(const void *context, const struct report_leaf *leaf)
{
	(void)context;
	return leaf->kind == REPORT_KIND_KERNEL && leaf->count &&
	       leaf->ns / leaf->count < SHORT_KERNEL_NS;
}

static double idle_share(const struct findings_input *input)
{
	const uint64_t window_ns = finding_window_ns(input);
	uint64_t idle_ns = 0;

	for (uint32_t i = 0; i < input->gpus->nr_rows; i++)
		idle_ns += input->gpus->rows[i].busy->idle_ns;
	return window_ns ? (double)idle_ns / (double)window_ns : 0;
}

int short_kernels_find(const struct findings_input *input, struct findings *findings)
{
	const struct report_tree *tree = input->work;
	char mean[NUMBER_SIZE], number[NUMBER_SIZE], all[NUMBER_SIZE];
	struct host_lines lines;
	uint64_t ns, count;

	finding_sum(tree, is_short, NULL, &ns, &count);
	const double share = tree->kernel_ns ? (double)ns / (double)tree->kernel_ns : 0;
	const double idle = idle_share(input);
	if (!count || share < SHORT_KERNEL_SHARE || idle < SHORT_KERNEL_IDLE)
		return 0;
	int result = host_lines_init_divided(&lines, tree, REPORT_PLANE_GPU, is_short, NULL);
	if (result)
		return result;
	struct finding finding = {
		.kind = "short_kernels",
		.text = text_print("%.0f %% of kernel time is in kernels under 5 us, and the "
				   "GPUs idle %.0f %%: launch-bound",
				   100 * share, 100 * idle),
		.evidence = text_print("%s of %s kernels, %s on average%s%s",
				       report_summary_count(count, number),
				       report_summary_count(tree->kernels, all),
				       report_summary_time(ns / count, mean),
				       lines.nr_lines ? "; above all from " : "",
				       lines.nr_lines ? lines.lines[0].text : ""),
		.cure = "launch them in CUDA graphs (torch.cuda.graph, torch.compile with "
			"mode=\"reduce-overhead\"), fuse them, or use larger batches",
		.share = share,
		.threshold = SHORT_KERNEL_SHARE,
		.ns = ns,
		.plane = REPORT_PLANE_GPU,
		.line = finding_line(&lines),
		.rank = REPORT_RANK_NONE,
		.gpu = REPORT_GPU_NONE,
	};
	host_lines_fini(&lines);
	return finding_add(findings, &finding);
}
