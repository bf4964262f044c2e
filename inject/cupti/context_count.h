/* Whether the process works in more than one of CUDA's contexts, or in parts of one. Where there are several contexts
 * on one device CUPTI is never left: what waits for "the context" may have waited for a part, while its callback names
 * the whole. Any thread, CUPTI's callbacks included; lock-free. */
#ifndef CONTEXT_COUNT_H
#define CONTEXT_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The first context that was noted; 0: none yet. For context_count_note() alone. */
extern _Atomic uint32_t context_count_first __attribute__((visibility("hidden")));

/* The context differed from the first one a moment ago. For context_count_note() alone. */
void context_count_note_other(uint32_t context_id);

/* There is work in this context. Nothing but a load where it is the only one. */
static inline void context_count_note(uint32_t context_id)
{
	if (atomic_load_explicit(&context_count_first, memory_order_relaxed) != context_id)
		context_count_note_other(context_id);
}

/* A context was made on this device. */
void context_count_created(uint32_t device_id);

/* There are contexts that are parts of others. */
void context_count_parts(void);

/* Whether there was work in more than one context, or can be. */
bool context_count_has_several(void);

#endif
