#include "job_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/roster.h"
#include "report/findings/findings.h"
#include "report/straggler/report_straggler.h"

#define GPUS_PER_NODE 8
#define LATE_RANK     5
#define NR_WORK       (sizeof(activities) / sizeof(activities[0]))

#define TOP      "train.py:<module>:212", "train.py:main:187", "train.py:train:141"
#define STEP     TOP, "train.py:train_step:88"
#define FORWARD  STEP, "llama.py:forward:301", "llama.py:forward:214"
#define BACKWARD STEP, "torch::autograd::Engine::thread_main(std::shared_ptr<ReadyQueue> const&)"
#define LAUNCH   "cudaLaunchKernelExC"

/* What each rank does, and how it was launched. */
static const struct activity {
	const char *path[12];
	const char *name;
	uint32_t kind, count, grid, block, registers, shared_bytes;
	uint64_t ns, bytes;
} activities[] = {
	{{FORWARD, "llama.py:attention:118", "at::native::linear(at::Tensor const&)",
	  "cublasLtMatmul", LAUNCH},
	 "nvjet_tst_128x128_64x6_2x1_v_bz_coopA_NNT",
	 REPORT_KIND_KERNEL,
	 15360,
	 264,
	 384,
	 168,
	 229376,
	 20700000000,
	 0},
	{{FORWARD, "llama.py:mlp:160", "at::native::linear(at::Tensor const&)", "cublasLtMatmul",
	  LAUNCH},
	 "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT",
	 REPORT_KIND_KERNEL,
	 15360,
	 528,
	 384,
	 168,
	 229376,
	 15200000000,
	 0},
	{{FORWARD, "llama.py:attention:131", "flash::mha_fwd(at::Tensor&, at::Tensor const&)",
	  "cudaLaunchKernel"},
	 "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
	 "cutlass::bfloat16_t, "
	 "Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>>, false, true, false, false, "
	 "true, true>(Flash_fwd_params)",
	 REPORT_KIND_KERNEL,
	 7680,
	 1024,
	 128,
	 255,
	 65536,
	 8100000000,
	 0},
	{{FORWARD, "llama.py:rms_norm:31", "at::native::rms_norm(at::Tensor const&)",
	  "cudaLaunchKernel"},
	 "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, "
	 "float, true>(int, float, "
	 "c10::BFloat16 const*, c10::BFloat16*)",
	 REPORT_KIND_KERNEL,
	 15360,
	 8192,
	 128,
	 40,
	 2048,
	 1450000000,
	 0},
	{{FORWARD, "llama.py:rotary:58", "at::native::mul(at::Tensor const&, at::Tensor const&)",
	  "cudaLaunchKernel"},
	 "void at::native::vectorized_elementwise_kernel<4, "
	 "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
	 "c10::BFloat16, at::native::binary_internal::MulFunctor<float>>, std::array<char*, "
	 "3ul>>(int, float)",
	 REPORT_KIND_KERNEL,
	 30720,
	 4096,
	 128,
	 32,
	 0,
	 1900000000,
	 0},
	{{FORWARD, "llama.py:mlp:162", "at::native::silu(at::Tensor const&)", "cudaLaunchKernel"},
	 "triton_poi_fused_mul_silu_3",
	 REPORT_KIND_KERNEL,
	 7680,
	 8192,
	 256,
	 255,
	 0,
	 16200000000,
	 0},
	{{BACKWARD, "torch::autograd::LinearBackward0::apply(variable_list&&)", "cublasLtMatmul",
	  LAUNCH},
	 "nvjet_tst_128x256_64x4_2x1_v_bz_coopB_NTT",
	 REPORT_KIND_KERNEL,
	 30720,
	 528,
	 384,
	 168,
	 229376,
	 31200000000,
	 0},
	{{BACKWARD, "flash::mha_bwd(at::Tensor&, at::Tensor const&)", "cudaLaunchKernel"},
	 "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, "
	 "64, 128, 8, 2, 4, 2, false, "
	 "false, cutlass::bfloat16_t>, false, true>(Flash_bwd_params)",
	 REPORT_KIND_KERNEL,
	 7680,
	 512,
	 256,
	 255,
	 147456,
	 13900000000,
	 0},
	{{BACKWARD, "c10d::Reducer::mark_bucket_ready(unsigned long)", "ncclReduceScatter", LAUNCH,
	  "[moves data]"},
	 "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	 REPORT_KIND_KERNEL,
	 1920,
	 24,
	 640,
	 96,
	 82240,
	 6100000000,
	 0},
	{{BACKWARD, "c10d::Reducer::mark_bucket_ready(unsigned long)", "ncclReduceScatter", LAUNCH,
	  "[waits for rank 5]"},
	 "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	 REPORT_KIND_KERNEL,
	 1920,
	 24,
	 640,
	 96,
	 82240,
	 700000000,
	 0},
	{{STEP, "fsdp.py:unshard:77", "ncclAllGather", LAUNCH, "[moves data]"},
	 "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	 REPORT_KIND_KERNEL,
	 3840,
	 24,
	 640,
	 96,
	 82240,
	 4700000000,
	 0},
	{{STEP, "optim.py:step:54", "at::native::_fused_adamw_(at::TensorList)",
	  "cudaLaunchKernel"},
	 "void at::native::(anonymous "
	 "namespace)::multi_tensor_apply_kernel<at::native::FusedOptimizerTensorListMetadata<4>, "
	 "at::native::FusedAdamMathFunctor<float, 4, (ADAM_MODE)1, false>>(int)",
	 REPORT_KIND_KERNEL,
	 960,
	 320,
	 512,
	 64,
	 0,
	 2200000000,
	 0},
	{{STEP, "loss.py:cross_entropy:22", "at::native::log_softmax(at::Tensor const&)",
	  "cudaLaunchKernel"},
	 "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, "
	 "float>(float*, int)",
	 REPORT_KIND_KERNEL,
	 480,
	 4096,
	 1024,
	 40,
	 4096,
	 860000000,
	 0},
	{{TOP, "loader.py:__next__:41", "at::native::copy_(at::Tensor&)", "cudaMemcpy"},
	 "HtoD",
	 REPORT_KIND_MEMCPY,
	 960,
	 0,
	 0,
	 0,
	 0,
	 3100000000,
	 8053063680},
	{{TOP, "train.py:log:163", "at::native::item(at::Tensor const&)", "cudaMemcpyAsync"},
	 "DtoH",
	 REPORT_KIND_MEMCPY,
	 480,
	 0,
	 0,
	 0,
	 0,
	 2100000,
	 1920},
	{{STEP, "optim.py:zero_grad:90", "cudaMemsetAsync"},
	 "",
	 REPORT_KIND_MEMSET,
	 960,
	 0,
	 0,
	 0,
	 0,
	 190000000,
	 16106127360},
	{{STEP, "llama.py:forward:296", "cudaGraphLaunch", "[captured at]", "llama.py:embed:77",
	  "cudaLaunchKernel"},
	 "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, "
	 "unsigned int, 2, 2, -2, true>(int)",
	 REPORT_KIND_KERNEL,
	 480,
	 1056,
	 128,
	 30,
	 0,
	 240000000,
	 0},
};

