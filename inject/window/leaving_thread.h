/* Tells whether the thread that left CUPTI has returned from the callback in which it did so. A subscription in that
 * callback crashes the process, as measured. So the helper does not subscribe while a thread is there. The thread may
 * lose its processor on its last steps, and nobody calls the guest when it is out. So the helper looks at the
 * processor time that it has used since, or whether it sleeps, which it never does on its way. In a virtual machine
 * that is no proof: time that the host takes away may count as the thread's. */
#ifndef LEAVING_THREAD_H
#define LEAVING_THREAD_H

#include <stdbool.h>

/* Processor time after which the thread counts as out. The way takes some 10 us. */
#define LEAVING_THREAD_NS 200000u

/* The calling thread has left CUPTI and is about to return from the callback. */
void leaving_thread_note(void);

/* Returns whether no thread is on its way out of such a callback. A thread that is found asleep is out if it has slept
 * for LEAVING_THREAD_NS since an earlier call. Outside of CUPTI's callbacks, on any thread. No two threads may call
 * these functions at the same time. */
bool leaving_thread_is_out(void);

#endif
