/* Makes one cubin's line table in a worker's thread (cubin_cache.h), because a cubin of some MB takes half a second.
 * One thread, the agent's loop, calls. */
#ifndef CUBIN_TASK_H
#define CUBIN_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cubin_cache;
struct cubin_task;

/* Gives the image to the cache's worker, in the user's name. Takes the bytes, which are freed by free(), also on error.
 * 0, and *task is to be ended or left; or -ENOMEM. */
int cubin_task_begin(struct cubin_cache *cache, uid_t user, uint8_t *bytes, size_t size,
		     struct cubin_task **task);

/* Once it is done it stays so. Without a worker it is done from the beginning. */
bool cubin_task_is_done(const struct cubin_task *task);

/* Ends a task that is done, as cubin_cache_get(). -ECANCELED: the worker has ended before. */
int cubin_task_end(struct cubin_task *task, uint32_t *lines);

/* Ends a task whose table nobody needs any more. Its bytes go at once, unless the worker has begun. */
void cubin_task_leave(struct cubin_task *task);

#endif
