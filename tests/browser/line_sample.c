#include "line_sample.h"

struct host_launch {
	const char *path[4];
	uint32_t count, us;
};

static void add_launches(struct sample *sample, const char *root,
			 const struct host_launch *launches, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t node = sample_add_node(sample, REPORT_NODE_ROOT, root);

		for (const char *const *name = launches[i].path; *name; name++)
			node = sample_add_node(sample, node, *name);
		node = sample_add_node(sample, node, "cudaLaunchKernel");
		sample_add_leaf(sample,
				(struct report_leaf){.node = node,
						     .name = sample_leaf_name(
							     sample, 0, REPORT_KIND_KERNEL, "gemm"),
						     .host = sample_add_string(sample, "node01"),
						     .tid = i,
						     .count = launches[i].count,
						     .ns = 1000ul * launches[i].us});
		sample->tree.matched += launches[i].count;
	}
}

void line_sample_helper(struct sample *sample)
{
	static const struct host_launch launches[] = {
		{{"train.py:step:88", "model.py:attention:12", "ops.py:launch:7"}, 1, 15},
		{{"train.py:step:88", "model.py:mlp:30", "ops.py:launch:7"}, 2, 45},
		{{"train.py:warm_up:40", "model.py:mlp:30", "ops.py:launch:7"}, 3, 40},
		{{"train.py:step:88", "model.py:norm:50", "ops.py:to_float:21"}, 4, 20},
		{{"train.py:step:88", "model.py:norm:51"}, 5, 5},
	};

	sample->tree.title = "a helper";
	add_launches(sample, "train.py:main:120", launches, 5);
}

void line_sample_native(struct sample *sample)
{
	static const struct host_launch launches[] = {
		{{"main", "solve", "libsolver.so+0x1a2b"}, 1, 40},
		{{"main", "solve"}, 2, 20},
		{{"main", "exchange(Halo const&)"}, 3, 50},
	};

	sample->tree.title = "a native program";
	add_launches(sample, "[thread start]", launches, 3);
}
