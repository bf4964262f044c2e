/* Kernel launches of the runtime API: each reaches the driver's launch function. */
#include "driver/driver_versions.h"
#include "runtime_call.h"
#include "sim/sim_kernel.h"

static const char *symbol_of(const void *func)
{
	const struct sim_kernel *kernel = sim_kernel_of_symbol(func);

	return kernel ? sim_kernel_name(kernel) : NULL;
}

/* The runtime has its own word for a shape that the driver refuses. */
static cudaError_t launch_error(CUresult result)
{
	return result == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidConfiguration
						  : runtime_error_of(result);
}

static cudaError_t find_function(const void *func, CUfunction *function)
{
	*function = (CUfunction)sim_kernel_of_symbol(func);
	if (!*function)
		return cudaErrorInvalidDeviceFunction;
	return runtime_bind_context();
}

static cudaError_t launch(const cudaLaunchConfig_t *config, const void *func, void **args,
			  bool per_thread)
{
	const dim3 grid = config->gridDim, block = config->blockDim;
	CUfunction function;
	cudaError_t error = find_function(func, &function);

	if (error != cudaSuccess)
		return error;
	return launch_error((per_thread ? cuLaunchKernel_ptsz : cuLaunchKernel)(
		function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
		(unsigned int)config->dynamicSmemBytes, config->stream, args, NULL));
}

static cudaError_t launch_ex(const cudaLaunchConfig_t *config, const void *func, void **args,
			     bool per_thread)
{
	const CUlaunchConfig driver_config = {
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
		.hStream = config->stream,
	};
	CUfunction function;
	cudaError_t error = find_function(func, &function);

	if (error != cudaSuccess)
		return error;
	return launch_error((per_thread ? cuLaunchKernelEx_ptsz
					: cuLaunchKernelEx)(&driver_config, function, args, NULL));
}

static cudaError_t launch_cooperative(const cudaLaunchConfig_t *config, const void *func,
				      void **args)
{
	const dim3 grid = config->gridDim, block = config->blockDim;
	CUfunction function;
	cudaError_t error = find_function(func, &function);

	if (error != cudaSuccess)
		return error;
	return launch_error(cuLaunchCooperativeKernel(
		function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
		(unsigned int)config->dynamicSmemBytes, config->stream, args));
}

#define CONFIG                                                                                     \
	{                                                                                          \
		.gridDim = gridDim, .blockDim = blockDim, .dynamicSmemBytes = sharedMem,           \
		.stream = stream                                                                   \
	}

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
			     size_t sharedMem, cudaStream_t stream)
{
	const cudaLaunchConfig_t config = CONFIG;

	return RUNTIME_CALL(cudaLaunchKernel, cudaLaunchKernel_v7000, symbol_of(func),
			    launch(&config, func, args, false));
}

cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim, void **args,
				  size_t sharedMem, cudaStream_t stream)
{
	const cudaLaunchConfig_t config = CONFIG;

	return RUNTIME_CALL(cudaLaunchKernel_ptsz, cudaLaunchKernel_ptsz_v7000, symbol_of(func),
			    launch(&config, func, args, true));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	return RUNTIME_CALL(cudaLaunchKernelExC, cudaLaunchKernelExC_v11060, symbol_of(func),
			    launch_ex(config, func, args, false));
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
				     void **args)
{
	return RUNTIME_CALL(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC_ptsz_v11060,
			    symbol_of(func), launch_ex(config, func, args, true));
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
					size_t sharedMem, cudaStream_t stream)
{
	const cudaLaunchConfig_t config = CONFIG;

	return RUNTIME_CALL(cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_v9000,
			    symbol_of(func), launch_cooperative(&config, func, args));
}

/* What code compiled by nvcc 13 calls. The real one jumps to cudaLaunchKernel, whose cbid therefore
 * fires. */
cudaError_t __cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
			       size_t sharedMem, cudaStream_t stream);
cudaError_t __cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
			       size_t sharedMem, cudaStream_t stream)
{
	return cudaLaunchKernel(func, gridDim, blockDim, args, sharedMem, stream);
}
