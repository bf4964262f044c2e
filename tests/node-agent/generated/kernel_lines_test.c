#include "node-agent/generated/kernel_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#define GRAPH_BEGIN                                                                                \
	"class GraphModule(torch.nn.Module):\n"                                                    \
	"    def forward(self, primals_1: \"f32[8, 16][16, 1]cuda:0\"):\n"

/* Two equal layers and a loss. The second product comes before the first in the file. */
static const char graph[] = GRAPH_BEGIN
	"        # File: /home/u/model.py:57 in forward, code: x = self.first(x)\n"
	"        permute: \"f32[16, 16]\" = torch.ops.aten.permute.default(primals_2, [1, 0])\n"
	"        mm: \"f32[8, 16]\" = torch.ops.aten.mm.default(primals_1, permute);  permute = "
	"None\n"
	"        # File: /home/u/model.py:58 in forward, code: x = torch.relu(x)\n"
	"        relu: \"f32[8, 16]\" = torch.ops.aten.relu.default(mm)\n"
	"\n"
	"        # File: /home/u/my in dir:1/model.py:60 in loss, code: y = a, code: in b\n"
	"        mm_1: \"f32[8, 16]\" = torch.ops.aten.mm.default(relu, primals_3);  relu = None\n"
	"        add: \"f32[8, 16]\" = torch.ops.aten.add.Tensor(mm_1, 1)\n"
	"        # File: /home/u/model.py:61 in loss, code: y = torch.relu(y)\n"
	"        relu_1: \"f32[8, 16]\" = torch.ops.aten.relu.default(add)\n"
	"        # No stacktrace found for following nodes\n"
	"        clone: \"f32[8, 16]\" = torch.ops.aten.clone.default(relu_1)\n"
	"        return (clone,)\n";

static const char code[] =
	"# AOT ID: ['0_forward']\n"                                                /* 1 */
	"# kernel path: /tmp/torchinductor_u/ab/cab.py\n"                          /* 2 */
	"# Topologically Sorted Source Nodes: [x_1], Original ATen: [aten.relu]\n" /* 3 */
	"# Source node to ATen node mapping:\n"                                    /* 4 */
	"#   x_1 => relu\n"                                                        /* 5 */
	"# Graph fragment:\n"                                                      /* 6 */
	"#   %mm : Tensor \"f32[8, 16]\" = PlaceHolder[target=mm]\n"               /* 7 */
	"#   %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = "
	"(%mm,))\n"                                                                       /* 8 */
	"#   return %relu\n"                                                              /* 9 */
	"triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''\n" /* 10 */
	"# Topologically Sorted Source Nodes: [text], Original ATen: [aten.mm]\n"         /* 11 */
	"triton_poi_fused_relu_0.run(1)\n"                                                /* 12 */
	"''', device_str='cuda')\n"                                                       /* 13 */
	"\n"                                                                              /* 14 */
	"# Unsorted Source Nodes: [y, y_1, ], Original ATen: [aten.add, aten.relu]\n"     /* 15 */
	"# Source node to ATen node mapping:\n"                                           /* 16 */
	"#    => clone\n"                                                                 /* 17 */
	"#   y => add\n"                                                                  /* 18 */
	"#   y_1 => relu_1\n"                                                             /* 19 */
	"# Graph fragment:\n"                                                             /* 20 */
	"#   %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mm_1, "
	"1))\n" /* 21 */
	"#   %relu_1 : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = "
	"(%add,))\n" /* 22 */
	"#   %clone : [num_users=1] = call_function[target=torch.ops.aten.clone.default](args = "
	"(%relu_1,))\n" /* 23 */
	"triton_poi_fused_add_relu_1 = async_compile.triton('triton_poi_fused_add_relu_1', '''\n" /* 24 */
	"''', device_str='cuda')\n"                                                    /* 25 */
	"# Original path: /home/u/own.py:4\n"                                          /* 26 */
	"own_0 = async_compile.triton('own', '''\n"                                    /* 27 */
	"''', device_str='cuda')\n"                                                    /* 28 */
	"    def call(self, args):\n"                                                  /* 29 */
	"        # Topologically Sorted Source Nodes: [y], Original ATen: [aten.mm]\n" /* 30 */
	"        # [Provenance debug handles] extern_kernels.mm:1\n"                   /* 31 */
	"        extern_kernels.mm(buf1, primals_3, out=buf2)\n"                       /* 32 */
	"        del buf1\n"                                                           /* 33 */
	"        # Topologically Sorted Source Nodes: [x], Original ATen: [aten.t, aten.addmm]\n" /* 34 */
	"        # [Provenance debug handles] extern_kernels.mm:2\n"                       /* 35 */
	"        extern_kernels.mm(primals_1, primals_2, out=buf0)\n"                      /* 36 */
	"        # Topologically Sorted Source Nodes: [x_1], Original ATen: [aten.relu]\n" /* 37 */
	"        # [Provenance debug handles] triton_poi_fused_relu_0:3\n"                 /* 38 */
	"        stream0 = get_raw_stream(0)\n"                                            /* 39 */
	"        triton_poi_fused_relu_0.run(buf0, buf1, 128, stream=stream0)\n"           /* 40 */
	"        # Unsorted Source Nodes: [y, y_1, ], Original ATen: [aten.add, aten.relu]\n" /* 41 */
	"        triton_poi_fused_add_relu_1.run(buf2, 128, stream=stream0)\n"             /* 42 */
	"        # Topologically Sorted Source Nodes: [y_1], Original ATen: [aten.relu]\n" /* 43 */
	"        triton_poi_fused_relu_0.run(buf3, 128, stream=stream0)\n"                 /* 44 */
	"        # Topologically Sorted Source Nodes: [z], Original ATen: [aten.relu]\n"   /* 45 */
	"        triton_poi_fused_relu_0.run(buf4, 128, stream=stream0)\n"                 /* 46 */
	"        triton_poi_fused_relu_0.run(buf5, 128, stream=stream0)\n"                 /* 47 */
	"        # Topologically Sorted Source Nodes: [add], Original ATen: [aten.relu]\n" /* 48 */
	"        triton_poi_fused_relu_0.run(buf6, 128, stream=stream0)\n"                 /* 49 */
	"        own_0.run(buf6, 128, stream=stream0)\n"                                   /* 50 */
	"        # Topologically Sorted Source Nodes: [q], Original ATen: [aten.sort]\n"   /* 51 */
	"        buf7 = torch.ops.aten.sort.default(buf6)\n";                              /* 52 */

