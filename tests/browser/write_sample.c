/* Writes one sample page with html_writer and prints, as JSON, the sums that the page must show.
 * The sums are taken from the leaves here, so a browser that agrees has decoded and merged every
 * leaf. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter_sample.h"
#include "job_sample.h"
#include "line_sample.h"
#include "plane_sample.h"
#include "sample.h"
#include "times_sample.h"
#include "training_sample.h"

#include "report/findings/findings.h"
#include "report/names/kernel_class.h"

static const char *const hostile_names[] = {
	"<img src=x onerror=\"window.attacked=1\">",
	"</script><script>window.attacked=1</script>",
	"<!--<script>window.attacked=1//",
	"\"double\" 'single' \\back\\ `tick` ${window.attacked=1}",
	"javascript:window.attacked=1",
	"\xf0\x9f\x94\xa5\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80 hot_kernel \xe6\xa0\xb8",
	"\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7 \xe2\x80\xaegnp.exe",
	"line\xe2\x80\xa8separator\xe2\x80\xa9paragraph",
	"not \xff utf-8 \xc3( \xed\xa0\x80 end",
	"control \x01\x1b[31m tab\there",
	"&lt;b&gt; &amp; @PROFILE@ @SCRIPT@ ]]>",
	"__proto__",
	"constructor",
};

static void fill_hostile(struct sample *sample)
{
	static char long_name[4097];
	uint32_t parent = REPORT_NODE_ROOT;
	const size_t nr_names = sizeof(hostile_names) / sizeof(hostile_names[0]);

	memset(long_name, 'W', sizeof(long_name) - 1);
	sample->tree.title = "</title><script>window.attacked=1</script> <b>&\xff";
	sample->tree.simulated = 1;
	sample->options.subtitle = "<img src=x onerror=window.attacked=1>";
	for (size_t i = 0; i <= nr_names; i++) {
		uint32_t node = sample_add_node(sample, i % 4 ? parent : REPORT_NODE_ROOT,
						i < nr_names ? hostile_names[i] : long_name);

		parent = node;
		sample_add_leaf(sample,
				(struct report_leaf){
					.node = node,
					.name = sample_leaf_name(
						sample, (int32_t)(i % 2) - 1, REPORT_KIND_KERNEL,
						i < nr_names ? hostile_names[i] : "plain"),
					.host = sample_add_string(sample, hostile_names[i % 3]),
					.rank = REPORT_RANK_NONE,
					.gpu = (int32_t)(i % 2) - 1,
					.stream_id = UINT32_MAX,
					.count = 1,
					.ns = 1000 * (i + 1),
				});
	}
	sample_add_process(sample, hostile_names[0], hostile_names[1], 1, REPORT_RANK_NONE, 1);
	sample_add_process(sample, "node02", "python3", 2, 5, 1);
	sample_add_process(sample, "node03", "python3", 3, 6, 0);
	sample_add_loss(sample, "ring_full", 1234, 0);
	sample_add_loss(sample, hostile_names[0], 5, 6789);
	sample_add_loss(sample, "capture_window", 107, 10680000000);
	sample_add_notice(sample, hostile_names[0], 3);
	sample_add_notice(sample, "CPython 3.11.2", 2);
	sample->tree.state = REPORT_INCOMPLETE;
	sample->tree.verdict = "INCOMPLETE: 1 of 2 agents did not say goodbye: <b>node02</b>";
	sample->tree.lost = 1239;
	sample->tree.launches = 20;
	sample->tree.launches_failed = 2;
	sample->tree.matched = 13;
	sample->tree.cost =
		(struct profile_cost){.calls = {64, 64000}, .threads = {1, 6400000}, .metered = 1};
}

static uint32_t next_random(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 33) % below);
}

#define LARGE_NODES 100000u

/* As many nodes as an unusually rich job has, 50,000 leaves, 5,000 names as long as C++ has them.
 */
static void fill_nodes(struct sample *sample, uint32_t nr_nodes)
{
	uint32_t path[64] = {REPORT_NODE_ROOT}, depth = 0,
		 host = sample_add_string(sample, "node01");
	uint64_t random = 1;

	sample->tree.title = "large sample";
	for (uint32_t i = 0; i < 5000; i++) {
		char text[160];

		snprintf(text, sizeof(text),
			 i % 3 ? "ns%u::Layer<%u>::apply(at::Tensor const&, long, bool)"
			       : "module_%u.py:function_%u:12",
			 i / 50, i);
		sample->strings[sample->tree.nr_strings++] = strdup(text);
	}
	while (sample->tree.nr_nodes < nr_nodes) {
		uint32_t node =
			sample_append_node(sample, path[depth], 2 + next_random(&random, 4500));

		if (sample->tree.nr_nodes % 2)
			sample_add_leaf(sample, (struct report_leaf){
							.node = node,
							.name = 4502 + next_random(&random, 500),
							.host = host,
							.rank = (int32_t)next_random(&random, 4),
							.gpu = (int32_t)next_random(&random, 8),
							.stream_id = 7,
							.tid = 1,
							.count = 1 + next_random(&random, 500),
							.ns = 1 + next_random(&random, 20000000)});
		if (depth < 63 && next_random(&random, 100) < 70)
			path[++depth] = node;
		else
			depth -= next_random(&random, depth + 1) / 2;
	}
	sample->tree.matched = sample->tree.kernels;
}

