#include "turn_lock.h"

void turn_lock_init(struct turn_lock *lock)
{
	pthread_mutex_init(&lock->lock, NULL);
	pthread_cond_init(&lock->turned, NULL);
	lock->turn = lock->next_turn = 0;
}

void turn_lock_fini(struct turn_lock *lock)
{
	pthread_cond_destroy(&lock->turned);
	pthread_mutex_destroy(&lock->lock);
}

void turn_lock_take(struct turn_lock *lock)
{
	pthread_mutex_lock(&lock->lock);
	const uint64_t turn = lock->next_turn++;
	while (lock->turn != turn)
		pthread_cond_wait(&lock->turned, &lock->lock);
	pthread_mutex_unlock(&lock->lock);
}

void turn_lock_give(struct turn_lock *lock)
{
	pthread_mutex_lock(&lock->lock);
	lock->turn++;
	pthread_cond_broadcast(&lock->turned);
	pthread_mutex_unlock(&lock->lock);
}

bool turn_lock_is_free(struct turn_lock *lock)
{
	pthread_mutex_lock(&lock->lock);
	bool is_free = lock->turn == lock->next_turn;
	pthread_mutex_unlock(&lock->lock);
	return is_free;
}
