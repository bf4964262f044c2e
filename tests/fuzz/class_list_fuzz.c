/* A list of rules for classes of kernels. Each kernel has a class with a word. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "report/names/class_list.h"
#include "report/names/kernel_class.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *error = NULL;

	setenv(CLASS_LIST_ENV, fuzz_file_write(data, size), 1);
	if (class_list_read(&error) != 0) {
		if (!error || kernel_class_word(KERNEL_CLASS_OWN))
			abort();
		free(error);
		return 0;
	}
	if (!kernel_class_word(kernel_class_of("sm90_xmma_gemm_bf16<128, true>")))
		abort();
	return 0;
}
