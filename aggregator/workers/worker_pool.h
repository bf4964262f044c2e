/* Threads that do what may take long, so that another thread, the owner, need not wait. Tasks begin in the order in
 * which they are given. Without threads the owner's own thread does the work, within worker_pool_give(). Only the owner
 * calls these functions. */
#ifndef WORKER_POOL_H
#define WORKER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define WORKER_POOL_MIN                                                                            \
	2u /* by default: a disk that one thread waits for does not hold up the others */
#define WORKER_POOL_MAX 16u

struct batch_decoder;
struct worker_pool;

struct worker_task {
	/* Does the work. The decoder is the thread's, borrowed for the call. */
	void (*run)(struct worker_task *task, struct batch_decoder *decoder);
	/* Runs in the owner's thread after that, and may give the task again, or free it. */
	void (*done)(struct worker_task *task);
	struct worker_task *next; /* the pool's */
};

/* Returns how many threads to start: as many as there are CPUs that this process may use, within the bounds above. */
uint32_t worker_pool_threads(void);

/* nr_threads: up to WORKER_POOL_MAX; 0: none. wake_fd: an eventfd to which a thread adds 1 when a task is done and none
 * else waits for its done(); borrowed until stop. 0 or -errno; on error *pool is NULL. */
int worker_pool_start(uint32_t nr_threads, int wake_fd, struct worker_pool **pool);

/* Ends the threads, after the tasks that they do now. No further task runs, and no done(). Accepts NULL. */
void worker_pool_stop(struct worker_pool *pool);

/* Returns whether there are no threads. */
bool worker_pool_is_inline(const struct worker_pool *pool);

/* The task is the pool's until done(). */
void worker_pool_give(struct worker_pool *pool, struct worker_task *task);

/* Calls done() of all tasks whose run() has ended. */
void worker_pool_step(struct worker_pool *pool);

/* Returns whether worker_pool_step() has anything to do. */
bool worker_pool_has_done(struct worker_pool *pool);

/* Waits for the end of a task, and steps. Returns false, at once, if the pool has no task. */
bool worker_pool_wait(struct worker_pool *pool);

#endif
