#include "findings_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct findings_run findings_run;

void findings_plant_begin(struct plant *plant)
{
	memset(plant, 0, sizeof(*plant));
	plant->strings[0] = "";
	plant->tree = (struct report_tree){.strings = plant->strings,
					   .nr_strings = 1,
					   .nodes = plant->nodes,
					   .nr_nodes = 1,
					   .leaves = plant->leaves};
}

uint32_t findings_plant_string(struct plant *plant, const char *text)
{
	for (uint32_t i = 0; i < plant->tree.nr_strings; i++)
		if (strcmp(plant->strings[i], text) == 0)
			return i;
	assert_true(plant->tree.nr_strings < FINDINGS_NAMES_MAX);
	plant->strings[plant->tree.nr_strings] = text;
	return plant->tree.nr_strings++;
}

uint32_t findings_plant_node(struct plant *plant, uint32_t parent, const char *name)
{
	assert_true(plant->tree.nr_nodes < FINDINGS_NAMES_MAX);
	plant->nodes[plant->tree.nr_nodes] =
		(struct report_node){parent, findings_plant_string(plant, name)};
	return plant->tree.nr_nodes++;
}

void findings_plant_below(struct plant *plant, uint32_t node, uint32_t kind, const char *line,
			  const char *call, const char *name, int32_t gpu, uint64_t count,
			  uint64_t ns)
{
	struct report_tree *tree = &plant->tree;

	node = findings_plant_node(plant, node, line);
	if (call)
		node = findings_plant_node(plant, node, call);
	assert_true(tree->nr_leaves < FINDINGS_LEAVES_MAX);
	plant->leaves[tree->nr_leaves++] =
		(struct report_leaf){.node = node,
				     .name = findings_plant_string(plant, name),
				     .host = findings_plant_string(plant, "node0"),
				     .gpu = gpu,
				     .rank = gpu,
				     .kind = kind,
				     .is_pause = strcmp(name, "[GPU1_Idle]pause") == 0,
				     .count = count,
				     .ns = ns};
	if (kind == REPORT_KIND_KERNEL) {
		tree->kernels += count;
		tree->kernel_ns += ns;
	} else if (kind == REPORT_KIND_MEMCPY) {
		tree->copies += count;
		tree->copy_ns += ns;
	}
}

void findings_plant_leaf(struct plant *plant, uint32_t kind, const char *line, const char *call,
			 const char *name, int32_t gpu, uint64_t count, uint64_t ns)
{
	findings_plant_below(plant, REPORT_NODE_ROOT, kind, line, call, name, gpu, count, ns);
}

void findings_plant_gpu(uint32_t number, uint64_t busy_ns, uint64_t idle_ns)
{
	findings_run.busy[number] = (struct report_busy_row){.host = "node0",
							     .device_name = "NVIDIA H100",
							     .gpu = (int32_t)number,
							     .whole_device = 1,
							     .busy_ns = busy_ns,
							     .idle_ns = idle_ns};
	findings_run.rows[number] =
		(struct gpu_row){.busy = &findings_run.busy[number], .rank = (int32_t)number};
	findings_run.rank_rows[number] = (struct report_ranks_row){.host = "node0",
								   .gpu = (int32_t)number,
								   .rank = (int32_t)number,
								   .window_ns = busy_ns + idle_ns,
								   .busy_ns = busy_ns};
}

void findings_plant_config(uint32_t i, const char *name, uint64_t total_ns, uint32_t blocks,
			   uint32_t warps)
{
	findings_run.configs[i] = (struct report_config){
		.name = name,
		.device = "NVIDIA H100",
		.shape = {.grid_x = blocks,
			  .grid_y = 1,
			  .grid_z = 1,
			  .block_x = 128,
			  .block_y = 1,
			  .block_z = 1,
			  .registers = 168},
		.limits = {.multiprocessors = 132},
		.count = 100,
		.total_ns = total_ns,
		.has_occupancy = 1,
		.occupancy = {.warps = warps, .warps_max = 64, .limits = OCCUPANCY_REGISTERS},
	};
	findings_run.statistics.nr_configs = i + 1;
}

int findings_set_up(void **state)
{
	(void)state;
	memset(&findings_run, 0, sizeof(findings_run));
	findings_plant_begin(&findings_run.work);
	findings_plant_begin(&findings_run.hosts);
	findings_plant_begin(&findings_run.allocs);
	findings_plant_leaf(&findings_run.work, REPORT_KIND_KERNEL, "train.py:step:12",
			    "cudaLaunchKernel", "[GPU0_Kernel]gemm", 0, 10000, 900 * MS);
	findings_plant_leaf(&findings_run.work, REPORT_KIND_KERNEL, "train.py:step:12",
			    "cudaLaunchKernel", "[GPU1_Kernel]gemm", 1, 10000, 900 * MS);
	/* enough to be seen, too little to be a finding */
	findings_plant_leaf(&findings_run.work, REPORT_KIND_KERNEL, "train.py:log:40",
			    "cudaLaunchKernel", "[GPU0_Kernel]add", 0, 4000, 8 * MS);
	findings_plant_leaf(&findings_run.work, REPORT_KIND_MEMCPY, "train.py:log:41", "cudaMemcpy",
			    "[GPU0_Memcpy]DtoH", 0, 10, 1 * MS);
	findings_plant_leaf(&findings_run.work, REPORT_KIND_MEMCPY, "train.py:load:88",
			    "cudaMemcpyAsync", "[GPU0_Memcpy]HtoD", 0, 1000, 40 * MS);
	findings_plant_gpu(0, 950 * MS, 50 * MS);
	findings_plant_gpu(1, 950 * MS, 50 * MS);
	findings_run.gpus = (struct gpu_rows){.rows = findings_run.rows, .nr_rows = 2};
	findings_run.ranks = (struct report_ranks){.rows = findings_run.rank_rows, .nr_rows = 2};
	findings_run.statistics.configs = findings_run.configs;
	findings_plant_config(0, "gemm", 1800 * MS, 264, 8);
	findings_plant_config(1, "add", 8 * MS, 1, 4);
	findings_run.input = (struct findings_input){.work = &findings_run.work.tree,
						     .ranks = &findings_run.ranks,
						     .gpus = &findings_run.gpus,
						     .statistics = &findings_run.statistics};
	return 0;
}

void findings_assert_none(void)
{
	struct findings *findings;

	assert_int_equal(findings_create(&findings_run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 0);
	findings_destroy(findings);
}

void findings_assert_finding(const char *kind, const char *text, const char *evidence)
{
	struct findings *findings;

	assert_int_equal(findings_create(&findings_run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 1);
	assert_string_equal(findings->findings[0].kind, kind);
	if (text)
		assert_string_equal(findings->findings[0].text, text);
	if (evidence)
		assert_string_equal(findings->findings[0].evidence, evidence);
	assert_true(*findings->findings[0].cure);
	findings_destroy(findings);
}
