/* cuGetProcAddress: driver functions by their unversioned name. */
#include "driver_call.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* This library, also where it was opened RTLD_LOCAL. */
static void *own_handle(void)
{
	static void *handle;
	void *found = __atomic_load_n(&handle, __ATOMIC_ACQUIRE);
	Dl_info info;

	if (!found && dladdr((void *)(uintptr_t)&driver_check_ready, &info) != 0) {
		found = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
		__atomic_store_n(&handle, found, __ATOMIC_RELEASE);
	}
	return found;
}

/* The newest version first, as a caller with a new header expects. */
static void *find_symbol(const char *name, bool per_thread)
{
	static const char *const versions[] = {"_v4", "_v3", "_v2", ""};
	static const char *const per_thread_suffixes[] = {"_ptsz", "_ptds"};
	char full[160];
	void *symbol;

	/* From CUDA 12 on this name means another function, and the old ones keep theirs. */
	if (strcmp(name, "cuGraphInstantiate") == 0)
		name = "cuGraphInstantiateWithFlags";
	for (size_t v = 0; v < sizeof(versions) / sizeof(versions[0]); v++) {
		for (size_t s = 0; per_thread && s < 2; s++) {
			snprintf(full, sizeof(full), "%s%s%s", name, versions[v],
				 per_thread_suffixes[s]);
			symbol = dlsym(own_handle(), full);
			if (symbol)
				return symbol;
		}
		snprintf(full, sizeof(full), "%s%s", name, versions[v]);
		symbol = dlsym(own_handle(), full);
		if (symbol)
			return symbol;
	}
	return NULL;
}

static CUresult get_address(const char *symbol, void **address, cuuint64_t flags,
			    CUdriverProcAddressQueryResult *status)
{
	*address =
		find_symbol(symbol, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
	if (status)
		*status = *address ? CU_GET_PROC_ADDRESS_SUCCESS
				   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* Both work before cuInit too. */
CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *symbolStatus)
{
	(void)cudaVersion;
	if (driver_check_ready() != CUDA_SUCCESS)
		return get_address(symbol, pfn, flags, symbolStatus);
	return DRIVER_CALL(cuGetProcAddress_v2, NULL, NULL,
			   get_address(symbol, pfn, flags, symbolStatus));
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	(void)cudaVersion;
	if (driver_check_ready() != CUDA_SUCCESS)
		return get_address(symbol, pfn, flags, NULL);
	return DRIVER_CALL(cuGetProcAddress, NULL, NULL, get_address(symbol, pfn, flags, NULL));
}
