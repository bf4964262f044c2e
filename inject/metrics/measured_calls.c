#include "measured_calls.h"

#include <stdatomic.h>
#include <string.h>

#include "launch_choice.h"
#include "measurements.h"

#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_cbid.h"
#include "proto/record.h"

#define LAUNCH_T             442u /* cuLaunchKernel_ptsz */
#define LAUNCH_EX_T          653u /* cuLaunchKernelEx_ptsz */
#define LAUNCH_COOPERATIVE   477u
#define LAUNCH_COOPERATIVE_T 478u
#define CONTEXTS             64u
#define CONFIG_BYTES         (6 * sizeof(unsigned int)) /* grid and block */

static struct {
	const struct cupti_library *library;
	_Atomic uint64_t contexts[CONTEXTS]; /* id << 8 | device, by the id's last bits */
} self;

void measured_calls_init(const struct cupti_library *library)
{
	self.library = library;
	for (uint32_t i = 0; i < CONTEXTS; i++)
		atomic_store(&self.contexts[i], 0);
}

bool measured_calls_is_kernel(uint32_t cbid)
{
	return cbid == LAUNCH_CBID_KERNEL || cbid == LAUNCH_CBID_KERNEL_EX || cbid == LAUNCH_T ||
	       cbid == LAUNCH_EX_T;
}

bool measured_calls_is_cooperative(uint32_t cbid)
{
	return cbid == LAUNCH_COOPERATIVE || cbid == LAUNCH_COOPERATIVE_T;
}

uint32_t measured_calls_kernels(uint32_t cbid)
{
	if (!launch_cbid_is_launch(cbid))
		return 0;
	return measured_calls_is_kernel(cbid) || measured_calls_is_cooperative(cbid)
		       ? 1
		       : MEASUREMENTS_UNKNOWN;
}

uint32_t measured_calls_device(const struct cupti_callback_data *call)
{
	_Atomic uint64_t *known = &self.contexts[call->context_id % CONTEXTS];
	const uint64_t word = atomic_load_explicit(known, memory_order_relaxed);
	uint32_t device_id;

	if (word >> 8 == call->context_id)
		return word & 0xff;
	if (!call->context || !self.library->get_device_id ||
	    self.library->get_device_id(call->context, &device_id) != CUPTI_ABI_SUCCESS ||
	    device_id >= RECORD_DEVICES_MAX)
		return RECORD_DEVICES_MAX;
	atomic_store_explicit(known, (uint64_t)call->context_id << 8 | device_id,
			      memory_order_relaxed);
	return device_id;
}

/* The two calls begin with the function, or with a pointer to the configuration and the function. */
uint64_t measured_calls_key(uint32_t cbid, const struct cupti_callback_data *call,
			    uint32_t stack_id, bool with_config)
{
	const bool is_ex = cbid == LAUNCH_CBID_KERNEL_EX || cbid == LAUNCH_EX_T;
	const void *words[2] = {NULL, NULL}, *config;

	if (call->function_params)
		memcpy(words, call->function_params, sizeof(words));
	config = is_ex                   ? words[0]
		 : call->function_params ? (const char *)call->function_params + sizeof(words[0])
					 : NULL;
	return launch_choice_key(call->context_id, stack_id, words[is_ex],
				 with_config ? config : NULL, CONFIG_BYTES);
}
