#include "inject/cupti/cupti_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/cupti_search_XXXXXX";
static struct cupti_search search;

static void touch(const char *path)
{
	char command[1024];

	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s%s')\" && : > '%s%s'", root,
		 path, root, path);
	assert_int_equal(system(command), 0);
}

static const char *at(const char *path)
{
	static char paths[16][512];
	static unsigned int next;
	char *out = paths[next++ % 16];

	snprintf(out, 512, "%s%s", root, path);
	return out;
}

static int set_up(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'; mkdir -p '%s'", root, root);
	return system(command);
}

static int tear_down_group(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static int set_up_group(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static void expect(uint32_t i, const char *path, bool mapped)
{
	assert_true(i < search.nr_candidates);
	assert_string_equal(search.candidates[i].path, path);
	assert_int_equal(search.candidates[i].mapped, mapped);
}

static void nothing_known_leaves_the_loader_newest_first(void **state)
{
	(void)state;
	cupti_search_run(&(struct cupti_search_input){0}, &search);
	assert_int_equal(search.nr_candidates, 2);
	expect(0, "libcupti.so.13", false);
	expect(1, "libcupti.so.12", false);
}

static void override_is_the_only_candidate(void **state)
{
	const char *mapped[] = {"/opt/x/libcupti.so.12"};

	(void)state;
	cupti_search_run(&(struct cupti_search_input){.override = "/mine/libcupti.so",
						      .mapped = mapped,
						      .nr_mapped = 1},
			 &search);
	expect(0, "/mine/libcupti.so", false);
	assert_int_equal(search.nr_candidates, 1);
	assert_string_equal(search.looked, "/mine/libcupti.so");
}

static void mapped_copy_comes_first(void **state)
{
	const char *mapped[] = {"/opt/x/libcudart.so.13", "/opt/x/libcupti.so.12"};

	(void)state;
	cupti_search_run(
		&(struct cupti_search_input){.override = "", .mapped = mapped, .nr_mapped = 2},
		&search);
	expect(0, "/opt/x/libcupti.so.12", true);
	expect(1, "libcupti.so.13", false);
}

static void folder_of_the_mapped_runtime_is_searched_for_its_major_first(void **state)
{
	(void)state;
	touch("/lib/libcupti.so.12");
	touch("/lib/libcupti.so.13");
	const char *mapped[] = {at("/lib/libcudart.so.12")};

	cupti_search_run(&(struct cupti_search_input){.mapped = mapped, .nr_mapped = 1}, &search);
	expect(0, at("/lib/libcupti.so.12"), false);
	expect(1, at("/lib/libcupti.so.13"), false);
	expect(2, "libcupti.so.12", false);
}

static void wheels_beside_a_mapped_library_are_searched(void **state)
{
	(void)state;
	touch("/venv/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12");
	touch("/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13");
	const char *mapped[] = {
		at("/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so")};

	cupti_search_run(&(struct cupti_search_input){.mapped = mapped, .nr_mapped = 1}, &search);
	expect(0, at("/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13"), false);
	expect(1, at("/venv/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12"),
	       false);
}

static void active_python_environment_is_searched(void **state)
{
	(void)state;
	touch("/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13");
	touch("/conda/lib/libcupti.so.12");
	cupti_search_run(&(struct cupti_search_input){.virtual_env = at("/venv"),
						      .conda_prefix = at("/conda")},
			 &search);
	expect(0, at("/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13"), false);
	expect(1, at("/conda/lib/libcupti.so.12"), false);
}

static void toolkits_are_searched_newest_first_after_the_named_ones(void **state)
{
	(void)state;
	touch("/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12");
	touch("/local/cuda-12.10/extras/CUPTI/lib64/libcupti.so.12");
	touch("/local/cuda-13.0/lib64/libcupti.so.13");
	touch("/home/cuda/lib64/libcupti.so.12");
	cupti_search_run(&(struct cupti_search_input){.cuda_home = at("/home/cuda"),
						      .toolkit_parent = at("/local")},
			 &search);
	expect(0, at("/home/cuda/lib64/libcupti.so.12"), false);
	expect(1, at("/local/cuda-13.0/lib64/libcupti.so.13"), false);
	expect(2, at("/local/cuda-12.10/extras/CUPTI/lib64/libcupti.so.12"), false);
	expect(3, at("/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12"), false);
	assert_non_null(strstr(search.looked, at("/local/cuda-13.0/lib64")));
}

static void many_toolkits_and_long_paths_stay_within_bounds(void **state)
{
	char path[64], *deep = malloc(4000);

	(void)state;
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "/local/cuda-12.%d/lib64/libcupti.so.12", i);
		touch(path);
	}
	memset(deep, 'd', 3999);
	deep[0] = '/';
	deep[3999] = '\0';
	cupti_search_run(&(struct cupti_search_input){.conda_prefix = deep,
						      .cuda_home = deep,
						      .virtual_env = deep,
						      .toolkit_parent = at("/local"),
						      .own_folder = deep},
			 &search);
	expect(0, at("/local/cuda-12.19/lib64/libcupti.so.12"), false);
	assert_true(search.nr_candidates <= CUPTI_SEARCH_MAX);
	assert_true(strlen(search.looked) < sizeof(search.looked));
	free(deep);
}

static void loaders_path_is_searched_by_folder_before_toolkits(void **state)
{
	char path[1100];

	(void)state;
	touch("/site/b/libcupti.so.12");
	touch("/site/c/libcupti.so.13");
	touch("/local/cuda/lib64/libcupti.so.13");
	snprintf(path, sizeof(path), ":%s::%s:%s", at("/site/a"), at("/site/b"), at("/site/c"));
	cupti_search_run(
		&(struct cupti_search_input){.library_path = path, .toolkit_parent = at("/local")},
		&search);
	expect(0, at("/site/b/libcupti.so.12"), false);
	expect(1, at("/site/c/libcupti.so.13"), false);
	expect(2, at("/local/cuda/lib64/libcupti.so.13"), false);
}

static void folder_of_the_guest_comes_last(void **state)
{
	(void)state;
	touch("/own/libcupti.so.13");
	cupti_search_run(&(struct cupti_search_input){.own_folder = at("/own")}, &search);
	assert_int_equal(search.nr_candidates, 3);
	expect(2, at("/own/libcupti.so.13"), false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_known_leaves_the_loader_newest_first, set_up),
		cmocka_unit_test_setup(override_is_the_only_candidate, set_up),
		cmocka_unit_test_setup(mapped_copy_comes_first, set_up),
		cmocka_unit_test_setup(folder_of_the_mapped_runtime_is_searched_for_its_major_first,
				       set_up),
		cmocka_unit_test_setup(wheels_beside_a_mapped_library_are_searched, set_up),
		cmocka_unit_test_setup(active_python_environment_is_searched, set_up),
		cmocka_unit_test_setup(toolkits_are_searched_newest_first_after_the_named_ones,
				       set_up),
		cmocka_unit_test_setup(many_toolkits_and_long_paths_stay_within_bounds, set_up),
		cmocka_unit_test_setup(loaders_path_is_searched_by_folder_before_toolkits, set_up),
		cmocka_unit_test_setup(folder_of_the_guest_comes_last, set_up),
	};

	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
