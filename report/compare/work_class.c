#include "work_class.h"

#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "report/model/report_kind.h"

/* Extended regular expressions in small or capital letters. The first one that fits decides. */
static const char *const patterns[] = {
	[WORK_CLASS_NCCL] = "nccl|rccl|nvshmem",
	[WORK_CLASS_ATTENTION] = "flash|fmha|attention|attn|mha_|sdpa|xqa|paged_kv",
	[WORK_CLASS_GEMM] =
		"gemm|gemv|nvjet|cutlass|xmma|cublas|[hid]mma|matmul|conv|winograd|[wd]grad|"
		"split_?k|triton_mm|_mm_",
	[WORK_CLASS_REDUCTION] =
		"reduc|norm|softmax|entropy|welford|arg(max|min)|scan|triton_(red|per)_|"
		"(sum|mean|var)(_|Ops|<|$)",
	[WORK_CLASS_ELEMENTWISE] =
		"element_?wise|pointwise|triton_poi|vectorized|multi_tensor|adam|fused|silu|gelu|"
		"relu|"
		"dropout|rope|rotary|cast|fill|copy|(^|_)(add|mul|sub|div|axpy|scale|bias)",
};
#define PATTERNS (sizeof(patterns) / sizeof(*patterns))

static pthread_once_t once = PTHREAD_ONCE_INIT;
static regex_t compiled[PATTERNS];
static bool usable[PATTERNS]; /* false: there was no memory for it */

static void compile(void)
{
	for (size_t i = 0; i < PATTERNS; i++)
		usable[i] = regcomp(&compiled[i], patterns[i],
				    REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0;
}

enum work_class work_class_of(uint32_t kind, const char *name)
{
	if (kind == REPORT_KIND_MEMCPY)
		return WORK_CLASS_COPY;
	if (kind == REPORT_KIND_MEMSET)
		return WORK_CLASS_MEMSET;
	if (kind == REPORT_KIND_GRAPH)
		return WORK_CLASS_GRAPH;
	pthread_once(&once, compile);
	for (size_t i = 0; i < PATTERNS; i++)
		if (usable[i] && regexec(&compiled[i], name, 0, NULL, 0) == 0)
			return (enum work_class)i;
	return WORK_CLASS_KERNEL;
}

const char *work_class_name(enum work_class work_class)
{
	static const char *const names[WORK_CLASSES] = {
		[WORK_CLASS_NCCL] = "nccl",
		[WORK_CLASS_ATTENTION] = "attention",
		[WORK_CLASS_GEMM] = "gemm",
		[WORK_CLASS_REDUCTION] = "reduction",
		[WORK_CLASS_ELEMENTWISE] = "elementwise",
		[WORK_CLASS_KERNEL] = "kernel",
		[WORK_CLASS_COPY] = "copy",
		[WORK_CLASS_MEMSET] = "memset",
		[WORK_CLASS_GRAPH] = "graph",
	};

	return names[work_class < WORK_CLASSES ? work_class : WORK_CLASS_KERNEL];
}
