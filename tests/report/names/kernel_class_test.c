#include "report/names/kernel_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_class(const char *kernel, const char *wanted)
{
	assert_string_equal(kernel_class_word(kernel_class_of(kernel)), wanted);
}

static void kernels_of_libraries_have_their_classes(void **state)
{
	(void)state;
	assert_class("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "nccl");
	assert_class("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", "attention");
	assert_class("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "gemm");
	assert_class("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>", "gemm");
	assert_class("nvjet_tst_128x128_64x6_1x2_h_bz_TNT", "gemm");
	assert_class("void cudnn::winograd_nonfused::winogradForwardData4x4", "gemm");
	assert_class("void at::native::reduce_kernel<512, 1>", "reduction");
	assert_class("vectorized_layer_norm_kernel", "reduction");
	assert_class("triton_red_fused_native_layer_norm_0", "reduction");
	assert_class("triton_poi_fused_add_mul_3", "elementwise");
	assert_class("void at::native::vectorized_elementwise_kernel<4>", "elementwise");
	assert_class("void at::native::GammaBetaBackwardCUDAKernel<float>", "reduction");
	assert_class("convert_fp32_to_bf16", "elementwise");
	assert_class("implicit_convolve_sgemm", "gemm");
	assert_class("im2conv", "gemm");
	assert_class("void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>",
		     "elementwise");
	assert_class("void at::native::indexSelectLargeIndex<float, long>(int)", "kernel");
	assert_class("my_kernel", "kernel");
	assert_class("", "kernel");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_libraries_have_their_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
