/* Which GPU each CUDA context is on, for records that name a context alone. Learnt when contexts are created and from
 * records of GPU work. One per process; any thread, lock-free; keeps errno. */
#ifndef CONTEXT_DEVICES_H
#define CONTEXT_DEVICES_H

#include <stdint.h>

#define CONTEXT_DEVICES_MAX 1024u /* contexts; those beyond stay unknown */

/* An id never means another context, so what is known stays as it is. */
void context_devices_put(uint32_t context_id, uint32_t device_id);

/* RECORD_DEVICE_NONE: not known. */
uint32_t context_devices_get(uint32_t context_id);

/* For tests. */
void context_devices_clear(void);

#endif
