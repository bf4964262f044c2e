/* A list of rules for classes of kernels. Each rule that is taken can be asked for, and has a class with a word. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "report/names/class_list.h"
#include "report/names/kernel_class.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum kernel_class kernel_class;
	const char *pattern;
	char *error = NULL;

	setenv(CLASS_LIST_ENV, fuzz_file_write(data, size), 1);
	if (class_list_read(&error) != 0) {
		if (!error || kernel_class_word(KERNEL_CLASS_OWN))
			abort();
		free(error);
		return 0;
	}
	for (uint32_t i = 0; (pattern = kernel_class_rule(i, &kernel_class)) != NULL; i++)
		if (!*pattern || !kernel_class_word(kernel_class))
			abort();
	return 0;
}