static void fill_large(struct sample *sample)
{
	fill_nodes(sample, LARGE_NODES);
}

static void fill_thousand(struct sample *sample)
{
	fill_nodes(sample, 700);
}

static void fill_fifty_thousand(struct sample *sample)
{
	fill_nodes(sample, 36000);
}

static void fill_million(struct sample *sample)
{
	fill_nodes(sample, MAX_NODES);
}

/* A rank beside others: more of one kernel, less of another, as much of a third. */
static void fill_diff(struct sample *sample)
{
	static const char *const names[] = {"more", "less", "equal"};
	static const uint64_t after[] = {3000, 500, 1000};
	static const struct report_diff_amount before[] = {
		{1, 1000, 0}, {1, 2500, 0}, {1, 1000, 0}};
	static struct report_diff diff = {
		.before = before, .label_before = "median of 7 ranks", .label_after = "rank 5"};

	sample->tree.title = "a difference";
	for (uint32_t i = 0; i < 3; i++) {
		struct report_leaf leaf = sample_kernel_leaf(sample, names[i], after[i]);

		leaf.rank = 5;
		sample_add_leaf(sample, leaf);
	}
	sample->tree.matched = 3;
	diff.tree.nr_leaves = sample->tree.nr_leaves;
	sample->options.diff = &diff;
}

/* Steps of two kinds. */
static void fill_steps(struct sample *sample)
{
	static const char *const steps[] = {"[step] decode", "[step] prefill"};

	sample->tree.title = "an inference server";
	sample->tree.steps = true;
	for (uint32_t i = 0; i < 4; i++) {
		struct report_leaf leaf = sample_kernel_leaf(sample, "gemm", 1000 * (1 + i));

		leaf.step = sample_add_string(sample, steps[i % 2]);
		leaf.tid = i;
		sample_add_leaf(sample, leaf);
	}
	sample->tree.matched = 4;
}

/* Work of a class that a user's rules add, and of one that they extend. */
static void fill_classes(struct sample *sample)
{
	static const char *const names[] = {"moe_topk_gemm", "my_solver", "other_gemm",
					    "my_kernel_of_which_no_rule_says_anything"};
	char *error;

	sample->tree.title = "own classes";
	/* JavaScript would need longer than anybody waits to find that the first pattern does not fit the last name. */
	if (kernel_class_add("attention", "^(([a-z]+_?)+)+!$", &error) < 0 ||
	    kernel_class_add("moe", "^moe_", &error) < 0 ||
	    kernel_class_add("attention", "solver", &error) < 0)
		abort();
	for (uint32_t i = 0; i < 4; i++)
		sample_add_leaf(sample, sample_kernel_leaf(sample, names[i], 1000 * (i + 1)));
	sample->tree.matched = 4;
}

/* Sums that no double holds. */
static void fill_huge(struct sample *sample)
{
	sample->tree.title = "huge numbers";
	for (uint32_t i = 0; i < 3; i++) {
		struct report_leaf leaf = sample_kernel_leaf(sample, "k", (UINT64_C(1) << 61) + 1);

		leaf.tid = i;
		leaf.bytes = UINT64_MAX / 4;
		sample_add_leaf(sample, leaf);
	}
	sample->tree.matched = 3;
}

/* Two measured kernels: one that moves data, and one of which the GPU's peaks are not known. */
static void fill_metrics(struct sample *sample)
{
	static struct report_metric all[] = {
		{"dram__bytes_read.sum", 4, 4000, 500, 1500, 4000},
		{"dram__bytes_write.sum", 4, 2000, 500, 500, 4000},
		{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 4, 60000, 15000, 15000, 4000},
		{"sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained", 4, 80, 20, 20, 4000},
		{"dram__bytes.sum.peak_sustained", 4, 8, 2, 2, 4000},
		{"dram__cycles_elapsed.avg.per_second", 4, 4e9, 1e9, 1e9, 4000},
		{"sm__cycles_elapsed.avg.per_second", 4, 8e9, 2e9, 2e9, 4000},
		{"lts__t_bytes.sum", 1, 3, 3, 3, 10},
	};
	static struct report_metric_row rows[2];
	static struct report_metrics metrics = {
		.rows = rows, .nr_rows = 2, .metrics = all, .nr_metrics = 8};
	struct report_leaf leaf = sample_kernel_leaf(sample, "gemm", 9000);

	sample_add_leaf(sample, leaf);
	const uint32_t call = sample_add_node(sample, leaf.node, "cudaLaunchKernel");
	rows[0] = (struct report_metric_row){call, "gemm", 20, 60000, 4, 1, 4000, 0, 7, false};
	rows[1] = (struct report_metric_row){call, "<b>norm", 5, 300, 1, 3, 30, 7, 1, true};
	sample->tree.metrics = &metrics;
}

