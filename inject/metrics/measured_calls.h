/* What driver calls are to measurements: their device, their kernels, and a key that tells launches apart. Any thread;
 * no lock. */
#ifndef MEASURED_CALLS_H
#define MEASURED_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct cupti_callback_data;
struct cupti_library;

/* Forgets all. The library is borrowed for good. */
void measured_calls_init(const struct cupti_library *library);

/* Returns whether a call launches one kernel that can be measured alone. */
bool measured_calls_is_kernel(uint32_t cbid);

/* Returns whether a call launches a cooperative kernel. */
bool measured_calls_is_cooperative(uint32_t cbid);

/* Returns how many kernels a call will have records of; MEASUREMENTS_UNKNOWN: that is not known. */
uint32_t measured_calls_kernels(uint32_t cbid);

/* Returns the device that a call works on; RECORD_DEVICES_MAX: not known. CUPTI is asked once for each context. */
uint32_t measured_calls_device(const struct cupti_callback_data *call);

/* Returns the key (launch_choice.h) of a call that launches such a kernel. with_config: by its grid and block, too. */
uint64_t measured_calls_key(uint32_t cbid, const struct cupti_callback_data *call,
			    uint32_t stack_id, bool with_config);

#endif
