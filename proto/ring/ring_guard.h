/* Contains a fault (SIGBUS) in memory that a guest shares with us: it can take pages back at any moment, and the
 * kernel may have none to put in their place. What was mapped is then replaced by zeros of our own, the access goes
 * on, and the reader finds out. While there are guards, SIGBUS is theirs; a fault elsewhere ends the process, as it
 * would without. Threads: any, each with guards of its own. */
#ifndef RING_GUARD_H
#define RING_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded; zeroed memory guards nothing. */
struct ring_guard {
	struct ring_guard *next;
	uint8_t *base;
	size_t size;
	_Atomic bool faulted;
};

/* From now on guards size bytes at base, whole pages. The guard stays where it is until ring_guard_remove(), which
 * comes before the memory is unmapped, and accepts zeroed memory. */
void ring_guard_add(struct ring_guard *guard, uint8_t *base, size_t size);
void ring_guard_remove(struct ring_guard *guard);

/* The memory is not the guest's any more: it was zeros from some moment on. */
static inline bool ring_guard_faulted(const struct ring_guard *guard)
{
	return atomic_load_explicit(&guard->faulted, memory_order_relaxed);
}

#endif
