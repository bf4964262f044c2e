#include "tests/support/cmocka_test.h"

#include <string.h>

#include "node-agent/calls/call_function.h"
#include "node-agent/calls/call_sites.h"
#include "node-agent/files/elf_file.h"

static const char *runtime_path;

static void every_number_is_found_by_its_name(void **state)
{
	uint64_t number = 1;
	const char *before = "";
	(void)state;
	for (const char *name; (name = call_function_name(number)); number++) {
		assert_int_equal(call_function_find(name), number);
		assert_true(strcmp(before, name) < 0);
		before = name;
	}
	assert_true(number > 80);
	assert_null(call_function_name(CALL_FUNCTION_NONE));
	assert_null(call_function_name(UINT64_MAX));
}

static void versions_of_a_function_are_one(void **state)
{
	(void)state;
	const char *const forms[] = {"cuMemcpyHtoD", "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds",
				     "cuMemcpyHtoD_ptsz"};
	uint32_t number = call_function_find("cuMemcpyHtoD");

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		assert_int_equal(call_function_find(forms[i]), number);
	assert_string_equal(call_function_name(number), "cuMemcpyHtoD");
}

static void what_does_no_work_is_not_one(void **state)
{
	(void)state;
	const char *const others[] = {
		"",
		"cu",
		"_v2",
		"cuda",
		"cudaMalloc",
		"cuGetProcAddress",
		"cudaMemcpyAsyncs",
		"cudaLaunchHostFunc",
		"main",
		"cudaLaunchKernelcudaLaunchKernelcudaLaunchKernelcudaLaunchKernel"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(call_function_find(others[i]), CALL_FUNCTION_NONE);
}

static void sites_of_a_file_are_its_functions_each_once(void **state)
{
	static struct call_sites sites;
	struct elf_file *file;
	uint32_t nr_launches = 0;
	(void)state;
	assert_int_equal(elf_file_open(runtime_path, &file), 0);
	call_sites_find(file, call_function_find, &sites);
	assert_true(sites.count > 10);
	for (uint32_t i = 0; i < sites.count; i++) {
		uint64_t vaddr, offset;

		assert_non_null(call_function_name(sites.functions[i]));
		assert_true(elf_file_vaddr(file, sites.offsets[i], &vaddr));
		assert_true(elf_file_offset(file, vaddr, &offset));
		assert_int_equal(offset, sites.offsets[i]);
		nr_launches += sites.functions[i] == call_function_find("cudaLaunchKernel");
		for (uint32_t j = 0; j < i; j++)
			assert_int_not_equal(sites.offsets[i], sites.offsets[j]);
	}
	assert_int_equal(nr_launches, 2); /* that for streams of threads, too */
	assert_false(elf_file_offset(file, UINT64_MAX, &(uint64_t){0}));
	elf_file_close(file);
}

static void a_file_without_them_has_no_sites(void **state)
{
	static struct call_sites sites;
	struct elf_file *file;
	(void)state;
	assert_int_equal(elf_file_open("/proc/self/exe", &file), 0);
	call_sites_find(file, call_function_find, &sites);
	assert_int_equal(sites.count, 0);
	elf_file_close(file);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_is_found_by_its_name),
		cmocka_unit_test(versions_of_a_function_are_one),
		cmocka_unit_test(what_does_no_work_is_not_one),
		cmocka_unit_test(sites_of_a_file_are_its_functions_each_once),
		cmocka_unit_test(a_file_without_them_has_no_sites),
	};

	if (argc < 2)
		return 2;
	runtime_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
