#include "context_devices.h"

#include <stdatomic.h>
#include <stddef.h>

#include "proto/record.h"

/* context_id << 32 | device_id + 1; 0: empty. A slot is written once. */
static _Atomic uint64_t slots[CONTEXT_DEVICES_MAX];

/* Returns the slot of this context, or the empty slot for it; NULL: there is neither. */
static _Atomic uint64_t *find_slot(uint32_t context_id, uint64_t *value)
{
	for (uint32_t i = 0; i < CONTEXT_DEVICES_MAX; i++) {
		_Atomic uint64_t *slot = &slots[(context_id + i) % CONTEXT_DEVICES_MAX];

		*value = atomic_load_explicit(slot, memory_order_relaxed);
		if (*value == 0 || *value >> 32 == context_id)
			return slot;
	}
	return NULL;
}

void context_devices_put(uint32_t context_id, uint32_t device_id)
{
	uint64_t value, wanted = (uint64_t)context_id << 32 | (uint64_t)(device_id + 1);
	_Atomic uint64_t *slot;

	if (device_id >= RECORD_DEVICES_MAX)
		return;
	/* Another context may take the empty slot first. */
	do {
		slot = find_slot(context_id, &value);
	} while (slot && value == 0 && !atomic_compare_exchange_weak(slot, &value, wanted));
}

uint32_t context_devices_get(uint32_t context_id)
{
	uint64_t value;
	const _Atomic uint64_t *slot = find_slot(context_id, &value);

	return slot && value ? (uint32_t)value - 1 : RECORD_DEVICE_NONE;
}

void context_devices_clear(void)
{
	for (uint32_t i = 0; i < CONTEXT_DEVICES_MAX; i++)
		atomic_store(&slots[i], 0);
}
