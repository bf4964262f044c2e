#include "module_load.h"

#include <assert.h>
#include <stdatomic.h>

/* A bounded queue of many producers and one consumer. turn counts a slot's uses. It is 2 n when the slot is free for
 * the n-th time, and 2 n + 1 when it then holds a load. */
static struct {
	struct module_load load;
	_Atomic uint64_t turn;
} slots[MODULE_LOAD_QUEUE];

static _Atomic uint64_t next_put;
static uint64_t next_take; /* the consumer's */

static_assert((MODULE_LOAD_QUEUE & (MODULE_LOAD_QUEUE - 1)) == 0, "a power of two");

bool module_load_put(const struct module_load *load)
{
	uint64_t at = atomic_load_explicit(&next_put, memory_order_relaxed);

	for (;;) {
		uint64_t free_turn = at / MODULE_LOAD_QUEUE * 2;
		uint64_t turn = atomic_load_explicit(&slots[at % MODULE_LOAD_QUEUE].turn,
						     memory_order_acquire);

		if (turn < free_turn)
			return false;
		if (turn > free_turn)
			at = atomic_load_explicit(&next_put, memory_order_relaxed);
		else if (atomic_compare_exchange_weak_explicit(&next_put, &at, at + 1,
							       memory_order_relaxed,
							       memory_order_relaxed))
			break;
	}
	slots[at % MODULE_LOAD_QUEUE].load = *load;
	atomic_store_explicit(&slots[at % MODULE_LOAD_QUEUE].turn, at / MODULE_LOAD_QUEUE * 2 + 1,
			      memory_order_release);
	return true;
}

bool module_load_take(struct module_load *load)
{
	uint64_t at = next_take % MODULE_LOAD_QUEUE, round = next_take / MODULE_LOAD_QUEUE;

	if (atomic_load_explicit(&slots[at].turn, memory_order_acquire) != round * 2 + 1)
		return false;
	*load = slots[at].load;
	atomic_store_explicit(&slots[at].turn, round * 2 + 2, memory_order_release);
	next_take++;
	return true;
}
