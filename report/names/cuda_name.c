#include "cuda_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool starts_with(const char *name, size_t size, const char *prefix)
{
	return size >= strlen(prefix) && memcmp(name, prefix, strlen(prefix)) == 0;
}

static bool contains(const char *name, size_t size, const char *text)
{
	return memmem(name, size, text, strlen(text)) != NULL;
}

static bool is_upper_at(const char *name, size_t size, size_t at)
{
	return at < size && isupper((unsigned char)name[at]);
}

static bool is_runtime_api(const char *name, size_t size)
{
	return starts_with(name, size, "cuda") && is_upper_at(name, size, 4);
}

/* _ZL16cudaLaunchKernelIcE…: a template in no namespace, as cuda_runtime.h's are. Functions of an
 * application in a namespace or class are mangled with an N, plain ones without arguments I…E. */
static bool is_runtime_template(const char *name, size_t size)
{
	size_t at = starts_with(name, size, "_ZL") ? 3 : 2, length = 0;

	if (!starts_with(name, size, "_Z"))
		return false;
	for (; at < size && isdigit((unsigned char)name[at]) && length < size; at++)
		length = 10 * length + (size_t)(name[at] - '0');
	return length < size - at && is_runtime_api(name + at, length) && name[at + length] == 'I';
}

enum cuda_name cuda_name_of(const char *name, size_t size)
{
	/* These words stand in mangled names, before a kernel's name. */
	if (contains(name, size, "__device_stub__") ||
	    contains(name, size, "__wrapper__device_stub_") || is_runtime_template(name, size))
		return CUDA_NAME_STUB;
	/* Both name the functions of a static runtime: __cudart803, and from CUDA 12 on libcudart_static_<hash>. */
	if (starts_with(name, size, "__cuda") || starts_with(name, size, "libcudart_static_"))
		return CUDA_NAME_INNER;
	if (is_runtime_api(name, size) ||
	    (starts_with(name, size, "cu") && is_upper_at(name, size, 2)))
		return CUDA_NAME_API;
	return CUDA_NAME_NONE;
}
