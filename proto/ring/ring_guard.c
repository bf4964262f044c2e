#include "ring_guard.h"

#include <signal.h>

#include "proto/sparse_memory.h"

/* The lock is held for a few instructions, none of which can fault. So the handler may wait for it. */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static struct ring_guard *guards;
static struct sigaction before; /* the first guard */

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* Replaces the whole ring at once, because a ring without one of its parts is useless. */
static bool replace(const uint8_t *address)
{
	bool replaced = false;

	lock();
	for (struct ring_guard *guard = guards; guard; guard = guard->next) {
		if (address < guard->base || address >= guard->base + guard->size)
			continue;
		replaced = sparse_memory_replace(guard->base, guard->size);
		atomic_store_explicit(&guard->faulted, true, memory_order_relaxed);
		break;
	}
	unlock();
	return replaced;
}

/* Handles the kernel's signals only. A signal that a process sends comes at any moment, also while the lock is held. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code > 0 && replace(info->si_addr))
		return;
	/* The signal comes again, to the handler that was there before. A sent signal is sent again. */
	sigaction(signal, &before, NULL);
	if (info->si_code <= 0)
		raise(signal);
}

void ring_guard_add(struct ring_guard *guard, uint8_t *base, size_t size)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO};

	*guard = (struct ring_guard){.base = base, .size = size};
	action.sa_sigaction = on_fault;
	sigemptyset(&action.sa_mask);
	lock();
	if (!guards)
		sigaction(SIGBUS, &action, &before);
	guard->next = guards;
	guards = guard;
	unlock();
}

void ring_guard_remove(struct ring_guard *guard)
{
	lock();
	for (struct ring_guard **at = &guards; *at; at = &(*at)->next) {
		if (*at != guard)
			continue;
		*at = guard->next;
		if (!guards)
			sigaction(SIGBUS, &before, NULL);
		break;
	}
	unlock();
}
