#include "finding_kinds.h"

#include <string.h>

#include "base/text_print.h"
#include "report/digest/host_lines.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u

/* Returns whether cuBLAS and CUTLASS call a matrix product of 32-bit numbers without tensor cores like that. */
static int is_fp32_matmul(const void *context, const struct report_leaf *leaf)
{
	const struct report_tree *tree = context;
	const char *name = tree->strings[leaf->name];

	if (leaf->kind != REPORT_KIND_KERNEL)
		return 0;
	return strstr(name, "_simt_sgemm") || strstr(name, "ampere_sgemm_") ||
	       (strstr(name, "xmma_gemm_f32f32_f32f32_f32") && strstr(name, "_ffma_"));
}

int fp32_matmul_find(const struct findings_input *input, struct findings *findings)
{
	const struct report_tree *tree = input->work;
	char mean[NUMBER_SIZE], number[NUMBER_SIZE];
	struct host_lines lines;
	uint64_t ns, count;

	finding_sum(tree, is_fp32_matmul, tree, &ns, &count);
	const double share = tree->kernel_ns ? (double)ns / (double)tree->kernel_ns : 0;
	if (!count || share < FP32_MATMUL_SHARE)
		return 0;
	int result = host_lines_init_divided(&lines, tree, REPORT_PLANE_GPU, is_fp32_matmul, tree);
	if (result)
		return result;
	struct finding finding = {
		.kind = "fp32_matmul",
		.text = text_print("%.0f %% of kernel time is in matrix products of 32-bit numbers "
				   "without tensor cores",
				   100 * share),
		.evidence = text_print("%s kernels, %s on average%s%s",
				       report_summary_count(count, number),
				       report_summary_time(ns / count, mean),
				       lines.nr_lines ? "; above all from " : "",
				       lines.nr_lines ? lines.lines[0].text : ""),
		.cure = "if the accuracy allows it, TF32 "
			"(torch.set_float32_matmul_precision(\"high\")) or 16-bit numbers "
			"(torch.autocast)",
		.share = share,
		.threshold = FP32_MATMUL_SHARE,
		.ns = ns,
		.plane = REPORT_PLANE_GPU,
		.line = finding_line(&lines),
		.rank = REPORT_RANK_NONE,
		.gpu = REPORT_GPU_NONE,
	};
	host_lines_fini(&lines);
	return finding_add(findings, &finding);
}
