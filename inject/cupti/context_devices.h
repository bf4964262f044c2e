/* Knows the GPU of each CUDA context, for records that only name a context. It learns from created contexts and from
 * records of GPU work. There is one table per process. Any thread may call. Lock-free; keeps errno. */
#ifndef CONTEXT_DEVICES_H
#define CONTEXT_DEVICES_H

#include <stdint.h>

#define CONTEXT_DEVICES_MAX 1024u /* contexts; further ones stay unknown */

/* Stores a context's device. An id never means another context, so a known entry stays as it is. */
void context_devices_put(uint32_t context_id, uint32_t device_id);

/* Returns a context's device. RECORD_DEVICE_NONE: not known. */
uint32_t context_devices_get(uint32_t context_id);

/* Forgets all contexts (tests). */
void context_devices_clear(void);

#endif
