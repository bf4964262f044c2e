#include "nccl_kernel.h"

#include <ctype.h>
#include <string.h>

/* NCCL's kernels are the functions with __global__ in src/device (2.19 on: ncclDevKernel_…; 2.27: ncclSymDevKernel_…;
 * 2.28 on: ncclSymkDevKernel_…). Before that they are in src/collectives/device (2.8 to 2.18: ncclKernel_…; 2.3 to 2.7:
 * ncclAllReduceRingLLKernel_sum_f32 and others). RCCL uses the same names. So the test is an identifier that begins
 * with "nccl" and contains "Kernel". */
static bool is_identifier(const char *name, size_t size)
{
	size_t length = 0;

	while (length < size && (isalnum((unsigned char)name[length]) || name[length] == '_'))
		length++;
	return length > 4 && memcmp(name, "nccl", 4) == 0 &&
	       memmem(name, length, "Kernel", 6) != NULL;
}

bool nccl_kernel_is(const char *name, uint32_t size)
{
	uint32_t at = 0, length = 0;

	if (size < 2 || name[0] != '_' || name[1] != 'Z')
		return is_identifier(name, size);
	/* In the Itanium C++ ABI (5.1.2) a function of the global namespace is _Z, its name's length, its name. */
	for (at = 2; at < size && isdigit((unsigned char)name[at]) && length < size; at++)
		length = 10 * length + (uint32_t)(name[at] - '0');
	return length <= size - at && is_identifier(name + at, length);
}
