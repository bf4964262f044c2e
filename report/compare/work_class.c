#include "work_class.h"

#include <stddef.h>
#include <string.h>

#include "report/model/report_kind.h"

/* The first part that is found decides, so parts that others contain stand before them. */
static const struct {
	const char *part;
	enum work_class work_class;
} parts[] = {
	{"nccl", WORK_CLASS_NCCL},
	{"flash", WORK_CLASS_ATTENTION},
	{"fmha", WORK_CLASS_ATTENTION},
	{"attention", WORK_CLASS_ATTENTION},
	{"attn", WORK_CLASS_ATTENTION},
	{"layer_norm", WORK_CLASS_NORMALIZATION},
	{"layernorm", WORK_CLASS_NORMALIZATION},
	{"rms_norm", WORK_CLASS_NORMALIZATION},
	{"rmsnorm", WORK_CLASS_NORMALIZATION},
	{"batch_norm", WORK_CLASS_NORMALIZATION},
	{"batchnorm", WORK_CLASS_NORMALIZATION},
	{"group_norm", WORK_CLASS_NORMALIZATION},
	{"groupnorm", WORK_CLASS_NORMALIZATION},
	{"bn_fw", WORK_CLASS_NORMALIZATION},
	{"bn_bw", WORK_CLASS_NORMALIZATION},
	{"winograd", WORK_CLASS_CONVOLUTION},
	{"wgrad", WORK_CLASS_CONVOLUTION},
	{"dgrad", WORK_CLASS_CONVOLUTION},
	{"fprop", WORK_CLASS_CONVOLUTION},
	{"conv2d", WORK_CLASS_CONVOLUTION},
	{"conv3d", WORK_CLASS_CONVOLUTION},
	{"convolution", WORK_CLASS_CONVOLUTION},
	{"convolve", WORK_CLASS_CONVOLUTION},
	{"splitkreduce", WORK_CLASS_GEMM},
	{"gemm", WORK_CLASS_GEMM},
	{"gemv", WORK_CLASS_GEMM},
	{"matmul", WORK_CLASS_GEMM},
	{"cutlass", WORK_CLASS_GEMM},
	{"cublas", WORK_CLASS_GEMM},
	{"nvjet", WORK_CLASS_GEMM},
	{"xmma", WORK_CLASS_GEMM},
	{"fused_mm", WORK_CLASS_GEMM},
	{"fused_addmm", WORK_CLASS_GEMM},
	{"fused_bmm", WORK_CLASS_GEMM},
	{"softmax", WORK_CLASS_REDUCTION},
	{"reduce", WORK_CLASS_REDUCTION},
	{"reduction", WORK_CLASS_REDUCTION},
	{"triton_per_", WORK_CLASS_REDUCTION},
	{"triton_red_", WORK_CLASS_REDUCTION},
	{"cumsum", WORK_CLASS_REDUCTION},
	{"scan", WORK_CLASS_REDUCTION},
	{"sort", WORK_CLASS_REDUCTION},
	{"topk", WORK_CLASS_REDUCTION},
	{"elementwise", WORK_CLASS_ELEMENTWISE},
	{"triton_poi_", WORK_CLASS_ELEMENTWISE},
	{"multi_tensor", WORK_CLASS_ELEMENTWISE},
	{"embedding", WORK_CLASS_ELEMENTWISE},
	{"index", WORK_CLASS_ELEMENTWISE},
	{"gather", WORK_CLASS_ELEMENTWISE},
	{"scatter", WORK_CLASS_ELEMENTWISE},
	{"dropout", WORK_CLASS_ELEMENTWISE},
	{"catarray", WORK_CLASS_ELEMENTWISE},
	{"fill", WORK_CLASS_ELEMENTWISE},
};

enum work_class work_class_of(uint32_t kind, const char *name)
{
	if (kind == REPORT_KIND_MEMCPY)
		return WORK_CLASS_COPY;
	if (kind == REPORT_KIND_MEMSET)
		return WORK_CLASS_MEMSET;
	if (kind == REPORT_KIND_GRAPH)
		return WORK_CLASS_GRAPH;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strcasestr(name, parts[i].part))
			return parts[i].work_class;
	return WORK_CLASS_OTHER;
}

const char *work_class_name(enum work_class work_class)
{
	static const char *const names[WORK_CLASSES] = {
		[WORK_CLASS_OTHER] = "other",
		[WORK_CLASS_GEMM] = "gemm",
		[WORK_CLASS_ATTENTION] = "attention",
		[WORK_CLASS_CONVOLUTION] = "convolution",
		[WORK_CLASS_NORMALIZATION] = "normalization",
		[WORK_CLASS_REDUCTION] = "reduction",
		[WORK_CLASS_ELEMENTWISE] = "elementwise",
		[WORK_CLASS_NCCL] = "nccl",
		[WORK_CLASS_COPY] = "copy",
		[WORK_CLASS_MEMSET] = "memset",
		[WORK_CLASS_GRAPH] = "graph",
	};

	return work_class < WORK_CLASSES ? names[work_class] : names[WORK_CLASS_OTHER];
}
