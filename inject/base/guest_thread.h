/* A thread of the guest's own in the application's process: detached, with all signals blocked, so that none of the
 * application's handlers ever runs on it. */
#ifndef GUEST_THREAD_H
#define GUEST_THREAD_H

/* Returns 0, or -errno of pthread_create(). */
int guest_thread_start(void *(*run)(void *argument));

#endif
