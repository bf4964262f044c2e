/* The buffers that CUPTI fills: a fixed address range, of which the first part is usable from the
 * start and the rest when it is first needed. Any thread claims and gives back; lock-free, no
 * malloc. A claimed buffer is zeroed. A forked child does not have the buffers: there, nothing here may be called. */
#ifndef BUFFER_POOL_H
#define BUFFER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFER_POOL_BYTES     (2u << 20)  /* a buffer at most */
#define BUFFER_POOL_BYTES_MIN (64u << 10) /* and at least */
#define BUFFER_POOL_MAX       1024u       /* buffers at most: CUPTI keeps one a thread */
#define BUFFER_POOL_MIN       64u
#define BUFFER_POOL_READY     32u /* usable from the start, and returned to the system by a trim alone */

struct buffer_pool;

/* nr_buffers: a multiple of BUFFER_POOL_MIN; bytes: of each, a power of two. NULL: out of memory. The caller owns it;
 * buffer_pool_destroy() accepts NULL. */
struct buffer_pool *buffer_pool_create(uint32_t nr_buffers, uint32_t bytes);
void buffer_pool_destroy(struct buffer_pool *pool);

uint32_t buffer_pool_bytes(const struct buffer_pool *pool); /* of a buffer */

/* A zeroed buffer of buffer_pool_bytes(), 8-aligned; the caller owns it until
 * buffer_pool_give_back(). NULL: none left. */
uint8_t *buffer_pool_claim(struct buffer_pool *pool);

/* Whether this claimed buffer is one of every 64 from a quarter of the pool on: since the lowest free one is claimed
 * first, so many or more are out. */
bool buffer_pool_is_crowded(const struct buffer_pool *pool, const uint8_t *buffer);

/* Takes a buffer of which the first used_bytes may have been written. Returns 0; -EINVAL: not from
 * this pool. */
int buffer_pool_give_back(struct buffer_pool *pool, uint8_t *buffer, size_t used_bytes);

/* Gives the memory of all buffers that are not out back to the system. */
void buffer_pool_trim(struct buffer_pool *pool);

/* Takes back all buffers that are out: whoever had them is gone. */
void buffer_pool_reclaim(struct buffer_pool *pool);

#endif
