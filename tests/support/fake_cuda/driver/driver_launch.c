/* Modules, functions and kernel launches of the driver API. */
#include "driver_call.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_module.h"
#include "driver_task.h"
#include "fake_cuda.h"
#include "sim/sim_clock.h"
#include "sim/sim_config.h"
#include "sim/sim_host.h"
#include "sim/sim_kernel.h"

#define MODULE_MAGIC     0x73696d6d6f64756cull
#define MAX_THREADS      1024u
#define MAX_SHARED_BYTES (227u << 10)
#define DURATION_MARK    "flamegrid-fake-ns:"

struct module {
	uint64_t magic;
	struct module *next;
	uint32_t module_id;
	uint32_t nr_kernels;
	struct sim_kernel **kernels;
};

static _Atomic uint32_t next_module_id = 1;
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;
static struct module *modules; /* those that the program did not unload are not its leak */
static _Atomic uint64_t fail_counter;

static bool add_kernel(struct module *module, struct sim_kernel *kernel)
{
	struct sim_kernel **grown =
		realloc(module->kernels, (module->nr_kernels + 1) * sizeof(struct sim_kernel *));

	if (!grown)
		return false;
	module->kernels = grown;
	module->kernels[module->nr_kernels++] = kernel;
	return true;
}

/* Finds `.entry NAME` outside comments; a comment "// flamegrid-fake-ns: MIN [MAX]" gives the next
 * entry's duration. */
static bool parse_ptx(struct module *module, const char *text)
{
	struct sim_duration duration = {0, 0, 0};
	bool has_duration = false;

	while (*text) {
		if (strncmp(text, "//", 2) == 0) {
			const char *mark = text + 2 + strspn(text + 2, " \t");
			unsigned long long min_ns, max_ns;
			int fields = 0;

			if (strncmp(mark, DURATION_MARK, strlen(DURATION_MARK)) == 0)
				fields = sscanf(mark + strlen(DURATION_MARK), "%llu%*[ \t]%llu",
						&min_ns, &max_ns);
			if (fields >= 1) {
				duration.min_ns = min_ns;
				duration.max_ns = fields == 2 ? max_ns : min_ns;
				has_duration = true;
			}
			text += strcspn(text, "\n");
		} else if (strncmp(text, ".entry", 6) == 0 && isspace((unsigned char)text[6])) {
			const char *name = text + 6 + strspn(text + 6, " \t\n");
			size_t length = strcspn(name, " \t\n({");
			struct sim_kernel *kernel =
				length ? sim_kernel_intern(name, length,
							   has_duration ? &duration : NULL)
				       : NULL;

			if (!kernel || !add_kernel(module, kernel))
				return false;
			has_duration = false;
			text = name + length;
		} else {
			text++;
		}
	}
	return true;
}

static void add_module(struct module *module)
{
	pthread_mutex_lock(&modules_lock);
	module->next = modules;
	modules = module;
	pthread_mutex_unlock(&modules_lock);
}

static void free_module(struct module *module)
{
	pthread_mutex_lock(&modules_lock);
	for (struct module **link = &modules; *link; link = &(*link)->next) {
		if (*link == module) {
			*link = module->next;
			break;
		}
	}
	pthread_mutex_unlock(&modules_lock);
	module->magic = 0;
	free(module->kernels);
	free(module);
}

static void report_module(uint32_t cbid, const struct module *module, const char *image)
{
	CUpti_ModuleResourceData data = {.moduleId = module->module_id,
					 .cubinSize = image ? strlen(image) : 0,
					 .pCubin = image};

	sim_trace_resource(cbid, sim_context_current(), NULL, &data);
}

