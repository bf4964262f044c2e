#include "unified_memory.h"

#include "cupti_library.h"

static int configure(const struct cupti_library *library, uint32_t scope, uint32_t nr_kinds)
{
	struct cupti_unified_config configs[CUPTI_ABI_UNIFIED_KINDS];

	for (uint32_t i = 0; i < nr_kinds; i++)
		configs[i] =
			(struct cupti_unified_config){.scope = scope, .kind = i + 1, .enable = 1};
	return library->configure_unified_memory(configs, nr_kinds);
}

/* Switches all kinds on in one call, because the last call may be the one that counts. If this CUPTI does not know all
 * kinds, it switches the oldest four on: migrations and page faults. The scope has had no meaning since CUDA 7.0, but
 * CUPTI must accept it. */
int unified_memory_start(const struct cupti_library *library)
{
	static const uint32_t scopes[] = {CUPTI_ABI_UNIFIED_ALL_DEVICES,
					  CUPTI_ABI_UNIFIED_ONE_DEVICE};
	static const uint32_t kinds[] = {CUPTI_ABI_UNIFIED_DTOD, CUPTI_ABI_UNIFIED_GPU_FAULT};
	int result = CUPTI_ABI_NOT_INITIALIZED;

	if (!library->configure_unified_memory)
		return result;
	for (uint32_t i = 0; i < 4 && result != CUPTI_ABI_SUCCESS; i++)
		result = configure(library, scopes[i / 2], kinds[i % 2]);
	return result == CUPTI_ABI_SUCCESS ? library->activity_enable(CUPTI_ABI_KIND_UNIFIED)
					   : result;
}
