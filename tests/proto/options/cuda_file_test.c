#include "proto/options/cuda_file.h"

#include "tests/support/cmocka_test.h"

#include <string.h>

#include "proto/definition.h"

static void files_of_cuda_are_flagged_by_name(void **state)
{
	(void)state;
	const char *const cuda[] = {"/usr/lib/libcuda.so.1", "libcudart.so.13",
				    "/w/libcudart-d0da41ae.so.11.0", "/x/libcupti.so.12",
				    "/y/libflamegrid_inject.so"};
	const char *const others[] = {"/x/libcudnn.so.9", "/x/libcudadebugger.so",
				      "/libcuda.so/libm.so.6", ""};

	for (size_t i = 0; i < sizeof(cuda) / sizeof(cuda[0]); i++)
		assert_int_equal(cuda_file_flags(cuda[i], strlen(cuda[i])),
				 strstr(cuda[i], "libcudart")
					 ? DEFINITION_MODULE_CUDA | DEFINITION_MODULE_CUDART
					 : DEFINITION_MODULE_CUDA);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(cuda_file_flags(others[i], strlen(others[i])), 0);
	assert_int_equal(cuda_file_flags("linux-vdso.so.1", strlen("linux-vdso.so.1")),
			 DEFINITION_MODULE_VDSO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_cuda_are_flagged_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
