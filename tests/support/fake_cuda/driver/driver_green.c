/* Green contexts of the driver API: parts of a device's multiprocessors. That they hold back what runs in them is not
 * simulated. */
#include "driver_call.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_SMS 132u /* as CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
#define PART_SMS   8u   /* least, and step, of compute capability 9.0 */
#define DESC_MAGIC 0x73696d6465736372ull

/* Nothing frees a descriptor: they stay in reach. */
struct description {
	uint64_t magic;
	struct description *next;
	uint32_t multiprocessors;
};

static _Atomic(struct description *) descriptions;

static void describe(CUdevResource *resource, uint32_t multiprocessors)
{
	memset(resource, 0, sizeof(*resource));
	resource->type = CU_DEV_RESOURCE_TYPE_SM;
	resource->sm.smCount = multiprocessors;
	resource->sm.minSmPartitionSize = PART_SMS;
	resource->sm.smCoscheduledAlignment = PART_SMS;
}

static CUresult device_resource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
	if (!sim_device_visible(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!resource || type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_VALUE;
	describe(resource, DEVICE_SMS);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
	return DRIVER_CALL(cuDeviceGetDevResource, NULL, NULL,
			   device_resource(device, resource, type));
}

static CUresult split(CUdevResource *result, unsigned int *nr_groups, const CUdevResource *input,
		      CUdevResource *remaining, unsigned int least)
{
	if (!nr_groups || !input || input->type != CU_DEV_RESOURCE_TYPE_SM ||
	    least > input->sm.smCount)
		return CUDA_ERROR_INVALID_VALUE;
	uint32_t part = (least + PART_SMS - 1) / PART_SMS * PART_SMS;
	part = part ? part : PART_SMS;
	uint32_t most = input->sm.smCount / part;
	if (!result || *nr_groups > most)
		*nr_groups = most;
	for (uint32_t i = 0; result && i < *nr_groups; i++)
		describe(&result[i], part);
	if (remaining)
		describe(remaining, input->sm.smCount - (result ? *nr_groups * part : 0));
	return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
				     const CUdevResource *input, CUdevResource *remaining,
				     unsigned int useFlags, unsigned int minCount)
{
	(void)useFlags;
	return DRIVER_CALL(cuDevSmResourceSplitByCount, NULL, NULL,
			   split(result, nbGroups, input, remaining, minCount));
}

static CUresult generate(CUdevResourceDesc *handle, const CUdevResource *resources, unsigned int nr)
{
	struct description *description = calloc(1, sizeof(*description));

	*handle = NULL;
	if (!description)
		return CUDA_ERROR_OUT_OF_MEMORY;
	description->magic = DESC_MAGIC;
	for (unsigned int i = 0; i < nr; i++)
		description->multiprocessors += resources[i].sm.smCount;
	description->next = atomic_load(&descriptions);
	while (!atomic_compare_exchange_weak(&descriptions, &description->next, description))
		;
	*handle = (CUdevResourceDesc)description;
	return nr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
				   unsigned int nbResources)
{
	return DRIVER_CALL(cuDevResourceGenerateDesc, NULL, NULL,
			   generate(phDesc, resources, nbResources));
}

static CUresult create_green(CUgreenCtx *handle, CUdevResourceDesc desc, CUdevice device,
			     unsigned int flags)
{
	const struct description *description = (const struct description *)desc;

	*handle = NULL;
	if (!sim_device_visible(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!description || description->magic != DESC_MAGIC ||
	    flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_context *primary = sim_context_primary_retain(device);
	if (!primary)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*handle = (CUgreenCtx)sim_context_create_part(primary, description->multiprocessors);
	if (!*handle)
		sim_context_primary_release(device);
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
			  unsigned int flags)
{
	return DRIVER_CALL(cuGreenCtxCreate, NULL, NULL, create_green(phCtx, desc, dev, flags));
}

static struct sim_context *check_green(CUgreenCtx handle)
{
	struct sim_context *context = sim_context_check(handle);

	return context && context->parent ? context : NULL;
}

static CUresult destroy_green(CUgreenCtx handle)
{
	struct sim_context *context = check_green(handle);

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_context_destroy(context);
	sim_context_primary_release(context->ordinal);
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx hCtx)
{
	return DRIVER_CALL(cuGreenCtxDestroy, NULL, NULL, destroy_green(hCtx));
}

static CUresult convert(CUcontext *context, CUgreenCtx handle)
{
	*context = (CUcontext)check_green(handle);
	return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
	return DRIVER_CALL(cuCtxFromGreenCtx, NULL, NULL, convert(pContext, hCtx));
}

static CUresult create_stream(CUstream *handle, CUgreenCtx green, unsigned int flags, int priority)
{
	struct sim_context *context = check_green(green);

	*handle = NULL;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (flags != CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUstream)sim_stream_create(context, priority, true);
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
				int priority)
{
	return DRIVER_CALL(cuGreenCtxStreamCreate, NULL, NULL,
			   create_stream(phStream, greenCtx, flags, priority));
}
