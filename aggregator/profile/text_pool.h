/* Interned text: equal texts get one id, from 1 without gaps. A text may have any bytes, at most UINT32_MAX; a NUL
 * follows it that does not count. One pool is used by one thread. */
#ifndef TEXT_POOL_H
#define TEXT_POOL_H

#include <stdint.h>

struct text_pool;

/* NULL: out of memory. text_pool_destroy() accepts NULL. */
struct text_pool *text_pool_create(void);
void text_pool_destroy(struct text_pool *pool);

/* Copies data unless equal text is there. 0 or -ENOMEM: unchanged, *id is 0. */
int text_pool_intern(struct text_pool *pool, const char *data, uint32_t size, uint32_t *id);

/* 0: no equal text is there. */
uint32_t text_pool_find(const struct text_pool *pool, const char *data, uint32_t size);

/* Borrowed until destroy. id 0 or unknown: "", *size 0. size may be NULL. */
const char *text_pool_get(const struct text_pool *pool, uint32_t id, uint32_t *size);

uint32_t text_pool_count(const struct text_pool *pool);

#endif
