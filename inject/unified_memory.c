#include "unified_memory.h"

#include "cupti_library.h"

static int configure(const struct cupti_library *library, uint32_t nr_kinds)
{
	struct cupti_unified_config configs[CUPTI_ABI_UNIFIED_KINDS];

	for (uint32_t i = 0; i < nr_kinds; i++)
		configs[i] = (struct cupti_unified_config){
			.scope = CUPTI_ABI_UNIFIED_ALL_DEVICES, .kind = i + 1, .enable = 1};
	return library->configure_unified_memory(configs, nr_kinds);
}

/* All kinds in one call, as the last call may be the one that counts; where not all are known, the oldest four: migrations
 * and page faults. */
int unified_memory_start(const struct cupti_library *library)
{
	int result;

	if (!library->configure_unified_memory)
		return CUPTI_ABI_NOT_INITIALIZED;
	result = configure(library, CUPTI_ABI_UNIFIED_DTOD);
	if (result != CUPTI_ABI_SUCCESS)
		result = configure(library, CUPTI_ABI_UNIFIED_GPU_FAULT);
	return result == CUPTI_ABI_SUCCESS ? library->activity_enable(CUPTI_ABI_KIND_UNIFIED)
					   : result;
}
