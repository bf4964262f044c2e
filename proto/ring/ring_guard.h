/* Contains a fault (SIGBUS) in memory that a guest shares with us. The guest can take pages back at any moment, and the
 * kernel may have no pages to replace them. The guard then replaces the mapping by zeros of our own. The access goes
 * on, and ring_guard_faulted() tells the reader. While there are guards, SIGBUS is theirs; a fault elsewhere ends the
 * process as usual. Threads: any, each with guards of its own. */
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

/* Guards size bytes at base (whole pages) until ring_guard_remove(). The guard must not move until then. Remove it
 * before the memory is unmapped; ring_guard_remove() accepts zeroed memory. */
void ring_guard_add(struct ring_guard *guard, uint8_t *base, size_t size);
void ring_guard_remove(struct ring_guard *guard);

/* A fault came: the memory is no longer the guest's, and has been zeros since. */
static inline bool ring_guard_faulted(const struct ring_guard *guard)
{
	return atomic_load_explicit(&guard->faulted, memory_order_relaxed);
}

#endif