static const char traces[] =
	"{\"extern_kernels.mm:1\": [\"  File \\\"/home/u/train.py\\\", line 9, in step\\n    "
	"f(x)\\n"
	"  File \\\"/v/site-packages/pkg/layer.py\\\", line 3, in \\u00fcber\\n    y\\n\", "
	"\"  File \\\"/v/site-packages/pkg/layer.py\\\", line 4, in g\\n    z\\n\"], "
	"\"triton_poi_fused_relu_0:3\": []}";

#define LOSS "loss\t/home/u/my in dir:1/model.py:60"

static struct kernel_lines *create(const char *graph_text, const char *trace_text)
{
	struct kernel_lines *lines =
		kernel_lines_create((struct text_span){code, sizeof(code) - 1},
				    (struct text_span){graph_text, strlen(graph_text)},
				    (struct text_span){trace_text, strlen(trace_text)});

	assert_non_null(lines);
	return lines;
}

static void assert_line(const struct kernel_lines *lines, uint32_t line, const char *symbol)
{
	const char *found = kernel_lines_find(lines, line);

	if (symbol) {
		assert_non_null(found);
		assert_string_equal(found, symbol);
	} else {
		assert_null(found);
	}
}

static void fused_kernel_names_all_its_lines(void **state)
{
	struct kernel_lines *lines = create(graph, "");

	(void)state;
	assert_line(lines, 40, "forward\t/home/u/model.py:58");
	assert_line(lines, 42, LOSS "\nloss\t/home/u/model.py:61");
	kernel_lines_destroy(lines);
}

static void calls_of_libraries_are_known_by_their_buffers(void **state)
{
	struct kernel_lines *lines = create(graph, "");

	(void)state;
	assert_line(lines, 32, LOSS);
	assert_line(lines, 36, "forward\t/home/u/model.py:57");
	assert_line(lines, 52, NULL);
	kernel_lines_destroy(lines);
}

static void equal_kernel_has_the_lines_of_its_own_comment(void **state)
{
	struct kernel_lines *lines = create(graph, "");

	(void)state;
	assert_line(lines, 44, "loss\t/home/u/model.py:61");
	kernel_lines_destroy(lines);
}

static void unproven_lines_have_the_mark(void **state)
{
	struct kernel_lines *lines = create(graph, "");

	(void)state;
	assert_line(lines, 46, "forward\t/home/u/model.py:58\n≈");
	assert_line(lines, 49, LOSS "\n≈");
	kernel_lines_destroy(lines);
}

