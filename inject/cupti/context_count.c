#include "context_count.h"

_Atomic uint32_t context_count_first;

static _Atomic bool has_several;
static _Atomic uint64_t devices; /* one bit for each device that has a context; of 64 */

void context_count_note_other(uint32_t context_id)
{
	uint32_t known = atomic_load_explicit(&context_count_first, memory_order_relaxed);

	if (known == 0)
		atomic_compare_exchange_strong(&context_count_first, &known, context_id);
	if (known != 0 && known != context_id)
		atomic_store_explicit(&has_several, true, memory_order_relaxed);
}

void context_count_parts(void)
{
	atomic_store_explicit(&has_several, true, memory_order_relaxed);
}

void context_count_created(uint32_t device_id)
{
	uint64_t device = 1ull << (device_id % 64);

	if (atomic_fetch_or(&devices, device) & device)
		context_count_parts();
}

bool context_count_has_several(void)
{
	return atomic_load(&has_several);
}
