/* The sums of GPUs of nodes that fold their own events, from the pages that these send. Their waits for other ranks are
 * not known. One thread at a time uses one. */
#ifndef PAGE_SUMS_H
#define PAGE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "metrics_sums.h"

struct page_set;
struct page_sums;

/* After a look at new rounds it rests for so many times what that took. */
#define PAGE_SUMS_REST_TIMES 9u

/* The set is borrowed until destroy. NULL: out of memory. destroy() accepts NULL. */
struct page_sums *page_sums_create(const struct page_set *set);
void page_sums_destroy(struct page_sums *pages);

/* Adds the sums of the newest complete round of each node, or, while it rests, of those that it has looked at: then
 * *is_behind. looks: it does not rest. What is damaged, or too much for the memory, is as it was. 0 or -ENOMEM: sums
 * lack some of it. */
int page_sums_add(struct page_sums *pages, uint64_t now_ns, bool looks, struct metrics_sums *sums,
		  bool *is_behind);

#endif