static uint64_t time_of(const struct activity *work, int32_t rank, int32_t nr_ranks)
{
	/* Some percent of noise, and the late rank. */
	uint64_t ns = work->ns / 1000 * (995 + (uint64_t)(rank * 7919 % 11));

	if (nr_ranks <= LATE_RANK)
		return ns;
	if (strncmp(work->name, "nvjet", 5) == 0 && rank == LATE_RANK)
		return ns / 100 * 115;
	for (size_t depth = 0; depth < 12 && work->path[depth]; depth++)
		if (strcmp(work->path[depth], "[waits for rank 5]") == 0)
			return rank == LATE_RANK ? ns / 20 : ns * 12;
	return ns;
}

static uint32_t add_path(struct sample *sample, const struct activity *work)
{
	uint32_t node = REPORT_NODE_ROOT;

	for (size_t depth = 0; depth < 12 && work->path[depth]; depth++)
		node = sample_add_node(sample, node, work->path[depth]);
	return node;
}

static void add_rank(struct sample *sample, int32_t rank, int32_t nr_ranks)
{
	const int32_t gpu = rank % GPUS_PER_NODE;
	char host[32];

	snprintf(host, sizeof(host), "node%02d", rank / GPUS_PER_NODE + 1);
	sample_add_process(sample, host, "python3 train.py --config 70b.yaml",
			   9000u + (uint32_t)rank, rank, 0);
	for (size_t i = 0; i < NR_WORK; i++)
		sample_add_leaf(sample,
				(struct report_leaf){
					.node = add_path(sample, &activities[i]),
					.name = sample_leaf_name(sample, gpu, activities[i].kind,
								 activities[i].name),
					.host = sample_add_string(sample, host),
					.process = (uint32_t)rank,
					.rank = rank,
					.gpu = gpu,
					.context_id = 1,
					.stream_id = strstr(activities[i].name, "nccl") ? 13 : 7,
					.tid = 9000u + (uint32_t)rank,
					.kind = activities[i].kind,
					.count = activities[i].count,
					.ns = time_of(&activities[i], rank, nr_ranks),
					.bytes = activities[i].bytes,
				});
	sample->memory[sample->tree.nr_memory++] =
		(struct report_memory_row){.host = sample_add_string(sample, host),
					   .process = (uint32_t)rank,
					   .pid = 9000u + (uint32_t)rank,
					   .rank = rank,
					   .gpu = gpu,
					   .allocs = 4120,
					   .alloc_bytes = 96ull << 30,
					   .frees = 4000,
					   .free_bytes = 90ull << 30,
					   .live_count = 120,
					   .live_bytes = 6ull << 30,
					   .peak_bytes = (62ull << 30) + ((uint64_t)rank << 24),
					   .peak_after_ns = 12400000000 + (uint64_t)rank * 1000000};
}

