#include "kernel_class.h"

#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* The first pattern that fits decides: add yours in front of what is wider. */
static const struct class
{
	const char *word, *pattern;
} classes[KERNEL_CLASSES] = {
	[KERNEL_CLASS_NCCL] = {"nccl", "nccl|rccl|nvshmem"},
	[KERNEL_CLASS_ATTENTION] = {"attention",
				    "flash|fmha|attention|attn|mha_|sdpa|xqa|paged_kv"},
	[KERNEL_CLASS_GEMM] = {"gemm", "gemm|gemv|nvjet|cutlass|xmma|cublas|[hid]mma|matmul|"
				       "conv([^e]|$)|"
				       "winograd|[wd]grad|split_?k|triton_mm|_mm_"},
	[KERNEL_CLASS_REDUCTION] =
		{"reduction", "reduc|norm|gammabeta|softmax|entropy|welford|arg(max|min)|scan|"
			      "triton_(red|per)_|(sum|mean|var)(_|Ops|<|$)"},
	[KERNEL_CLASS_ELEMENTWISE] =
		{"elementwise",
		 "element_?wise|pointwise|triton_poi|vectorized|multi_tensor|"
		 "adam|fused|silu|gelu|relu|dropout|rope|rotary|cast|convert|fill|copy|"
		 "(^|_)(add|mul|sub|div|axpy|scale|bias)"},
	[KERNEL_CLASS_OTHER] = {"kernel", NULL},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static regex_t compiled[KERNEL_CLASS_OTHER];
static bool usable[KERNEL_CLASS_OTHER]; /* false: there was no memory for it */

static void compile(void)
{
	for (size_t i = 0; i < KERNEL_CLASS_OTHER; i++)
		usable[i] = regcomp(&compiled[i], classes[i].pattern,
				    REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0;
}

enum kernel_class kernel_class_of(const char *name)
{
	pthread_once(&once, compile);
	for (size_t i = 0; i < KERNEL_CLASS_OTHER; i++)
		if (usable[i] && regexec(&compiled[i], name, 0, NULL, 0) == 0)
			return (enum kernel_class)i;
	return KERNEL_CLASS_OTHER;
}

const char *kernel_class_word(enum kernel_class kernel_class)
{
	return classes[kernel_class].word;
}

const char *kernel_class_pattern(enum kernel_class kernel_class)
{
	return classes[kernel_class].pattern;
}