CUresult driver_module_load(CUmodule *handle, const void *image)
{
	struct sim_context *context;
	CUresult error = driver_find_context(NULL, &context);

	*handle = NULL;
	if (error != CUDA_SUCCESS)
		return error;
	if (!image || !strstr(image, ".version"))
		return CUDA_ERROR_INVALID_IMAGE;
	struct module *module = calloc(1, sizeof(*module));
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->magic = MODULE_MAGIC;
	module->module_id = atomic_fetch_add(&next_module_id, 1);
	if (!parse_ptx(module, image)) {
		free_module(module);
		return CUDA_ERROR_INVALID_PTX;
	}
	add_module(module);
	report_module(CUPTI_CBID_RESOURCE_MODULE_LOADED, module, image);
	*handle = (CUmodule)module;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	return DRIVER_CALL(
		cuModuleLoadData, NULL, NULL,
		(sim_host_loaded("cuModuleLoadData"), driver_module_load(module, image)));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
			    CUjit_option *options, void **optionValues)
{
	(void)numOptions;
	(void)options;
	(void)optionValues;
	return DRIVER_CALL(
		cuModuleLoadDataEx, NULL, NULL,
		(sim_host_loaded("cuModuleLoadDataEx"), driver_module_load(module, image)));
}

static struct module *check_module(CUmodule handle)
{
	struct module *module = (struct module *)handle;

	return module && module->magic == MODULE_MAGIC ? module : NULL;
}

CUresult driver_module_unload(CUmodule handle)
{
	struct module *module = check_module(handle);

	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	report_module(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, module, NULL);
	free_module(module);
	return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule hmod)
{
	return DRIVER_CALL(cuModuleUnload, NULL, NULL, driver_module_unload(hmod));
}

