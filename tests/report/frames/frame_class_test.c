#include "report/frames/frame_class.h"

#include "tests/support/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "tests/report/model/report_fixture.h"

#define NOBODY ""

static void assert_class(const char *path, bool is_python, bool is_program, const char *expected)
{
	char name[FRAME_CLASS_NAME_MAX] = NOBODY;
	bool found = frame_class_of_file(path, (uint32_t)strlen(path), NULL, is_python, is_program,
					 name);

	assert_int_equal(found, *expected != '\0');
	if (found)
		assert_string_equal(name, expected);
}

static void python_files_are_their_packages(void **state)
{
	static const char *const files[][2] = {
		{"/opt/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", "[torch]"},
		{"/usr/lib/python3/dist-packages/numpy/core/numeric.py", "[numpy]"},
		{"/opt/venv/lib/python3.12/site-packages/einops.py", "[einops]"},
		{"/usr/lib/python3.11/threading.py", "[python]"},
		{"/opt/conda/lib/python3.10/json/decoder.py", "[python]"},
		{"<frozen importlib._bootstrap>", "[python]"},
		{"<string>", NOBODY}, /* python3 -c */
		{"/tmp/torchinductor_root/2u/c2ubw.py", "[inductor]"},
		{"/home/me/train.py", NOBODY},
		{"train.py", NOBODY},
		{"/home/me/lib/python3.tools/train.py", NOBODY},
		{"/tmp/ipykernel_123/456.py", NOBODY},
		{"", NOBODY},
		{"/site-packages/", NOBODY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		assert_class(files[i][0], true, false, files[i][1]);
}

static void libraries_are_frameworks_by_their_places_and_names(void **state)
{
	static const char *const files[][2] = {
		{"/v/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so", "[torch]"},
		{"/v/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
		 "[libcublasLt]"},
		{"/usr/lib/x86_64-linux-gnu/libc.so.6", "[libc]"},
		{"/usr/local/cuda-13.0/lib64/libcufft.so.12", "[libcufft]"},
		{"/opt/conda/lib/libcudnn.so.9", "[libcudnn]"},
		{"/opt/pytorch/build/lib/libc10.so", "[torch]"},
		{"/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so",
		 "[python]"},
		{"/usr/bin/python3.12", "[python]"},
		{"/opt/conda/lib/libpython3.11.so.1.0", "[python]"},
		{"/root/.triton/cache/AB/__triton_launcher.cpython-312-x86_64-linux-gnu.so",
		 "[triton]"},
		{"/home/me/libmodel.so", NOBODY},
		{"/home/me/train", NOBODY},
		{"/usr/lib/me/train", NOBODY},
		{"[vdso]", NOBODY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		assert_class(files[i][0], false, false, files[i][1]);
	assert_class("/usr/lib/app/solver.so", false, true, NOBODY); /* the program itself */
	assert_class("/usr/bin/python3", false, true, "[python]");
}

static void further_frameworks_are_named_by_the_end_of_their_part(void **state)
{
	static const char more[] = ",/our/megatron/,,libsolver,//";
	static const char *const files[][2] = {
		{"/home/our/megatron/core/layers.py", "[megatron]"},
		{"/home/me/build/libsolver.so.2", "[libsolver]"},
		{"/home/me/train.py", NOBODY},
		{"/home/our/megatron", NOBODY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char name[FRAME_CLASS_NAME_MAX] = NOBODY;

		frame_class_of_file(files[i][0], (uint32_t)strlen(files[i][0]), more, true, false,
				    name);
		assert_string_equal(name, files[i][1]);
	}
	report_fixture_add_kernel(
		report_fixture_push(0, report_fixture_code("/x/mine/a.py", "f", 1)), "k", 5);
	report_fixture_build_with(&(struct report_options){
		.view = {.frames = REPORT_FRAMES_USER, .frameworks = "/mine/"}});
	report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_NS},
					  "[mine];[GPU0_Kernel]k 5\n");
}

static void long_names_are_cut(void **state)
{
	char path[300] = "/site-packages/", name[FRAME_CLASS_NAME_MAX];

	(void)state;
	memset(path + strlen(path), 'p', 200);
	assert_true(frame_class_of_file(path, (uint32_t)strlen(path), NULL, true, false, name));
	assert_int_equal(strlen(name), FRAME_CLASS_NAME_MAX - 1);
	assert_int_equal(name[strlen(name) - 1], ']');
}

static uint32_t python(uint32_t parent, const char *file, const char *name)
{
	return report_fixture_push(parent, report_fixture_code(file, name, 7));
}

static void assert_user(const char *expected)
{
	report_fixture_build_with(&(struct report_options){.view = {.frames = REPORT_FRAMES_USER}});
	report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_NS}, expected);
}

static void neighbours_of_a_framework_are_one_frame(void **state)
{
	uint32_t torch = report_fixture_module("/v/site-packages/torch/lib/libtorch_cpu.so", 0);
	uint32_t step = python(0, "/home/me/train.py", "step");
	uint32_t linear =
		python(python(step, "/v/site-packages/torch/nn/modules/module.py", "call"),
		       "/v/site-packages/torch/nn/modules/linear.py", "forward");
	uint32_t addmm = report_fixture_push(linear, report_fixture_frame(torch, 1, "at::addmm"));
	uint32_t mul = report_fixture_push(linear, report_fixture_frame(torch, 2, "at::mul"));

	(void)state;
	report_fixture_add_kernel(
		report_fixture_push(
			addmm, report_fixture_frame(report_fixture.runtime, 1, "cudaLaunchKernel")),
		"k", 5);
	report_fixture_add_kernel(
		report_fixture_push(
			mul, report_fixture_frame(report_fixture.runtime, 1, "cudaLaunchKernel")),
		"k", 6);
	report_fixture_add_kernel(python(addmm, "/home/me/hook.py", "hook"), "k", 7);
	assert_user("train.py:step:7;[torch];cudaLaunchKernel;[GPU0_Kernel]k 11\n"
		    "train.py:step:7;[torch];hook.py:hook:7;[GPU0_Kernel]k 7\n");
}

static void stacks_of_frameworks_alone_stay(void **state)
{
	uint32_t libc = report_fixture_module("/lib/x86_64-linux-gnu/libc.so.6", 0);

	(void)state;
	report_fixture_add_kernel(report_fixture_push(0, report_fixture_frame(libc, 1, "qsort")),
				  "k", 5);
	report_fixture_add_kernel(0, "k", 6);
	assert_user("[libc];[GPU0_Kernel]k 5\n[unknown stack];[GPU0_Kernel]k 6\n");
}

/* Random stacks of all kinds of files: whatever is folded, the sum stays. */
static void sums_never_change(void **state)
{
	static const char *const files[] = {"/home/me/a.py", "/v/site-packages/torch/x.py",
					    "/usr/lib/python3.11/x.py",
					    "/v/site-packages/numpy/x.py"};
	uint64_t sum = 0, found = 0;

	(void)state;
	srand(910);
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t node = 0;
		char kernel[2] = {(char)('a' + rand() % 4), '\0'};

		for (int depth = rand() % 8; depth > 0; depth--)
			node = python(node, files[rand() % 4], rand() % 2 ? "f" : "g");
		report_fixture_add_kernel(node, kernel, 1 + i);
		sum += 1 + i;
	}
	report_fixture_build_with(&(struct report_options){.view = {.frames = REPORT_FRAMES_USER}});
	for (uint32_t i = 0; i < report_fixture.tree->nr_leaves; i++) {
		uint32_t name = 0;

		found += report_fixture.tree->leaves[i].ns;
		for (uint32_t node = report_fixture.tree->leaves[i].node; node;
		     node = report_fixture.tree->nodes[node].parent) {
			const struct report_node *at = &report_fixture.tree->nodes[node];
			const char *text = report_fixture.tree->strings[at->name];

			assert_true(*text != '[' ||
				    at->name != name); /* no framework twice in a row */
			name = at->name;
		}
	}
	assert_int_equal(found, sum);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(python_files_are_their_packages),
		TEST(libraries_are_frameworks_by_their_places_and_names),
		TEST(further_frameworks_are_named_by_the_end_of_their_part),
		TEST(long_names_are_cut),
		TEST(neighbours_of_a_framework_are_one_frame),
		TEST(stacks_of_frameworks_alone_stay),
		TEST(sums_never_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
