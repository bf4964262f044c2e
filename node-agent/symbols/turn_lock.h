/* A lock that goes to the thread that has waited longest. Any thread calls. */
#ifndef TURN_LOCK_H
#define TURN_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Embedded. */
struct turn_lock {
	pthread_mutex_t lock;
	pthread_cond_t turned;
	uint64_t turn, next_turn; /* equal: no thread has the lock */
};

void turn_lock_init(struct turn_lock *lock);
void turn_lock_fini(struct turn_lock *lock);

void turn_lock_take(struct turn_lock *lock);
void turn_lock_give(struct turn_lock *lock);

/* Returns whether no thread has the lock or waits for it. */
bool turn_lock_is_free(struct turn_lock *lock);

#endif
