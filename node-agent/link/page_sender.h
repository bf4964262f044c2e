/* Makes the messages of one round: the pages of a profile that differ from those of the last round. Used by one
 * thread. */
#ifndef PAGE_SENDER_H
#define PAGE_SENDER_H

#include "proto/batch/message.h"

struct page_sender;

/* NULL: out of memory. page_sender_destroy() accepts NULL. */
struct page_sender *page_sender_create(void);
void page_sender_destroy(struct page_sender *sender);

/* Forgets what was sent, so that the next round has all pages. */
void page_sender_forget(struct page_sender *sender);

/* Reads the store at this path, which a thread of this process may be writing, and gives send() the messages of the
 * round. There are none if nothing has changed. If it would be more than max_bytes, the lightest totals are merged,
 * and a note in the profile says how much they hold (heavy_totals.h). 0; 1: it cannot be read so far, because there
 * is none or its writer has locked it, and nothing was sent; the error of send(), which ends the round; -EPROTO: it
 * is no store; -EIO, -ENOMEM. After an error call page_sender_forget(). */
int page_sender_send(struct page_sender *sender, const char *store_path, uint64_t max_bytes,
		     int (*send)(void *context, struct message *message), void *context);

#endif
