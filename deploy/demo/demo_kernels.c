#include "demo_kernels.h"

/* Fake CUDA runs no code and reads this comment: a launch lasts uniformly between the two times. */
#define KERNEL(name, fake_min_ns, fake_max_ns, step)                                               \
	"// flamegrid-fake-ns: " fake_min_ns " " fake_max_ns "\n"                                  \
	".visible .entry " name "(.param .u64 data, .param .u32 rounds)\n"                         \
	"{\n"                                                                                      \
	"	.reg .pred %p<2>;\n"                                                                     \
	"	.reg .b32 %r<6>;\n"                                                                      \
	"	.reg .f32 %f<4>;\n"                                                                      \
	"	.reg .b64 %rd<5>;\n"                                                                     \
	"	ld.param.u64 %rd1, [data];\n"                                                            \
	"	ld.param.u32 %r1, [rounds];\n"                                                           \
	"	cvta.to.global.u64 %rd2, %rd1;\n"                                                        \
	"	mov.u32 %r2, %ctaid.x;\n"                                                                \
	"	mov.u32 %r3, %ntid.x;\n"                                                                 \
	"	mov.u32 %r4, %tid.x;\n"                                                                  \
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n"                                                        \
	"	mul.wide.u32 %rd3, %r5, 4;\n"                                                            \
	"	add.s64 %rd4, %rd2, %rd3;\n"                                                             \
	"	ld.global.f32 %f1, [%rd4];\n"                                                            \
	"	mov.f32 %f2, 0f3F7FF972;\n" /* 0.9999 */                                           \
	"	mov.f32 %f3, 0f38D1B717;\n" /* 0.0001 */                                           \
	"again:\n" step "	sub.u32 %r1, %r1, 1;\n"                                                  \
	"	setp.ne.u32 %p1, %r1, 0;\n"                                                              \
	"	@%p1 bra again;\n"                                                                       \
	"	st.global.f32 [%rd4], %f1;\n"                                                            \
	"	ret;\n"                                                                                  \
	"}\n"

#define MULTIPLY "	fma.rn.f32 %f1, %f1, %f2, %f3;\n"
#define EXPONENT                                                                                   \
	"	ex2.approx.f32 %f1, %f1;\n	mul.f32 %f1, %f1, %f2;\n	sub.f32 %f1, "                       \
	"%f1, %f2;\n"
#define RECTIFY "	fma.rn.f32 %f1, %f1, %f2, %f3;\n	max.f32 %f1, %f1, %f3;\n"
#define ROOT                                                                                       \
	"	abs.f32 %f1, %f1;\n	sqrt.approx.f32 %f1, %f1;\n	fma.rn.f32 %f1, %f1, "                   \
	"%f2, %f3;\n"

const char demo_kernels_ptx[] =
	".version 7.0\n.target sm_52\n.address_size 64\n" /* old enough for all newer GPUs */
	KERNEL("demo_embedding_gather", "18000", "26000",
	       MULTIPLY) KERNEL("demo_gemm_bf16", "150000", "210000",
				MULTIPLY) KERNEL("demo_softmax", "40000", "60000", EXPONENT)
		KERNEL("demo_layer_norm", "20000", "28000", ROOT) KERNEL("demo_relu", "9000",
									 "14000", RECTIFY)
			KERNEL("demo_cross_entropy", "25000", "35000", EXPONENT)
				KERNEL("demo_gemm_grad_bf16", "260000", "330000", MULTIPLY)
					KERNEL("demo_reduce_sum", "15000", "22000", RECTIFY)
						KERNEL("demo_adam_update", "60000", "80000", ROOT);

const struct demo_kernel_shape demo_kernel_shapes[DEMO_KERNELS] = {
	[DEMO_EMBEDDING] = {"demo_embedding_gather", 64, 256, 500},
	[DEMO_GEMM] = {"demo_gemm_bf16", 264, 256, 20000},
	[DEMO_SOFTMAX] = {"demo_softmax", 128, 256, 1000},
	[DEMO_LAYER_NORM] = {"demo_layer_norm", 128, 256, 500},
	[DEMO_RELU] = {"demo_relu", 128, 256, 500},
	[DEMO_LOSS] = {"demo_cross_entropy", 32, 256, 700},
	[DEMO_GEMM_GRAD] = {"demo_gemm_grad_bf16", 264, 256, 32000},
	[DEMO_REDUCE] = {"demo_reduce_sum", 64, 256, 800},
	[DEMO_ADAM] = {"demo_adam_update", 264, 256, 2000},
};
