/* Libraries of the driver API: here a library is a module, and a kernel the function of it. */
#include "driver_call.h"
#include "driver_module.h"
#include "sim/sim_host.h"
#include "sim/sim_kernel.h"

static CUresult load(CUlibrary *library, const void *code)
{
	sim_host_loaded("cuLibraryLoadData");
	return driver_module_load((CUmodule *)library, code);
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
			   void **jitOptionsValues, unsigned int numJitOptions,
			   CUlibraryOption *libraryOptions, void **libraryOptionValues,
			   unsigned int numLibraryOptions)
{
	(void)jitOptions, (void)jitOptionsValues, (void)numJitOptions;
	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	return DRIVER_CALL(cuLibraryLoadData, NULL, NULL, load(library, code));
}

CUresult cuLibraryUnload(CUlibrary library)
{
	return DRIVER_CALL(cuLibraryUnload, NULL, NULL, driver_module_unload((CUmodule)library));
}

static CUresult get_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	sim_host_loaded("cuLibraryGetKernel");
	return driver_module_function((CUfunction *)kernel, (CUmodule)library, name);
}

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	return DRIVER_CALL(cuLibraryGetKernel, NULL, NULL, get_kernel(pKernel, library, name));
}

static CUresult get_function(CUfunction *function, CUkernel kernel)
{
	sim_host_loaded("cuKernelGetFunction");
	*function = (CUfunction)(void *)kernel;
	return sim_kernel_check(kernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	return DRIVER_CALL(cuKernelGetFunction, NULL, NULL, get_function(pFunc, kernel));
}
