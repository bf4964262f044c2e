/* The line tables of a node's cubins, each once. All ranks of a job load the same cubins, and theirs are equal byte by
 * byte. They are found by a digest with a secret of this process (base/hash_index.h), so that no user can make a cubin
 * that stands for another one's. Nothing is kept on disk: a table is made in about the time that its file would be
 * read. One thread at a time. */
#ifndef CUBIN_CACHE_H
#define CUBIN_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct cubin_cache;
struct cubin_lines;

/* NULL: out of memory. The caller owns the cache, and destroys it after all tables that use it. cubin_cache_destroy()
 * accepts NULL. */
struct cubin_cache *cubin_cache_create(void);
void cubin_cache_destroy(struct cubin_cache *cache);

/* Finds the line table of an image, or makes it. 0, and the caller releases *id by cubin_cache_put(); or an error of
 * cubin_lines_create(), and *id is 0. Images without a table are not remembered. */
int cubin_cache_get(struct cubin_cache *cache, const void *image, size_t size, uint32_t *id);

/* The table goes when no one has it any more. */
void cubin_cache_put(struct cubin_cache *cache, uint32_t id);

/* Borrowed until cubin_cache_put(). */
const struct cubin_lines *cubin_cache_lines(const struct cubin_cache *cache, uint32_t id);

/* Returns how many tables the cache has now. */
uint32_t cubin_cache_count(const struct cubin_cache *cache);

#endif
