/* The newest profiles of many nodes, as their pages came (message_pages). In memory; page_set_save() writes them to a
 * file. Single-threaded. */
#ifndef PAGE_SET_H
#define PAGE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "profile_page.h"

#include "proto/batch/message.h"

#define PAGE_SET_WRITERS_MAX 65536u

/* Behind a store's path: the file of the pages that are to become part of it. */
#define PAGE_SET_SUFFIX ".nodes"
/* Behind the path of the set's file: a second file, by which a reader asks for a newer first one. Whoever writes the
 * first one then removes the second. */
#define PAGE_SET_WANTED ".wanted"

struct page_set;
struct page_snapshot;

/* NULL: out of memory. page_set_destroy() accepts NULL. */
struct page_set *page_set_create(void);
void page_set_destroy(struct page_set *set);

/* A writer begins a new epoch: forgets what came of a round that is not complete. The next round may have any number,
 * and has all pages of the profile. Until it is complete the writer has the pages of the round before. An unknown
 * writer needs no such call. */
void page_set_begin(struct page_set *set, const uint8_t writer[WIRE_EPOCH_SIZE]);

/* Takes a message of a round. A round counts when its last message has come; until then the writer has the pages of the
 * round before. A message of another round than the one that is coming begins a new one, and what came of the other is
 * forgotten. 0; -ENOMEM; -EPROTO, with a reason in *reason (a constant): the message cannot be, and nothing has
 * changed. */
int page_set_take(struct page_set *set, const struct message_pages *message, const char **reason);

/* Notes that the writer has said goodbye, until it begins anew. */
void page_set_end(struct page_set *set, const uint8_t writer[WIRE_EPOCH_SIZE]);

uint32_t page_set_writers(const struct page_set *set);
/* The writer's newest complete round; 0: none. Both by index, from 0, in the order in which writers came first. */
uint64_t page_set_round(const struct page_set *set, uint32_t writer);
const uint8_t *page_set_writer(const struct page_set *set, uint32_t writer);
bool page_set_ended(const struct page_set *set, uint32_t writer); /* page_set_end() */

uint32_t page_set_pages(const struct page_set *set, uint32_t writer); /* of that round */

/* Pages that this round lacks because they were damaged in a file, and writers of which all is lost in this way. */
uint32_t page_set_lost_pages(const struct page_set *set, uint32_t writer);
uint32_t page_set_lost_writers(const struct page_set *set);

/* Gives each page of a writer's newest complete round to take(), in the order of page_reader_read(), as long as take()
 * returns 0. Returns what take() did. */
int page_set_read(const struct page_set *set, uint32_t writer,
		  int (*take)(void *context, const struct profile_page *page), void *context);

uint64_t page_set_bytes(const struct page_set *set); /* of all pages that it holds */

/* Whether a round has been completed, or a goodbye noted, since the last page_set_save() or page_set_snapshot(). */
bool page_set_changed(const struct page_set *set);

/* Writes all complete rounds to the path: one sequential write of a new file, which then replaces the old one. 0 or
 * -errno: the old file stays. */
int page_set_save(struct page_set *set, const char *path);

/* Makes a snapshot of all complete rounds, for another thread's page_file_write(). The set goes on meanwhile, and keeps
 * all pages until page_set_release(). At most one at a time (asserted). NULL: out of memory. */
struct page_snapshot *page_set_snapshot(struct page_set *set);
/* saved: false: the set still has changes. */
void page_set_release(struct page_set *set, struct page_snapshot *snapshot, bool saved);

/* Reads such a file, as far as it is sound. The set then tells what was damaged, and so does a file of it: a writer's
 * pages until its next complete round, and writers that are not known any more for ever. 0; -ENOENT; -EPROTO: it is no
 * such file, or its head is damaged; -EACCES, -EIO, -ENOMEM. On error *set is
 * NULL. */
int page_set_load(const char *path, struct page_set **set);

#endif