static void fill_empty(struct sample *sample)
{
	sample->tree.title = "no GPU work";
	sample->tree.state = REPORT_EMPTY;
	sample->tree.verdict = "NOTHING WAS RECORDED: no process started CUDA";
	sample_add_loss(sample, "launch_without_record", 3, 0);
}

static void print_sum(const struct sample *sample, const char *key, const char *host, int32_t rank,
		      int32_t gpu, const char *in_name)
{
	uint64_t ns = 0, count = 0, bytes = 0;

	for (uint32_t i = 0; i < sample->tree.nr_leaves; i++) {
		const struct report_leaf *leaf = &sample->leaves[i];

		if ((host && strcmp(sample->strings[leaf->host], host) != 0) ||
		    (rank >= 0 && leaf->rank != rank) || (gpu >= 0 && leaf->gpu != gpu) ||
		    (in_name && !strstr(sample->strings[leaf->name], in_name)))
			continue;
		ns += leaf->ns;
		count += leaf->count;
		bytes += leaf->bytes;
	}
	printf("%s\"%s\":{\"time\":\"%" PRIu64 "\",\"count\":\"%" PRIu64 "\",\"bytes\":\"%" PRIu64
	       "\"}",
	       strcmp(key, "all") == 0 ? "" : ",\n", key, ns, count, bytes);
}

static void print_expected(const struct sample *sample)
{
	putchar('{');
	print_sum(sample, "all", NULL, -1, -1, NULL);
	print_sum(sample, "GPU0", NULL, -1, 0, NULL);
	print_sum(sample, "GPU1", NULL, -1, 1, NULL);
	print_sum(sample, "node01", "node01", -1, -1, NULL);
	print_sum(sample, "node02", "node02", -1, -1, NULL);
	print_sum(sample, "rank3", NULL, 3, -1, NULL);
	print_sum(sample, "gemm", NULL, -1, -1, "gemm");
	printf("}\n");
}

static int write_page(const struct sample *sample, const char *path)
{
	FILE *out = fopen(path, "w");
	int error;

	if (!out)
		return -errno;
	error = html_writer_write(out, &sample->tree, &sample->options);
	if (fclose(out) != 0 && error == 0)
		error = -errno;
	return error;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fill)(struct sample *sample);
	} kinds[] = {{"training", training_sample},
		     {"hostile", fill_hostile},
		     {"large", fill_large},
		     {"classes", fill_classes},
		     {"huge", fill_huge},
		     {"planes", plane_sample_all},
		     {"stalls", plane_sample_stalls},
		     {"both_ways", plane_sample_both_ways},
		     {"energy", plane_sample_energy},
		     {"use", plane_sample_use},
		     {"empty", fill_empty},
		     {"metrics", fill_metrics},
		     {"roofline", counter_sample_roofline},
		     {"trainenergy", counter_sample_energy},
		     {"trainuse", counter_sample_use},
		     {"diff", fill_diff},
		     {"million", fill_million},
		     {"job8", job_sample_8},
		     {"idle8", job_sample_idle},
		     {"job64", job_sample_64},
		     {"job512", job_sample_512},
		     {"gpu1", job_sample_1},
		     {"helper", line_sample_helper},
		     {"native", line_sample_native},
		     {"steps", fill_steps},
		     {"times", times_sample_8},
		     {"times8", times_sample_training},
		     {"times512", times_sample_512},
		     {"times1", times_sample_one_step},
		     {"timespart", times_sample_part},
		     {"jobdiff", job_sample_diff},
		     {"thousand", fill_thousand},
		     {"fifty_thousand", fill_fifty_thousand}};
	static struct sample sample;

	if (argc != 3)
		return 2;
	sample.tree.strings = sample.strings;
	sample.tree.nodes = sample.nodes;
	sample.tree.leaves = sample.leaves;
	sample.tree.processes = sample.processes;
	sample.tree.losses = sample.losses;
	sample.tree.notices = sample.notices;
	sample.tree.memory = sample.memory;
	sample.tree.verdict = "nothing lost";
	sample_append_node(&sample, REPORT_NODE_ROOT, sample_add_string(&sample, ""));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		kinds[i].fill(&sample);
		print_expected(&sample);
		return write_page(&sample, argv[2]) == 0 ? 0 : 1;
	}
	return 2;
}