static void lines_without_a_comment_have_none(void **state)
{
	struct kernel_lines *lines = create(graph, "");

	(void)state;
	assert_line(lines, 12, NULL);
	assert_line(lines, 39, NULL);
	assert_line(lines, 47, NULL);
	assert_line(lines, 1u << 31, NULL);
	kernel_lines_destroy(lines);
}

static void kernel_of_the_user_has_its_own_line(void **state)
{
	struct kernel_lines *lines = create("", "");

	(void)state;
	assert_line(lines, 50, "own\t/home/u/own.py:4");
	assert_int_equal(kernel_lines_count(lines), 1);
	kernel_lines_destroy(lines);
}

static void traces_go_before_the_graph(void **state)
{
	struct kernel_lines *lines = create(graph, traces);

	(void)state;
	assert_line(lines, 32, "step\t/home/u/train.py:9\ng\t/v/site-packages/pkg/layer.py:4");
	assert_line(lines, 36, "forward\t/home/u/model.py:57");
	assert_line(lines, 40, "forward\t/home/u/model.py:58");
	kernel_lines_destroy(lines);
}

static void names_in_traces_are_decoded(void **state)
{
	struct kernel_lines *lines =
		create("", "{\"extern_kernels.mm:1\":[\"File \\\"/a\\u0041.py\\\", line 3, in "
			   "\\u00fcb\\u20ac\\ud83d\\tr\\n\"],\"x\":[\"\\u12");

	(void)state;
	assert_line(lines, 32, "üb€??r\t/aA.py:3");
	kernel_lines_destroy(lines);
}

static void more_calls_than_nodes_have_no_lines(void **state)
{
	static const char short_graph[] = GRAPH_BEGIN
		"        # File: /home/u/model.py:57 in forward, code: x\n"
		"        mm: \"f32[8, 16]\" = torch.ops.aten.mm.default(primals_1, permute)\n";
	struct kernel_lines *lines = create(short_graph, "");

	(void)state;
	assert_line(lines, 32, NULL);
	assert_line(lines, 36, NULL);
	kernel_lines_destroy(lines);
}

static void all_lines_have_the_mark_if_graphs_are_nested(void **state)
{
	char nested[sizeof(graph) + 256];
	struct kernel_lines *lines;

	(void)state;
	snprintf(nested, sizeof(nested),
		 "%s    class true_graph_0(torch.nn.Module):\n"
		 "        def forward(self, arg0_1):\n"
		 "            relu_9: \"f32[8]\" = torch.ops.aten.relu.default(arg0_1)\n",
		 graph);
	lines = create(nested, "");
	assert_line(lines, 40, "forward\t/home/u/model.py:58\n≈");
	assert_line(lines, 36, "forward\t/home/u/model.py:57\n≈");
	kernel_lines_destroy(lines);
}

/* The comment says that the first product came from a convolution. */
static void operation_that_the_comment_does_not_name_is_not_proven(void **state)
{
	char other[sizeof(code)];
	char *at;

	(void)state;
	memcpy(other, code, sizeof(code));
	at = strstr(other, "aten.addmm");
	memcpy(at, "aten.convo", strlen("aten.convo"));
	struct kernel_lines *lines =
		kernel_lines_create((struct text_span){other, sizeof(other) - 1},
				    (struct text_span){graph, sizeof(graph) - 1}, TEXT_SPAN_NONE);
	assert_line(lines, 32, LOSS "\n≈");
	assert_line(lines, 36, "forward\t/home/u/model.py:57\n≈");
	kernel_lines_destroy(lines);
}

static void long_lists_are_cut(void **state)
{
	char text[8192] = GRAPH_BEGIN, kernel[8192] = "# Source Nodes: [a], Original ATen: [b]\n"
						      "# Graph fragment:\n";
	char call[] = "k = async_compile.triton('k', '''\n'''\n"
		      "# Source Nodes: [a], Original ATen: [b]\nk.run(1)\n";

	(void)state;
	for (int i = 1; i <= 20; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "# File: /m.py:%d in f\x01, code: x\nadd_%d: \"\" = "
			 "torch.ops.aten.add.Tensor(a)\n",
			 i, i);
		snprintf(kernel + strlen(kernel), sizeof(kernel) - strlen(kernel),
			 "#   %%add_%d : [num_users=1] = call_function[target=add](a)\n", i);
	}
	strcat(kernel, call);
	struct kernel_lines *lines =
		kernel_lines_create((struct text_span){kernel, strlen(kernel)},
				    (struct text_span){text, strlen(text)}, TEXT_SPAN_NONE);
	assert_non_null(lines);
	const char *symbol = kernel_lines_find(lines, 26);
	assert_non_null(symbol);
	assert_ptr_equal(strstr(symbol, "f?\t/m.py:1\nf?\t/m.py:2\n"), symbol);
	assert_non_null(strstr(symbol, "f?\t/m.py:16\n..."));
	assert_null(strstr(symbol, "/m.py:17"));
	kernel_lines_destroy(lines);
}

