/* The line tables of a node's cubins, each once. All ranks of a job load the same cubins, and theirs are equal byte by
 * byte. They are found by a digest with a secret of this process (base/hash_index.h), so that no user can make a cubin
 * that stands for another one's. Nothing is kept on disk: a table is made in about the time that its file would be
 * read. Any thread calls, except where it says otherwise. */
#ifndef CUBIN_CACHE_H
#define CUBIN_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "node-agent/base/agent_task.h"

struct cubin_cache;
struct cubin_lines;

/* What runs the tasks that make tables (cubin_task.h). */
struct cubin_worker {
	agent_task_give *give;
	void *context;
};

/* The worker is copied; its context is borrowed until cubin_cache_destroy(). NULL: tables are made at once, in the
 * thread that wants them. NULL: out of memory. The caller owns the cache, and destroys it after all tables that use it.
 * cubin_cache_destroy() accepts NULL. */
struct cubin_cache *cubin_cache_create(const struct cubin_worker *worker);
void cubin_cache_destroy(struct cubin_cache *cache);

/* For a task: the cache stays until it is given back, also after cubin_cache_destroy(). */
void cubin_cache_hold(struct cubin_cache *cache);

/* NULL: there is none. Borrowed until cubin_cache_destroy(), for the thread that calls that. */
const struct cubin_worker *cubin_cache_worker(const struct cubin_cache *cache);

/* Finds the line table of an image, or makes it, while other threads may use the cache. 0, and the caller releases *id
 * by cubin_cache_put(); or an error of cubin_lines_create(), and *id is 0. Images without a table are not remembered.
 */
int cubin_cache_get(struct cubin_cache *cache, const void *image, size_t size, uint32_t *id);

/* The table goes when no one has it any more. */
void cubin_cache_put(struct cubin_cache *cache, uint32_t id);

/* Borrowed until cubin_cache_put(). */
const struct cubin_lines *cubin_cache_lines(struct cubin_cache *cache, uint32_t id);

/* Returns how many tables the cache has now. */
uint32_t cubin_cache_count(struct cubin_cache *cache);

#endif
