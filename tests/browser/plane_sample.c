#include "plane_sample.h"

#include "report/findings/findings.h"
#include "report/stalls/stall_agreement.h"

void plane_sample_all(struct sample *sample)
{
	static const struct {
		const char *frame;
		uint32_t kind;
		const char *name;
		uint64_t ns;
	} leaves[] = {{"main", REPORT_KIND_KERNEL, "gemm", 1000},
		      {"main", REPORT_KIND_SYNC, "stream", 7000000},
		      {"[CUPTI]", REPORT_KIND_OVERHEAD, "activity buffer flush", 300},
		      {"[unified memory]", REPORT_KIND_UNIFIED, "migration HtoD", 5000},
		      {"main", REPORT_KIND_MODULE, "cuModuleLoadData", 600},
		      {"main", REPORT_KIND_CPU, "", 50000},
		      {"main", REPORT_KIND_OFF_CPU, "futex", 90000},
		      {"main", REPORT_KIND_CALL, "cuLaunchKernel", 400},
		      {"[unknown]", REPORT_KIND_IDLE, "", 800}};
	static struct finding finding = {
		.kind = "pageable_copies",
		.text = (char *)"copies in main block although they are asynchronous",
		.evidence = (char *)"2 waits, <b>bold</b> by name",
		.cure = "pin the host's memory",
		.threshold = 0.01,
		.plane = REPORT_PLANE_SYNC,
		.line = (char *)"main",
		.rank = REPORT_RANK_NONE,
		.gpu = REPORT_GPU_NONE,
	};
	static const struct findings findings = {.findings = &finding, .nr_findings = 1};

	sample->tree.title = "several planes";
	sample->options.findings = &findings;
	sample->tree.pause_ns = 300;
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
		sample_add_leaf(
			sample,
			(struct report_leaf){
				.node = sample_add_node(sample, REPORT_NODE_ROOT, leaves[i].frame),
				.name = sample_leaf_name(sample, 0, leaves[i].kind, leaves[i].name),
				.host = sample_add_string(sample, "node01"),
				.stream = leaves[i].kind == REPORT_KIND_KERNEL ? 7 : 0,
				.tid = 1,
				.kind = leaves[i].kind,
				.count = 1 + i,
				.ns = leaves[i].ns,
				.bytes = leaves[i].kind == REPORT_KIND_UNIFIED ? 4096 : 0});
	sample->tree.matched = 1;
}

void plane_sample_stalls(struct sample *sample)
{
	static const struct {
		const char *line, *reason;
		uint64_t count, ns;
	} parts[] = {{"hot.cu:17", "\u2248long scoreboard", 30, 700},
		     {"hot.cu:18", "selected", 10, 200},
		     {"[other instructions]", "wait", 5, 99},
		     {"", "not sampled", 0, 1}};

	sample->tree.title = "stalls";
	for (int32_t gpu = 0; gpu < 2; gpu++) {
		struct report_leaf leaf = sample_kernel_leaf(sample, "gemm", 1000);
		const uint32_t host_node = leaf.node;
		const char *kernel = gpu ? "[GPU1_Kernel]gemm" : "[GPU0_Kernel]gemm";

		leaf.gpu = gpu;
		leaf.context_id = 1;
		leaf.name = sample_leaf_name(sample, gpu, REPORT_KIND_KERNEL, "gemm");
		sample_add_leaf(sample, leaf);
		leaf.kind = REPORT_KIND_STALL;
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			leaf.node = sample_add_node(sample, host_node, kernel);
			if (*parts[i].line)
				leaf.node = sample_add_node(sample, leaf.node, parts[i].line);
			leaf.name = sample_leaf_name(sample, gpu, leaf.kind, parts[i].reason);
			leaf.count = parts[i].count;
			leaf.ns = parts[i].ns;
			sample_add_leaf(sample, leaf);
		}
	}
}

void plane_sample_both_ways(struct sample *sample)
{
	static const struct stall_agreement agreement = {.total = {.samples = 90,
								   .exact = 4321,
								   .matched = 4000,
								   .places = 0.222288,
								   .launches = 0.9999999}};

	plane_sample_stalls(sample);
	sample->tree.agreement = &agreement;
}

void plane_sample_energy(struct sample *sample)
{
	static const struct {
		uint32_t kind;
		const char *frame, *name;
		uint64_t ns, mj;
	} leaves[] = {{REPORT_KIND_KERNEL, "main", "hot", 1000, 700000},
		      {REPORT_KIND_KERNEL, "main", "cold", 3000, 80000},
		      {REPORT_KIND_IDLE, NULL, "", 0, 200000},
		      {REPORT_KIND_ENERGY, NULL, "not explained", 0, 20000}};

	sample->tree.title = "energy";
	sample->tree.planes = 1u << REPORT_PLANE_ENERGY;
	sample->tree.plane_totals[REPORT_PLANE_ENERGY].amounts[RESOURCE_ENERGY] = 1000000;
	sample->options.weight = FOLDED_ENERGY;
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
		sample_add_leaf(
			sample,
			(struct report_leaf){
				.node = leaves[i].frame ? sample_add_node(sample, REPORT_NODE_ROOT,
									  leaves[i].frame)
							: REPORT_NODE_ROOT,
				.name = sample_leaf_name(sample, 0, leaves[i].kind, leaves[i].name),
				.host = sample_add_string(sample, "node01"),
				.kind = REPORT_KIND_ENERGY,
				.count = leaves[i].frame ? 1 : 0,
				.ns = leaves[i].ns,
				.resources = RESOURCES_OF_ENERGY,
				.amounts = {leaves[i].mj},
				.confidence = {RESOURCE_MEDIUM}});
}

void plane_sample_use(struct sample *sample)
{
	static const struct {
		uint32_t kind, node;
		const char *name;
		uint64_t count, ns, bytes;
	} leaves[] = {{REPORT_KIND_KERNEL, 1, "copy", 1, 1000, 4096},
		      {REPORT_KIND_USE, 0, "not explained", 0, 0, 4096}};

	sample->tree.title = "use";
	sample->tree.planes = 1u << REPORT_PLANE_USE;
	sample->tree.plane_totals[REPORT_PLANE_USE].amounts[RESOURCE_PCIE] = 8192;
	sample->options.weight = FOLDED_RESOURCE + RESOURCE_PCIE;
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
		sample_add_leaf(
			sample,
			(struct report_leaf){
				.node = leaves[i].node
						? sample_add_node(sample, REPORT_NODE_ROOT, "main")
						: REPORT_NODE_ROOT,
				.name = sample_leaf_name(sample, 0, leaves[i].kind, leaves[i].name),
				.host = sample_add_string(sample, "node01"),
				.kind = REPORT_KIND_USE,
				.count = leaves[i].count,
				.ns = leaves[i].ns,
				.resources = 1u << RESOURCE_PCIE,
				.amounts = {[RESOURCE_PCIE] = leaves[i].bytes},
				.confidence = {[RESOURCE_PCIE] = RESOURCE_HIGH}});
}
