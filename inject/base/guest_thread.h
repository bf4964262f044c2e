/* Starts a thread of the guest in the application's process. The thread is detached. All signals are blocked on it, so
 * that none of the application's handlers ever runs there. */
#ifndef GUEST_THREAD_H
#define GUEST_THREAD_H

/* Returns 0, or -errno of pthread_create(). */
int guest_thread_start(void *(*run)(void *argument));

#endif