static void add_configs(struct report_statistics *statistics, uint32_t nr_ranks)
{
	const struct device_limits limits = {.compute_major = 9,
					     .multiprocessors = 132,
					     .warp_size = 32,
					     .sm_threads = 2048,
					     .sm_blocks = 32,
					     .sm_registers = 65536,
					     .sm_shared_bytes = 233472,
					     .block_threads = 1024,
					     .block_registers = 65536,
					     .block_shared_bytes = 49152,
					     .block_shared_optin_bytes = 232448,
					     .block_reserved_bytes = 1024};

	statistics->configs = calloc(NR_WORK, sizeof(*statistics->configs));
	for (size_t i = 0; i < NR_WORK; i++) {
		struct report_config *config = &statistics->configs[statistics->nr_configs];
		const struct occupancy_launch launch = {
			activities[i].block, activities[i].registers, activities[i].shared_bytes};

		if (activities[i].kind != REPORT_KIND_KERNEL)
			continue;
		*config = (struct report_config){
			.name = activities[i].name,
			.device = "NVIDIA H100 80GB HBM3",
			.limits = limits,
			.shape = {.grid_x = activities[i].grid,
				  .grid_y = 1,
				  .grid_z = 1,
				  .block_x = activities[i].block,
				  .block_y = 1,
				  .block_z = 1,
				  .registers = activities[i].registers,
				  .dynamic_shared_bytes = activities[i].shared_bytes},
			.count = (uint64_t)activities[i].count * nr_ranks,
			.total_ns = activities[i].ns * nr_ranks,
			.min_ns = activities[i].ns / activities[i].count * 9 / 10,
			.max_ns = activities[i].ns / activities[i].count * 6 / 5};
		config->has_occupancy = occupancy_of(&limits, &launch, &config->occupancy) == 0;
		statistics->nr_configs++;
	}
}

static void add_busy(struct report_busy *busy, uint32_t nr_ranks)
{
	busy->rows = calloc(nr_ranks, sizeof(*busy->rows));
	for (; busy->nr_rows < nr_ranks; busy->nr_rows++) {
		static char hosts[MAX_RANKS][32];

		snprintf(hosts[busy->nr_rows], sizeof(hosts[0]), "node%02u",
			 busy->nr_rows / GPUS_PER_NODE + 1);
		busy->rows[busy->nr_rows] = (struct report_busy_row){
			.host = hosts[busy->nr_rows],
			.device_name = "NVIDIA H100 80GB HBM3",
			.gpu = (int32_t)busy->nr_rows % GPUS_PER_NODE,
			.whole_device = 1,
			.nr_parts = 1,
			.stream_name = "",
			.records = 100000,
			.busy_ns = 136000000000,
			.idle_ns = 60000000000 + busy->nr_rows * 10000000ull};
	}
}

