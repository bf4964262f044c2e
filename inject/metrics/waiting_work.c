#include "waiting_work.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inject/base/monotonic.h"

#define FLUSH_NS 50000000u

static struct {
	void (*flush_soon)(void);
	_Atomic uint32_t nr_captures; /* at this moment */
	_Atomic uint32_t nr_kernels;  /* without record */
	_Atomic uint64_t next_flush_ns;
	atomic_bool in_graphs, is_dropped;
} self;

void waiting_work_init(void (*flush_soon)(void))
{
	self.flush_soon = flush_soon;
	atomic_store(&self.nr_captures, 0);
	atomic_store(&self.nr_kernels, 0);
	atomic_store(&self.next_flush_ns, 0);
	atomic_store(&self.in_graphs, false);
	atomic_store(&self.is_dropped, false);
}

bool waiting_work_is(const char *kernel)
{
	return kernel && (strstr(kernel, "nccl") || strstr(kernel, "nvshmem"));
}

void waiting_work_launched(void)
{
	if (waiting_work_is_capturing())
		atomic_store(&self.in_graphs, true);
	else
		atomic_fetch_add(&self.nr_kernels, 1);
}

static void take_one(_Atomic uint32_t *count)
{
	uint32_t nr = atomic_load(count);

	while (nr && !atomic_compare_exchange_weak(count, &nr, nr - 1))
		;
}

void waiting_work_ended(const char *kernel)
{
	if (atomic_load_explicit(&self.nr_kernels, memory_order_relaxed) && waiting_work_is(kernel))
		take_one(&self.nr_kernels);
}

void waiting_work_dropped(void)
{
	atomic_store(&self.is_dropped, true);
}

void waiting_work_capture(bool begins)
{
	if (begins)
		atomic_fetch_add(&self.nr_captures, 1);
	else
		take_one(&self.nr_captures);
}

bool waiting_work_is_capturing(void)
{
	return atomic_load(&self.nr_captures) != 0;
}

bool waiting_work_is_in_graphs(void)
{
	return atomic_load(&self.in_graphs);
}

bool waiting_work_is_missing(void)
{
	return atomic_load(&self.is_dropped) && atomic_load(&self.nr_kernels);
}

bool waiting_work_is_none(void)
{
	uint64_t now_ns, next_ns;

	if (waiting_work_is_capturing() || waiting_work_is_in_graphs())
		return false;
	if (!atomic_load(&self.nr_kernels))
		return true;
	now_ns = monotonic_ns();
	next_ns = atomic_load(&self.next_flush_ns);
	if (now_ns >= next_ns &&
	    atomic_compare_exchange_strong(&self.next_flush_ns, &next_ns, now_ns + FLUSH_NS))
		self.flush_soon();
	return false;
}
