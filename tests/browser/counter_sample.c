#include "counter_sample.h"

#define ROWS      6u
#define METRICS   7u
#define MEASURED  10u
#define LAUNCHES  400u /* of each */
#define NS_PER_MS 1000000ull

#define DRAM_BYTES_A_CYCLE 1536.0
#define DRAM_CLOCK_HZ      3.125e9
#define TENSOR_A_CYCLE     1081344.0
#define SM_CLOCK_HZ        1.83e9

/* One kernel of a step, launched LAUNCHES times. */
static const struct work {
	const char *line, *name;
	uint64_t launch_us;
	double megabytes, gigaflop;           /* of a launch */
	uint64_t watts;                       /* more than the GPU takes without work */
	uint32_t sm, occupancy, tensor, dram; /* percent */
} works[] = {
	{"train.py:mlp:61", "nvjet_tst_256x128_64x4", 610, 640, 412, 540, 98, 24, 71, 28},
	{"train.py:attention:48", "flash_fwd_kernel", 340, 210, 141, 430, 96, 19, 44, 15},
	{"train.py:norm:33", "vectorized_layer_norm_kernel", 150, 540, 0.9, 290, 93, 78, 0, 78},
	{"train.py:gelu:36", "vectorized_elementwise_kernel", 190, 760, 0.4, 310, 95, 86, 0, 84},
	{"train.py:loss:80", "cunn_SoftMaxForward", 120, 310, 0.6, 220, 81, 62, 0, 55},
	{"train.py:optimizer:92", "multi_tensor_apply_kernel", 260, 980, 0.5, 280, 91, 71, 0, 80},
};

static uint32_t add_line(struct sample *sample, const struct work *work)
{
	const uint32_t root = sample_add_node(sample, REPORT_NODE_ROOT, "train.py:<module>:120");
	const uint32_t step = sample_add_node(sample, root, "train.py:step:101");

	return sample_add_node(sample, step, work->line);
}

static void set_metric(struct report_metric *metric, const char *name, double mean, double ns)
{
	*metric =
		(struct report_metric){name, MEASURED, MEASURED * mean, mean, mean, MEASURED * ns};
}

static void begin(struct sample *sample)
{
	sample->tree.title = "python3 train.py";
	sample_add_process(sample, "node01", "python3 train.py", 4711, -1, 0);
	sample->tree.launches = sample->tree.matched = ROWS * LAUNCHES;
}

void counter_sample_roofline(struct sample *sample)
{
	static struct report_metric all[ROWS * METRICS];
	static struct report_metric_row rows[ROWS];
	static struct report_metrics metrics = {
		.rows = rows, .nr_rows = ROWS, .metrics = all, .nr_metrics = ROWS * METRICS};

	begin(sample);
	for (uint32_t i = 0; i < ROWS; i++) {
		const struct work *work = &works[i];
		struct report_metric *metric = &all[i * METRICS];
		const double ns = (double)work->launch_us * 1000;
		struct report_leaf leaf =
			sample_kernel_leaf(sample, work->name, work->launch_us * LAUNCHES * 1000);

		leaf.node = add_line(sample, work);
		leaf.count = LAUNCHES;
		sample_add_leaf(sample, leaf);
		set_metric(metric++, "dram__bytes_read.sum", work->megabytes * 0.6e6, ns);
		set_metric(metric++, "dram__bytes_write.sum", work->megabytes * 0.4e6, ns);
		set_metric(metric++, "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
			   work->gigaflop * 1e9, ns);
		set_metric(metric++, "sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained",
			   TENSOR_A_CYCLE, ns);
		set_metric(metric++, "dram__bytes.sum.peak_sustained", DRAM_BYTES_A_CYCLE, ns);
		set_metric(metric++, "dram__cycles_elapsed.avg.per_second", DRAM_CLOCK_HZ, ns);
		set_metric(metric++, "sm__cycles_elapsed.avg.per_second", SM_CLOCK_HZ, ns);
		rows[i] = (struct report_metric_row){
			.node = sample_add_node(sample, leaf.node, "cudaLaunchKernel"),
			.kernel = work->name,
			.launches = LAUNCHES,
			.ns = leaf.ns,
			.measured = MEASURED,
			.nr_passes = 1,
			.measured_ns = work->launch_us * 1000 * MEASURED,
			.first = i * METRICS,
			.nr = METRICS,
		};
	}
	sample->tree.metrics = &metrics;
}

