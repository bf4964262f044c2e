#include "buffer_pool.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "proto/sparse_memory.h"

#define WORD_BITS 64u
static_assert(BUFFER_POOL_MIN == WORD_BITS && BUFFER_POOL_READY <= BUFFER_POOL_MIN, "whole words");
#define NR_WORDS   (BUFFER_POOL_MAX / WORD_BITS)
#define KEPT_BYTES (64u << 10) /* the most of a buffer that stays in memory */

struct buffer_pool {
	uint8_t *base;
	uint32_t nr_buffers;                /* a multiple of WORD_BITS */
	uint32_t bytes;                     /* of a buffer */
	_Atomic uint64_t taken[NR_WORDS];   /* a bit a buffer */
	atomic_bool ready[BUFFER_POOL_MAX]; /* readable and writable; changed by the owner only */
};

static size_t pool_bytes(const struct buffer_pool *pool)
{
	return (size_t)pool->nr_buffers * pool->bytes;
}

struct buffer_pool *buffer_pool_create(uint32_t nr_buffers, uint32_t bytes)
{
	struct buffer_pool *pool = mmap(NULL, sizeof(*pool), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert(nr_buffers && nr_buffers <= BUFFER_POOL_MAX && nr_buffers % WORD_BITS == 0);
	if (pool == MAP_FAILED)
		return NULL;
	pool->nr_buffers = nr_buffers;
	pool->bytes = bytes;
	pool->base = sparse_memory_map(pool_bytes(pool), PROT_NONE);
	if (!pool->base) {
		munmap(pool, sizeof(*pool));
		return NULL;
	}
	/* A forked child would only pay for copies of the pages' table entries. */
	madvise(pool->base, pool_bytes(pool), MADV_DONTFORK);
	if (sparse_memory_open(pool->base, (size_t)BUFFER_POOL_READY * bytes) == 0)
		for (uint32_t i = 0; i < BUFFER_POOL_READY; i++)
			atomic_init(&pool->ready[i], true);
	return pool;
}

uint32_t buffer_pool_bytes(const struct buffer_pool *pool)
{
	return pool->bytes;
}

void buffer_pool_destroy(struct buffer_pool *pool)
{
	if (!pool)
		return;
	munmap(pool->base, pool_bytes(pool));
	munmap(pool, sizeof(*pool));
}

/* Claims the lowest free buffer, so that few buffers are ever touched. */
static int take_lowest(struct buffer_pool *pool)
{
	for (uint32_t word = 0; word < pool->nr_buffers / WORD_BITS; word++) {
		uint64_t taken = atomic_load_explicit(&pool->taken[word], memory_order_relaxed);

		while (~taken) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~taken);

			if (atomic_compare_exchange_weak_explicit(
				    &pool->taken[word], &taken, taken | 1ull << bit,
				    memory_order_acquire, memory_order_relaxed))
				return (int)(word * WORD_BITS + bit);
		}
	}
	return -1;
}

static void release(struct buffer_pool *pool, uint32_t index)
{
	atomic_fetch_and_explicit(&pool->taken[index / WORD_BITS], ~(1ull << index % WORD_BITS),
				  memory_order_release);
}

uint8_t *buffer_pool_claim(struct buffer_pool *pool)
{
	int index = take_lowest(pool);

	if (index < 0)
		return NULL;

	uint8_t *buffer = pool->base + (size_t)index * pool->bytes;
	if (!atomic_load_explicit(&pool->ready[index], memory_order_relaxed)) {
		int saved_errno = errno;

		if (sparse_memory_open(buffer, pool->bytes) < 0) {
			errno = saved_errno;
			release(pool, (uint32_t)index);
			return NULL;
		}
		atomic_store_explicit(&pool->ready[index], true, memory_order_relaxed);
	}
	return buffer;
}

bool buffer_pool_is_crowded(const struct buffer_pool *pool, const uint8_t *buffer)
{
	size_t index = (size_t)(buffer - pool->base) / pool->bytes;

	return index >= pool->nr_buffers / 4 && index % WORD_BITS == 0;
}

int buffer_pool_give_back(struct buffer_pool *pool, uint8_t *buffer, size_t used_bytes)
{
	size_t offset = (size_t)(buffer - pool->base);

	if (buffer < pool->base || offset >= pool_bytes(pool) || offset % pool->bytes != 0)
		return -EINVAL;

	uint32_t index = (uint32_t)(offset / pool->bytes);
	if (used_bytes > pool->bytes)
		used_bytes = pool->bytes;
	/* A thread that ended soon has used little, and returning so little costs more than it saves. */
	if (index < BUFFER_POOL_READY || used_bytes <= KEPT_BYTES ||
	    madvise(buffer, pool->bytes, MADV_DONTNEED) < 0)
		memset(buffer, 0, used_bytes);
	release(pool, index);
	return 0;
}

void buffer_pool_trim(struct buffer_pool *pool)
{
	for (uint32_t i = 0; i < pool->nr_buffers; i++) {
		uint64_t bit = 1ull << i % WORD_BITS;

		if (!atomic_load_explicit(&pool->ready[i], memory_order_relaxed) ||
		    atomic_fetch_or_explicit(&pool->taken[i / WORD_BITS], bit,
					     memory_order_acquire) &
			    bit)
			continue;
		madvise(pool->base + (size_t)i * pool->bytes, pool->bytes, MADV_DONTNEED);
		release(pool, i);
	}
}

void buffer_pool_reclaim(struct buffer_pool *pool)
{
	for (uint32_t i = 0; i < pool->nr_buffers; i++)
		if (atomic_load_explicit(&pool->taken[i / WORD_BITS], memory_order_relaxed) &
		    1ull << i % WORD_BITS)
			buffer_pool_give_back(pool, pool->base + (size_t)i * pool->bytes,
					      pool->bytes);
}
