/* Knows whether the process works in more than one CUDA context, or in parts of one. CUPTI is never left while there
 * are several contexts on one device. A wait for "the context" may then have been for a part, although its callback
 * names the whole. Any thread may call, also within CUPTI's callbacks. Lock-free. */
#ifndef CONTEXT_COUNT_H
#define CONTEXT_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The first context that was noted; 0: none yet. Only context_count_note() uses it. */
extern _Atomic uint32_t context_count_first __attribute__((visibility("hidden")));

/* Notes a context that differed from the first one a moment ago. Only context_count_note() calls it. */
void context_count_note_other(uint32_t context_id);

/* Notes that there is work in this context. If it is the only context, this is one load. */
static inline void context_count_note(uint32_t context_id)
{
	if (atomic_load_explicit(&context_count_first, memory_order_relaxed) != context_id)
		context_count_note_other(context_id);
}

/* Notes that a context was created on this device. */
void context_count_created(uint32_t device_id);

/* Notes that there are contexts that are parts of others. */
void context_count_parts(void);

/* Returns whether there was work in more than one context, or can be. */
bool context_count_has_several(void);

#endif