/* The totals of GPU work stand above pages of other planes, too. */
static struct report_leaf usage_leaf(struct sample *sample, enum report_kind plane,
				     const struct work *work)
{
	struct report_leaf leaf = {
		.node = add_line(sample, work),
		.name = sample_leaf_name(sample, 0, REPORT_KIND_KERNEL, work->name),
		.host = sample_add_string(sample, "node01"),
		.kind = plane,
		.count = LAUNCHES,
		.ns = work->launch_us * LAUNCHES * 1000,
	};

	sample->tree.kernels += leaf.count;
	sample->tree.kernel_ns += leaf.ns;
	sample->tree.plane_totals[REPORT_PLANE_GPU].count += leaf.count;
	sample->tree.plane_totals[REPORT_PLANE_GPU].ns += leaf.ns;
	return leaf;
}

static void add_rest(struct sample *sample, enum report_kind plane, enum report_kind shown,
		     const char *name, struct report_leaf leaf)
{
	leaf.node = REPORT_NODE_ROOT;
	leaf.name = sample_leaf_name(sample, 0, shown, name);
	leaf.host = sample_add_string(sample, "node01");
	leaf.kind = plane;
	sample_add_leaf(sample, leaf);
}

void counter_sample_energy(struct sample *sample)
{
	uint64_t *sum = &sample->tree.plane_totals[REPORT_PLANE_ENERGY].amounts[RESOURCE_ENERGY];
	struct report_leaf rest = {.resources = RESOURCES_OF_ENERGY};

	begin(sample);
	sample->tree.planes = 1u << REPORT_PLANE_ENERGY;
	sample->options.weight = FOLDED_ENERGY;
	for (uint32_t i = 0; i < ROWS; i++) {
		struct report_leaf leaf = usage_leaf(sample, REPORT_KIND_ENERGY, &works[i]);

		leaf.resources = RESOURCES_OF_ENERGY;
		leaf.amounts[RESOURCE_ENERGY] = leaf.ns / NS_PER_MS * works[i].watts;
		leaf.confidence[RESOURCE_ENERGY] = i < 3 ? RESOURCE_HIGH : RESOURCE_MEDIUM;
		*sum += leaf.amounts[RESOURCE_ENERGY];
		sample_add_leaf(sample, leaf);
	}
	rest.amounts[RESOURCE_ENERGY] = 68000;
	rest.confidence[RESOURCE_ENERGY] = RESOURCE_HIGH;
	add_rest(sample, REPORT_KIND_ENERGY, REPORT_KIND_IDLE, "", rest);
	rest.amounts[RESOURCE_ENERGY] = 4100;
	add_rest(sample, REPORT_KIND_ENERGY, REPORT_KIND_ENERGY, "not explained", rest);
	*sum += 68000 + 4100;
}

void counter_sample_use(struct sample *sample)
{
	uint64_t *sums = sample->tree.plane_totals[REPORT_PLANE_USE].amounts;
	struct report_leaf rest = {.resources = RESOURCES_OF_USE};

	begin(sample);
	sample->tree.planes = 1u << REPORT_PLANE_USE;
	sample->options.weight = FOLDED_RESOURCE + RESOURCE_SM;
	for (uint32_t i = 0; i < ROWS; i++) {
		const struct work *work = &works[i];
		struct report_leaf leaf = usage_leaf(sample, REPORT_KIND_USE, work);

		leaf.resources = RESOURCES_OF_USE;
		leaf.amounts[RESOURCE_SM] = leaf.ns / 100 * work->sm;
		leaf.amounts[RESOURCE_OCCUPANCY] = leaf.ns / 100 * work->occupancy;
		leaf.amounts[RESOURCE_TENSOR] = leaf.ns / 100 * work->tensor;
		leaf.amounts[RESOURCE_DRAM] = leaf.ns * 48 * work->dram; /* of 4,800 bytes a ns */
		for (uint32_t resource = RESOURCE_SM; resource < RESOURCES; resource++) {
			leaf.confidence[resource] = i < 3 ? RESOURCE_HIGH : RESOURCE_MEDIUM;
			sums[resource] += leaf.amounts[resource];
		}
		sample_add_leaf(sample, leaf);
	}
	rest.amounts[RESOURCE_SM] = 9 * NS_PER_MS;
	sums[RESOURCE_SM] += rest.amounts[RESOURCE_SM];
	add_rest(sample, REPORT_KIND_USE, REPORT_KIND_USE, "not explained", rest);
}
