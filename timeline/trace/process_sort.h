/* Sorts events of many processes, each of whose own are nearly in order. Used by one thread. */
#ifndef PROCESS_SORT_H
#define PROCESS_SORT_H

#include <stdint.h>

/* Sorts count items of size bytes by their process, and those of one process as compare says, as run_sort() does. `at`:
 * where in an item its process id is, a dense number of 32 bits. *list: of malloc(); it may be NULL if there are none.
 * Another list may take its place, with room for count items. 0; -ENOMEM: the list has the same items in any order. */
int process_sort(void **list, uint32_t count, uint32_t size, uint32_t at,
		 int (*compare)(const void *, const void *));

#endif