CUresult driver_module_function(CUfunction *function, CUmodule handle, const char *name)
{
	const struct module *module = check_module(handle);

	*function = NULL;
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	for (uint32_t i = 0; i < module->nr_kernels; i++) {
		if (strcmp(sim_kernel_name(module->kernels[i]), name) == 0) {
			*function = (CUfunction)module->kernels[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	return DRIVER_CALL(cuModuleGetFunction, NULL, NULL,
			   (sim_host_loaded("cuModuleGetFunction"),
			    driver_module_function(hfunc, hmod, name)));
}

static bool shape_is_valid(const CUlaunchConfig *config)
{
	uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY;

	if (config->gridDimX == 0 || config->gridDimY == 0 || config->gridDimZ == 0)
		return false;
	if (threads == 0 || threads > MAX_THREADS || config->blockDimZ == 0 ||
	    config->blockDimZ > 64)
		return false;
	return threads * config->blockDimZ <= MAX_THREADS &&
	       config->sharedMemBytes <= MAX_SHARED_BYTES;
}

CUresult driver_kernel_task(const CUlaunchConfig *config, CUfunction function, bool cooperative,
			    struct sim_task *task)
{
	struct sim_kernel *kernel = sim_kernel_check(function);

	*task = (struct sim_task){.kernel = kernel};
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!shape_is_valid(config))
		return CUDA_ERROR_INVALID_VALUE;
	task->operation = (struct sim_operation){
		.kind = SIM_KERNEL,
		.name = sim_kernel_name(kernel),
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.shared_bytes = config->sharedMemBytes,
		.static_shared_bytes = sim_kernel_static_shared(kernel),
		.registers = sim_kernel_registers(kernel),
		.cooperative = cooperative,
	};
	return CUDA_SUCCESS;
}

static CUresult run_kernel(const CUlaunchConfig *config, CUfunction function, bool per_thread,
			   bool cooperative)
{
	struct sim_stream *stream;
	struct sim_task task;
	CUresult error = driver_find_stream(config->hStream, per_thread, &stream);

	if (error == CUDA_SUCCESS)
		error = driver_kernel_task(config, function, cooperative, &task);
	if (error != CUDA_SUCCESS)
		return error;
	if (driver_launch_fails())
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	return driver_submit(&task, stream);
}

bool driver_launch_fails(void)
{
	return sim_config_one_in(sim_config_get(SIM_FAIL_LAUNCH), &fail_counter);
}

static CUresult launch(const CUlaunchConfig *config, CUfunction function, bool per_thread,
		       bool cooperative)
{
	uint64_t cost_ns = sim_config_get(SIM_LAUNCH_NS);
	uint64_t begin_ns = cost_ns ? sim_clock_host_ns() : 0;
	CUresult error = run_kernel(config, function, per_thread, cooperative);

	sim_truth_count_launch(error != CUDA_SUCCESS);
	if (cost_ns)
		sim_clock_spend(begin_ns, cost_ns);
	return error;
}

const char *driver_kernel_symbol(CUfunction function)
{
	const struct sim_kernel *kernel = sim_kernel_check(function);

	return kernel ? sim_kernel_name(kernel) : NULL;
}

#define LAUNCH_ARGUMENTS                                                                           \
	CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,         \
		unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,            \
		unsigned int sharedMemBytes, CUstream hStream, void **kernelParams
#define LAUNCH_CONFIG                                                                              \
	{                                                                                          \
		.gridDimX = gridDimX, .gridDimY = gridDimY, .gridDimZ = gridDimZ,                  \
		.blockDimX = blockDimX, .blockDimY = blockDimY, .blockDimZ = blockDimZ,            \
		.sharedMemBytes = sharedMemBytes, .hStream = hStream                               \
	}

CUresult cuLaunchKernel(LAUNCH_ARGUMENTS, void **extra)
{
	const cuLaunchKernel_params params = {f,         gridDimX,     gridDimY,  gridDimZ,
					      blockDimX, blockDimY,    blockDimZ, sharedMemBytes,
					      hStream,   kernelParams, extra};
	const CUlaunchConfig config = LAUNCH_CONFIG;

	return DRIVER_CALL(cuLaunchKernel, &params, driver_kernel_symbol(f),
			   launch(&config, f, false, false));
}

CUresult cuLaunchKernel_ptsz(LAUNCH_ARGUMENTS, void **extra)
{
	const cuLaunchKernel_params params = {f,         gridDimX,     gridDimY,  gridDimZ,
					      blockDimX, blockDimY,    blockDimZ, sharedMemBytes,
					      hStream,   kernelParams, extra};
	const CUlaunchConfig config = LAUNCH_CONFIG;

	return DRIVER_CALL(cuLaunchKernel_ptsz, &params, driver_kernel_symbol(f),
			   launch(&config, f, true, false));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
			  void **extra)
{
	const cuLaunchKernelEx_params params = {config, f, kernelParams, extra};

	return DRIVER_CALL(cuLaunchKernelEx, &params, driver_kernel_symbol(f),
			   launch(config, f, false, false));
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
			       void **extra)
{
	const cuLaunchKernelEx_params params = {config, f, kernelParams, extra};

	return DRIVER_CALL(cuLaunchKernelEx_ptsz, &params, driver_kernel_symbol(f),
			   launch(config, f, true, false));
}

CUresult cuLaunchCooperativeKernel(LAUNCH_ARGUMENTS)
{
	const cuLaunchCooperativeKernel_params params = {
		f,         gridDimX,  gridDimY,       gridDimZ, blockDimX,
		blockDimY, blockDimZ, sharedMemBytes, hStream,  kernelParams};
	const CUlaunchConfig config = LAUNCH_CONFIG;

	return DRIVER_CALL(cuLaunchCooperativeKernel, &params, driver_kernel_symbol(f),
			   launch(&config, f, false, true));
}

CUresult cuLaunchCooperativeKernel_ptsz(LAUNCH_ARGUMENTS)
{
	const cuLaunchCooperativeKernel_params params = {
		f,         gridDimX,  gridDimY,       gridDimZ, blockDimX,
		blockDimY, blockDimZ, sharedMemBytes, hStream,  kernelParams};
	const CUlaunchConfig config = LAUNCH_CONFIG;

	return DRIVER_CALL(cuLaunchCooperativeKernel_ptsz, &params, driver_kernel_symbol(f),
			   launch(&config, f, true, true));
}