/* Kernels of the user's own, with paths of this length, each called twice. */
static struct kernel_lines *create_own(uint32_t nr_kernels, int path_size)
{
	char *text = malloc(nr_kernels * ((size_t)path_size + 128)), *at = text;

	assert_non_null(text);
	for (uint32_t i = 0; i < nr_kernels; i++)
		at += sprintf(
			at,
			"# Original path: /%0*d:%u\nk%u = async_compile.triton('f', '''\n'''\n"
			"k%u.run(1)\nk%u.run(1)\n",
			path_size, 0, i + 1, i, i, i);
	struct kernel_lines *lines = kernel_lines_create(
		(struct text_span){text, (size_t)(at - text)}, TEXT_SPAN_NONE, TEXT_SPAN_NONE);
	free(text);
	return lines;
}

static void equal_symbols_are_kept_once(void **state)
{
	struct kernel_lines *lines = create_own(3, 1000);
	const char *symbol = NULL;
	uint32_t nr_symbols = 0;

	(void)state;
	assert_non_null(lines);
	assert_int_equal(kernel_lines_count(lines), 6);
	while ((symbol = kernel_lines_next(lines, symbol)))
		nr_symbols++;
	assert_int_equal(nr_symbols, 3);
	assert_ptr_equal(kernel_lines_find(lines, 4), kernel_lines_find(lines, 5));
	assert_ptr_not_equal(kernel_lines_find(lines, 4), kernel_lines_find(lines, 9));
	assert_in_range(kernel_lines_size(lines), 3 * 1000, 3 * 4 * 1000);
	kernel_lines_destroy(lines);
}

static void file_with_too_many_symbols_has_no_lines(void **state)
{
	struct kernel_lines *lines = create_own(KERNEL_LINES_TEXT_MAX / 2000, 1900);

	(void)state;
	assert_non_null(lines);
	kernel_lines_destroy(lines);
	assert_null(create_own(KERNEL_LINES_TEXT_MAX / 1900, 1900));
}

static void line_that_is_too_long_for_a_symbol_is_left_out(void **state)
{
	struct kernel_lines *lines = create_own(1, 3000);

	(void)state;
	assert_non_null(lines);
	assert_int_equal(kernel_lines_count(lines), 0);
	kernel_lines_destroy(lines);
}

static void all_lines_can_be_marked(void **state)
{
	struct kernel_lines *lines = create(graph, "");
	const char *symbol = NULL;

	(void)state;
	assert_null(strstr(kernel_lines_find(lines, 32), "≈"));
	for (int i = 0; i < 2; i++) {
		kernel_lines_mark_near(lines);
		while ((symbol = kernel_lines_next(lines, symbol))) {
			assert_non_null(strstr(symbol, "\n≈"));
			assert_string_equal(strstr(symbol, "\n≈"), "\n≈");
		}
	}
	assert_line(lines, 32, LOSS "\n≈");
	kernel_lines_destroy(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fused_kernel_names_all_its_lines),
		cmocka_unit_test(calls_of_libraries_are_known_by_their_buffers),
		cmocka_unit_test(equal_kernel_has_the_lines_of_its_own_comment),
		cmocka_unit_test(unproven_lines_have_the_mark),
		cmocka_unit_test(lines_without_a_comment_have_none),
		cmocka_unit_test(kernel_of_the_user_has_its_own_line),
		cmocka_unit_test(traces_go_before_the_graph),
		cmocka_unit_test(names_in_traces_are_decoded),
		cmocka_unit_test(more_calls_than_nodes_have_no_lines),
		cmocka_unit_test(all_lines_have_the_mark_if_graphs_are_nested),
		cmocka_unit_test(operation_that_the_comment_does_not_name_is_not_proven),
		cmocka_unit_test(long_lists_are_cut),
		cmocka_unit_test(equal_symbols_are_kept_once),
		cmocka_unit_test(file_with_too_many_symbols_has_no_lines),
		cmocka_unit_test(line_that_is_too_long_for_a_symbol_is_left_out),
		cmocka_unit_test(all_lines_can_be_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
