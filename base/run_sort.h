/* Sorts what mostly is in order already, such as the events of several processes, each of which is in order: it finds
 * the runs that ascend, and merges them. Few runs cost little more than one pass. Any thread. */
#ifndef RUN_SORT_H
#define RUN_SORT_H

#include <stdint.h>

/* Sorts count items of size bytes, as compare says, which is as that of qsort(). Equal items keep their order. list may
 * be NULL if there are none. It needs memory for as many items again. 0; -ENOMEM: the list is as before. */
int run_sort(void *list, uint32_t count, uint32_t size, int (*compare)(const void *, const void *));

#endif
