#include "cuda_file.h"

#include <stdbool.h>
#include <string.h>

#include "proto/definition.h"

static bool begins_with(const char *name, size_t size, const char *start)
{
	size_t length = strlen(start);

	return size >= length && memcmp(name, start, length) == 0;
}

uint32_t cuda_file_flags(const char *path, size_t size)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} cuda[] = {
		{"libcuda.so", DEFINITION_MODULE_CUDA},
		{"libcudart", DEFINITION_MODULE_CUDA | DEFINITION_MODULE_CUDART},
		{"libcupti.so", DEFINITION_MODULE_CUDA},
		{"libflamegrid_inject.so", DEFINITION_MODULE_CUDA},
	};
	size_t name = size;

	while (name > 0 && path[name - 1] != '/')
		name--;
	path += name;
	size -= name;
	if (name == 0 &&
	    (begins_with(path, size, "linux-vdso.so") || begins_with(path, size, "linux-gate.so")))
		return DEFINITION_MODULE_VDSO;
	for (size_t i = 0; i < sizeof(cuda) / sizeof(cuda[0]); i++)
		if (begins_with(path, size, cuda[i].name))
			return cuda[i].flags;
	return 0;
}
