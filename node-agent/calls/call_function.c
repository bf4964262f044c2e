#include "call_function.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Functions of CUDA 11 to 13 in the order of strcmp(). A function's number is its index + 1. */
static const char *const names[] = {
	"cuCtxSynchronize",
	"cuEventSynchronize",
	"cuGraphLaunch",
	"cuLaunchCooperativeKernel",
	"cuLaunchCooperativeKernelMultiDevice",
	"cuLaunchKernel",
	"cuLaunchKernelEx",
	"cuMemcpy",
	"cuMemcpy2D",
	"cuMemcpy2DAsync",
	"cuMemcpy2DUnaligned",
	"cuMemcpy3D",
	"cuMemcpy3DAsync",
	"cuMemcpy3DBatchAsync",
	"cuMemcpy3DPeer",
	"cuMemcpy3DPeerAsync",
	"cuMemcpyAsync",
	"cuMemcpyAtoA",
	"cuMemcpyAtoD",
	"cuMemcpyAtoH",
	"cuMemcpyAtoHAsync",
	"cuMemcpyBatchAsync",
	"cuMemcpyDtoA",
	"cuMemcpyDtoD",
	"cuMemcpyDtoDAsync",
	"cuMemcpyDtoH",
	"cuMemcpyDtoHAsync",
	"cuMemcpyHtoA",
	"cuMemcpyHtoAAsync",
	"cuMemcpyHtoD",
	"cuMemcpyHtoDAsync",
	"cuMemcpyPeer",
	"cuMemcpyPeerAsync",
	"cuMemsetD16",
	"cuMemsetD16Async",
	"cuMemsetD2D16",
	"cuMemsetD2D16Async",
	"cuMemsetD2D32",
	"cuMemsetD2D32Async",
	"cuMemsetD2D8",
	"cuMemsetD2D8Async",
	"cuMemsetD32",
	"cuMemsetD32Async",
	"cuMemsetD8",
	"cuMemsetD8Async",
	"cuStreamSynchronize",
	"cudaDeviceSynchronize",
	"cudaEventSynchronize",
	"cudaGraphLaunch",
	"cudaLaunchCooperativeKernel",
	"cudaLaunchCooperativeKernelMultiDevice",
	"cudaLaunchKernel",
	"cudaLaunchKernelExC",
	"cudaMemcpy",
	"cudaMemcpy2D",
	"cudaMemcpy2DArrayToArray",
	"cudaMemcpy2DAsync",
	"cudaMemcpy2DFromArray",
	"cudaMemcpy2DFromArrayAsync",
	"cudaMemcpy2DToArray",
	"cudaMemcpy2DToArrayAsync",
	"cudaMemcpy3D",
	"cudaMemcpy3DAsync",
	"cudaMemcpy3DBatchAsync",
	"cudaMemcpy3DPeer",
	"cudaMemcpy3DPeerAsync",
	"cudaMemcpyArrayToArray",
	"cudaMemcpyAsync",
	"cudaMemcpyBatchAsync",
	"cudaMemcpyFromArray",
	"cudaMemcpyFromArrayAsync",
	"cudaMemcpyFromSymbol",
	"cudaMemcpyFromSymbolAsync",
	"cudaMemcpyPeer",
	"cudaMemcpyPeerAsync",
	"cudaMemcpyToArray",
	"cudaMemcpyToArrayAsync",
	"cudaMemcpyToSymbol",
	"cudaMemcpyToSymbolAsync",
	"cudaMemset",
	"cudaMemset2D",
	"cudaMemset2DAsync",
	"cudaMemset3D",
	"cudaMemset3DAsync",
	"cudaMemsetAsync",
	"cudaStreamSynchronize",
};

#define NR_NAMES  (sizeof(names) / sizeof(names[0]))
#define NAME_SIZE 64u

static bool cut(char *name, const char *suffix)
{
	size_t size = strlen(name), suffix_size = strlen(suffix);

	if (size <= suffix_size || strcmp(name + size - suffix_size, suffix) != 0)
		return false;
	name[size - suffix_size] = '\0';
	return true;
}

static int compare(const void *name, const void *element)
{
	return strcmp(name, *(const char *const *)element);
}

uint32_t call_function_find(const char *symbol)
{
	char name[NAME_SIZE];
	size_t size = strlen(symbol);

	if (size < 3 || size >= sizeof(name) || memcmp(symbol, "cu", 2) != 0)
		return CALL_FUNCTION_NONE;
	memcpy(name, symbol, size + 1);
	if (!cut(name, "_ptsz"))
		cut(name, "_ptds");
	if (!cut(name, "_v2"))
		cut(name, "_v3");
	const char *const *found = bsearch(name, names, NR_NAMES, sizeof(names[0]), compare);

	return found ? (uint32_t)(found - names) + 1 : CALL_FUNCTION_NONE;
}

const char *call_function_name(uint64_t number)
{
	return number >= 1 && number <= NR_NAMES ? names[number - 1] : NULL;
}
