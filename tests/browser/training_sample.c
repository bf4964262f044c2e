#include "training_sample.h"

#include <string.h>

/* One activity of every rank: times differ by rank so that the ranks can be told apart. */
struct activity {
	const char *path[8];
	uint32_t kind, stream_id;
	const char *name;
	uint64_t count, ns, bytes;
};

static const struct activity activities[] = {
	{{"train.py:train_step:41", "model.py:forward:120", "at::native::addmm(at::Tensor const&)",
	  "cublasGemmEx", "cudaLaunchKernelExC"},
	 REPORT_KIND_KERNEL,
	 7,
	 "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64",
	 4800,
	 912345678,
	 0},
	{{"train.py:train_step:41", "model.py:forward:120", "attention.py:flash_attention:77",
	  "flash::mha_fwd(at::Tensor&, at::Tensor const&)", "cudaLaunchKernel"},
	 REPORT_KIND_KERNEL,
	 7,
	 "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Flash_fwd_params)",
	 2400,
	 544332211,
	 0},
	{{"train.py:train_step:41", "model.py:forward:120", "norm.py:rms_norm:19",
	  "at::native::vectorized_layer_norm", "cudaLaunchKernel"},
	 REPORT_KIND_KERNEL,
	 7,
	 "void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)",
	 4800,
	 88112233,
	 0},
	{{"train.py:train_step:41", "torch::autograd::Engine::thread_main(ReadyQueue const&)",
	  "torch::autograd::AddmmBackward0::apply(variable_list&&)", "cublasGemmEx",
	  "cudaLaunchKernelExC"},
	 REPORT_KIND_KERNEL,
	 7,
	 "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64",
	 9600,
	 1512345987,
	 0},
	{{"train.py:train_step:41", "torch::autograd::Engine::thread_main(ReadyQueue const&)",
	  "flash::mha_bwd(at::Tensor&, at::Tensor const&)", "cudaLaunchKernel"},
	 REPORT_KIND_KERNEL,
	 7,
	 "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<128, 64, 128, "
	 "8>(Flash_bwd_params)",
	 2400,
	 1011223344,
	 0},
	{{"train.py:train_step:41", "torch::autograd::Engine::thread_main(ReadyQueue const&)",
	  "c10d::Reducer::mark_bucket_ready(unsigned long)", "ncclAllReduce",
	  "cudaLaunchKernelExC"},
	 REPORT_KIND_KERNEL,
	 13,
	 "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	 300,
	 633445566,
	 0},
	{{"train.py:train_step:41", "optimizer.py:step:210",
	  "at::native::fused_adamw(at::TensorList)", "cudaLaunchKernel"},
	 REPORT_KIND_KERNEL,
	 7,
	 "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>(...)",
	 1200,
	 212121212,
	 0},
	{{"train.py:train_step:41", "optimizer.py:zero_grad:33", "cudaMemsetAsync"},
	 REPORT_KIND_MEMSET,
	 7,
	 "",
	 1200,
	 15151515,
	 UINT64_C(9663676416)},
	{{"train.py:next_batch:19", "loader.py:__next__:55", "at::native::copy_(at::Tensor&)",
	  "cudaMemcpyAsync"},
	 REPORT_KIND_MEMCPY,
	 14,
	 "HtoD",
	 600,
	 77665544,
	 UINT64_C(5033164800)},
	{{"train.py:log_loss:97", "at::native::item(at::Tensor const&)", "cudaMemcpyAsync"},
	 REPORT_KIND_MEMCPY,
	 7,
	 "DtoH",
	 300,
	 1234567,
	 1200},
	{{"train.py:train_step:41", "cudaGraphLaunch", "[captured at]", "model.py:warm_up:201",
	  "cudaLaunchKernel"},
	 REPORT_KIND_KERNEL,
	 7,
	 "triton_poi_fused_add_mul_silu_3",
	 600,
	 45454545,
	 0},
	{{"[unknown stack]"}, REPORT_KIND_KERNEL, 7, "elementwise_kernel", 12, 3334444, 0},
};

void training_sample(struct sample *sample)
{
	struct report_tree *tree = &sample->tree;

	tree->title = "llm-pretrain, job 48213";
	sample->options.subtitle = "4 ranks on 2 nodes";
	for (int32_t rank = 0; rank < 4; rank++) {
		const char *host = rank < 2 ? "node01" : "node02";

		sample_add_process(sample, host, "python3 train.py --config 7b.yaml",
				   4100u + (uint32_t)rank, rank, 0);
		for (size_t i = 0; i < sizeof(activities) / sizeof(activities[0]); i++) {
			const struct activity *activity = &activities[i];
			uint32_t node = REPORT_NODE_ROOT;

			if (activity->path[0][0] != '[')
				node = sample_add_node(
					sample,
					sample_add_node(sample, node, "train.py:<module>:132"),
					"train.py:main:108");
			for (size_t depth = 0; depth < 8 && activity->path[depth]; depth++)
				node = sample_add_node(sample, node, activity->path[depth]);
			sample_add_leaf(
				sample,
				(struct report_leaf){
					.node = node,
					.name = sample_leaf_name(sample, rank % 2, activity->kind,
								 activity->name),
					.host = sample_add_string(sample, host),
					.process = (uint32_t)rank,
					.rank = rank,
					.gpu = rank % 2,
					.context_id = 1,
					.stream_id = activity->stream_id,
					.tid = 4100u + (uint32_t)rank + (i == 3 || i == 4 ? 40 : 0),
					.kind = activity->kind,
					.count = activity->count + (uint64_t)rank,
					.ns = activity->ns + activity->ns / 64 * (uint64_t)rank,
					.bytes = activity->bytes,
				});
		}
	}
	/* C++ is PyTorch's, and cuBLAS a framework of its own. Names of kernels are no frames. */
	uint32_t torch = sample_add_string(sample, "[torch]"),
		 cublas = sample_add_string(sample, "[libcublas]");
	for (uint32_t node = 1; node < tree->nr_nodes; node++) {
		uint32_t name = sample->nodes[node].name;

		if (strstr(sample->strings[name], "::"))
			sample->frameworks[name] = torch;
		else if (strncmp(sample->strings[name], "cublas", strlen("cublas")) == 0)
			sample->frameworks[name] = cublas;
	}
	tree->frameworks = sample->frameworks;
	tree->matched = tree->kernels + tree->copies - 48;
	tree->launches = tree->matched;
}
