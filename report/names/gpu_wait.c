#include "gpu_wait.h"

#include <stddef.h>
#include <string.h>

/* Begins of names: versions of functions end in _ptsz, _ptds or _v2. */
static const char *const waits[] = {
	"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
	"cudaThreadSynchronize", "cudaStreamQuery",       "cudaEventQuery",
	"cuCtxSynchronize",      "cuStreamSynchronize",   "cuEventSynchronize",
	"cuStreamQuery",         "cuEventQuery",
};

/* Copies without Async wait for the work before them. */
static const char *const copies[] = {"cudaMemcpy", "cuMemcpy"};

static bool begins(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(name, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

bool gpu_wait_is(const char *name)
{
	return begins(name, waits, sizeof(waits) / sizeof(*waits)) ||
	       (begins(name, copies, sizeof(copies) / sizeof(*copies)) && !strstr(name, "Async"));
}
