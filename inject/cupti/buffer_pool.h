/* Holds the buffers that CUPTI fills, in a fixed address range. The first part of the range is usable from the start,
 * the rest when it is first needed. Any thread claims and gives back, lock-free and without malloc. A claimed buffer is
 * zeroed. A forked child does not have the buffers, and must not call any function here. */
#ifndef BUFFER_POOL_H
#define BUFFER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFER_POOL_BYTES     (2u << 20)  /* size of a buffer, at most */
#define BUFFER_POOL_BYTES_MIN (64u << 10) /* and at least */
#define BUFFER_POOL_MAX       1024u       /* buffers, at most: CUPTI keeps one for each thread */
#define BUFFER_POOL_MIN       64u
/* usable from the start; only a trim returns them to the system */
#define BUFFER_POOL_READY 32u

struct buffer_pool;

/* Creates a pool. nr_buffers is a multiple of BUFFER_POOL_MIN. bytes is the size of each buffer, a power of two. NULL:
 * out of memory. The caller owns the pool; buffer_pool_destroy() accepts NULL. */
struct buffer_pool *buffer_pool_create(uint32_t nr_buffers, uint32_t bytes);
void buffer_pool_destroy(struct buffer_pool *pool);

uint32_t buffer_pool_bytes(const struct buffer_pool *pool); /* of a buffer */

/* Claims a zeroed buffer of buffer_pool_bytes(), 8-aligned. The caller owns it until buffer_pool_give_back(). NULL:
 * none is left. */
uint8_t *buffer_pool_claim(struct buffer_pool *pool);

/* Returns whether this claimed buffer is one of every 64 from a quarter of the pool on. The lowest free buffer is
 * always claimed first, so at least that many buffers are out. */
bool buffer_pool_is_crowded(const struct buffer_pool *pool, const uint8_t *buffer);

/* Takes a buffer back. Its first used_bytes may have been written. Returns 0; -EINVAL: it is not from this pool. */
int buffer_pool_give_back(struct buffer_pool *pool, uint8_t *buffer, size_t used_bytes);

/* Gives the memory of all buffers that are not out back to the system. */
void buffer_pool_trim(struct buffer_pool *pool);

/* Takes back all buffers that are out. Their holder must be gone. */
void buffer_pool_reclaim(struct buffer_pool *pool);

#endif
