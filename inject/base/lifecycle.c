#include "lifecycle.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "launch_word.h"

/* The C library's own functions. The usual wrappers are linked statically, and need newer libraries. */
int __cxa_atexit(void (*handler)(void *), void *argument, void *library);
int __cxa_at_quick_exit(void (*handler)(void *), void *library);
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
		      void *library);

LAUNCH_WORD atomic_int lifecycle_word;

static void (*end_handler)(void);
static atomic_flag ended = ATOMIC_FLAG_INIT;
static atomic_flag again = ATOMIC_FLAG_INIT;
static atomic_flag late = ATOMIC_FLAG_INIT;
static pid_t own_pid;

static void in_child(void)
{
	atomic_store_explicit(&lifecycle_word, LIFECYCLE_FORKED, memory_order_relaxed);
}

static void at_exit(void *argument)
{
	(void)argument;
	/* Compares the pid as well, because a child made by a bare clone() runs no fork handler. */
	if (lifecycle_state() == LIFECYCLE_FORKED || getpid() != own_pid)
		return;
	if (!atomic_flag_test_and_set(&ended))
		end_handler();
}

int lifecycle_start(void (*at_end)(void))
{
	end_handler = at_end;
	own_pid = getpid();
	if (__register_atfork(NULL, NULL, in_child, NULL) != 0 ||
	    __cxa_atexit(at_exit, NULL, NULL) != 0 || __cxa_at_quick_exit(at_exit, NULL) != 0)
		return -ENOMEM;
	atomic_store_explicit(&lifecycle_word, LIFECYCLE_ON, memory_order_release);
	return 0;
}

void lifecycle_off(void)
{
	int on = LIFECYCLE_ON;

	atomic_compare_exchange_strong(&lifecycle_word, &on, LIFECYCLE_OFF);
}

void lifecycle_context_created(void)
{
	if (!atomic_flag_test_and_set(&again))
		__cxa_atexit(at_exit, NULL, NULL);
}

void lifecycle_came_late(void)
{
	if (!atomic_flag_test_and_set(&late))
		__cxa_atexit(at_exit, NULL, NULL);
}
