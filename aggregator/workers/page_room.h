/* Memory for the profiles that nodes fold: all jobs share max_bytes, and the jobs of one user have half of that. Any
 * thread. */
#ifndef PAGE_ROOM_H
#define PAGE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_ROOM_SHARE 2u /* one byte in so many */

struct page_room;
struct page_user;

/* One job's part. One thread at a time uses it. */
struct page_share {             /* zeroed: it is not bounded */
	struct page_room *room; /* borrowed until leave */
	struct page_user *user;
	uint64_t bytes;
};

/* max_bytes 0: that share of the host's memory. NULL: out of memory. Destroy it when all shares have left; accepts
 * NULL. */
struct page_room *page_room_create(uint64_t max_bytes);
void page_room_destroy(struct page_room *room);

/* Begins a share of this user, whose name is copied. 0 or -ENOMEM. */
int page_share_join(struct page_share *share, struct page_room *room, const char *user);
void page_share_leave(struct page_share *share); /* zeroed memory is fine */

/* Takes so many bytes more for the share. Returns false, and takes nothing: there is no room. */
bool page_share_take(struct page_share *share, uint64_t bytes);

/* The share has so many bytes now. */
void page_share_set(struct page_share *share, uint64_t bytes);

#endif