/* The idle time of each GPU, in which its rank waits for a batch; 2 s of it are the start. */
static void add_hosts(struct report_tree *tree, const struct report_busy *busy)
{
	enum { ROOT, LOADER, WAIT, NR_NODES };
	static const char *strings[3 + MAX_RANKS] = {"", "train.py:fetch_batch:30",
						     "[Off-CPU]futex"};
	static struct report_node nodes[NR_NODES] = {{.parent = REPORT_NODE_ROOT},
						     {.parent = ROOT, .name = 1},
						     {.parent = LOADER, .name = 2}};
	static struct report_leaf leaves[2 * MAX_RANKS];

	*tree = (struct report_tree){.strings = strings,
				     .nr_strings = 3 + busy->nr_rows,
				     .nodes = nodes,
				     .nr_nodes = NR_NODES,
				     .leaves = leaves,
				     .nr_leaves = 2 * busy->nr_rows};
	for (uint32_t i = 0; i < busy->nr_rows; i++) {
		const uint64_t pause_ns = 2000000000;

		strings[3 + i] = busy->rows[i].host;
		leaves[2 * i] = (struct report_leaf){.node = WAIT,
						     .host = 3 + i,
						     .gpu = busy->rows[i].gpu,
						     .rank = (int32_t)i,
						     .kind = REPORT_KIND_IDLE,
						     .count = 480,
						     .ns = busy->rows[i].idle_ns - pause_ns};
		leaves[2 * i + 1] = leaves[2 * i];
		leaves[2 * i + 1].is_pause = true;
		leaves[2 * i + 1].count = 1;
		leaves[2 * i + 1].ns = pause_ns;
	}
}

static void add_collectives(struct report_collectives *collectives, uint32_t nr_ranks)
{
	static struct report_collective_sum sums[2];
	struct roster *roster = roster_create();
	struct collective_folds *folds = collective_folds_create();

	if (!roster || !folds ||
	    communicator_names_create(&(const struct collection){.roster = roster}, folds,
				      &collectives->communicators) < 0)
		abort();
	sums[0] = (struct report_collective_sum){.key = 0x7f31,
						 .communicator_id = 1,
						 .function = COLLECTIVE_ALL_GATHER,
						 .nr_seen = nr_ranks,
						 .nr_ranks = nr_ranks,
						 .calls = 3840ull * nr_ranks,
						 .bytes = 3840ull * nr_ranks << 24,
						 .total_ns = 88000000ull * nr_ranks,
						 .max_ns = 1200000,
						 .gpu_calls = 3840ull * nr_ranks,
						 .gpu_ns = 4700000000ull * nr_ranks};
	sums[1] = sums[0];
	sums[1].function = COLLECTIVE_REDUCE_SCATTER;
	sums[1].calls = sums[1].gpu_calls = 1920ull * nr_ranks;
	sums[1].gpu_ns = 14500000000ull * nr_ranks;
	collectives->sums = sums;
	collectives->nr_sums = 2;
	collective_folds_destroy(folds);
	roster_destroy(roster);
}

/* The rank that computes longer holds up the others. */
static void add_straggler(struct report_straggler *straggler, uint32_t nr_ranks)
{
	static struct straggler_cause causes[] = {
		{.plane = REPORT_PLANE_GPU,
		 .sort = STRAGGLER_GPU_WORK,
		 .excess_ns = 1230000,
		 .share = 0.94,
		 .function = (char *)"",
		 .what = (char *)"nvjet_tst_128x128_64x6_2x1_v_bz_coopA_NNT",
		 .stack = (char *)"train.py:<module>;llama.py:attention;cublasLtMatmul"}};
	static struct report_straggler_rank rank = {
		.rank = LATE_RANK, .host = "node01", .named = 1, .causes = causes, .nr_causes = 1};
	static struct report_straggler_member member = {.found = {.last = 3801,
								  .ground = STRAGGLER_FREQUENCY,
								  .late_ns = 1310000,
								  .share = 0.048}};
	static struct collective_fold fold = {.collectives = 3840, .complete = 3840, .used = 3840};
	static struct report_straggler_communicator communicator = {
		.fold = &fold, .name = "all ranks", .members = &member};

	fold.nr_members = nr_ranks;
	member.found.others_ns = 4800000000ull * (nr_ranks - 1);
	straggler->communicators = &communicator;
	straggler->nr_communicators = 1;
	straggler->ranks = &rank;
	straggler->nr_ranks = straggler->nr_named = 1;
}

