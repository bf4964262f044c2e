/* Growing arrays: a pointer to items, and the room that they have. An empty array is all zeroes. One thread at a time
 * may use an array. */
#ifndef ARRAY_H
#define ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Does the part of array_reserve() that is for a room that is too small. */
int array_grow(void *items, uint32_t *room, uint64_t need, size_t size);

/* Makes room for need items of size bytes in all. items is the address of the pointer to the items, which the caller
 * owns (free()). A room that grows at least doubles, and new items are not zeroed. 0; -ENOMEM, also if need is above
 * UINT32_MAX - 1: nothing has changed. It is inline because each GPU record's total passes here. */
static inline int array_reserve(void *items, uint32_t *room, uint64_t need, size_t size)
{
	return need <= *room ? 0 : array_grow(items, room, need, size);
}

/* As array_reserve(), but new items are zeroed. */
int array_reserve_zeroed(void *items, uint32_t *room, uint64_t need, size_t size);

/* Appends a copy of item, of size bytes, which lies elsewhere. The array has no room but what this function makes: that
 * for the next power of two, at least 16. 0; -ENOMEM: nothing has changed. */
int array_append(void *items, uint32_t *count, const void *item, size_t size);

/* Frees texts and the array of them, which may be NULL. */
void array_free_texts(char **texts, uint32_t nr_texts);

#endif