static struct report_busy busy;

static void fill(struct sample *sample, int32_t nr_ranks)
{
	static struct report_straggler straggler;
	static struct report_statistics statistics;
	static struct report_collectives collectives;
	static struct gpu_rows gpus;
	static struct report_tree hosts;
	static const struct report_ranks ranks; /* as of one rank */
	static struct findings *findings;
	static char subtitle[64];

	sample->tree.title = "llama-70b pretrain, job 48213";
	snprintf(subtitle, sizeof(subtitle), "training on %d %s",
		 (nr_ranks + GPUS_PER_NODE - 1) / GPUS_PER_NODE,
		 nr_ranks > GPUS_PER_NODE ? "nodes" : "node");
	sample->options.subtitle = subtitle;
	for (int32_t rank = 0; rank < nr_ranks; rank++)
		add_rank(sample, rank, nr_ranks);
	sample->tree.matched = sample->tree.kernels + sample->tree.copies;
	sample->tree.launches = sample->tree.matched;
	sample->tree.pause_ns = (uint64_t)nr_ranks * 2000000000;
	sample_add_notice(sample, "CPython 3.11.2, PyTorch 2.6.0", (uint32_t)nr_ranks);
	add_configs(&statistics, (uint32_t)nr_ranks);
	add_busy(&busy, (uint32_t)nr_ranks);
	add_collectives(&collectives, (uint32_t)nr_ranks);
	statistics.marked_steps = statistics.least_marked = statistics.all_marked = 480;
	statistics.nr_marking = 1;
	sample->options.statistics = &statistics;
	sample->options.busy = &busy;
	sample->options.collectives = &collectives;
	add_hosts(&hosts, &busy);
	if (gpu_rows_init(&gpus, &busy, NULL) ||
	    findings_create(&(const struct findings_input){.work = &sample->tree,
							   .hosts = &hosts,
							   .gpus = &gpus,
							   .ranks = &ranks,
							   .statistics = &statistics},
			    &findings))
		abort();
	sample->options.findings = findings;
	if (nr_ranks > LATE_RANK) {
		add_straggler(&straggler, (uint32_t)nr_ranks);
		sample->options.straggler = &straggler;
	}
}

void job_sample_1(struct sample *sample)
{
	fill(sample, 1);
}

void job_sample_8(struct sample *sample)
{
	fill(sample, 8);
}

void job_sample_idle(struct sample *sample)
{
	fill(sample, 8);
	busy.rows[2].idle_ns = 276000000000;
}

void job_sample_64(struct sample *sample)
{
	fill(sample, 64);
}

void job_sample_512(struct sample *sample)
{
	fill(sample, 512);
}

/* Against a run before: GEMMs were shorter, copies came to be fewer, and attention had other kernels. */
void job_sample_diff(struct sample *sample)
{
	static struct report_diff_amount before[MAX_LEAVES];
	static struct report_diff diff = {
		.before = before, .label_before = "prof-1203", .label_after = "prof-1207"};

	fill(sample, 8);
	for (uint32_t i = 0; i < sample->tree.nr_leaves; i++) {
		struct report_leaf *leaf = &sample->leaves[i];
		const char *name = sample->strings[leaf->name];

		before[i] = (struct report_diff_amount){leaf->count, leaf->ns, leaf->bytes};
		if (strstr(name, "nvjet"))
			before[i].ns -= leaf->ns / 8;
		else if (strstr(name, "Memcpy"))
			before[i].ns *= 3, before[i].count *= 3;
		else if (strstr(name, "flash_fwd"))
			before[i] = (struct report_diff_amount){0};
		else if (strstr(name, "flash_bwd"))
			leaf->ns = leaf->count = leaf->bytes = 0;
	}
	diff.tree.nr_leaves = sample->tree.nr_leaves;
	sample->options = (struct html_options){.diff = &diff,
						.unit = "step",
						.units = 3840,
						.step = "the run takes 404.200 ms a step instead "
							"of 410.600 ms (-1.56 %): +5.720 ms in "
							"kernels, -12.900 ms in copies, NCCL and "
							"by overlap, +780.000 us idle on the "
							"average GPU",
						.subtitle = "prof-1207 against prof-1203"};
}
