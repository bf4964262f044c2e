/* Writes a page set to its file in a thread of its own, because a large file takes long, and a slow disk longer. The
 * thread reads a snapshot (page_snapshot.h) that nobody changes. Used by one thread. */
#ifndef PAGE_SAVER_H
#define PAGE_SAVER_H

#include <pthread.h>
#include <stdbool.h>

struct page_set;
struct page_snapshot;

struct page_saver {                     /* zeroed but for these two: idle */
	struct page_set *set;           /* borrowed */
	const char *path;               /* borrowed */
	struct page_snapshot *snapshot; /* that the thread writes; NULL: there is no thread */
	pthread_t thread;
};

/* Starts to write what the set has now. 0; -EBUSY: it still writes; -ENOMEM; -EAGAIN: no thread can be had. */
int page_saver_start(struct page_saver *saver);

/* Returns whether a file that was started is written by now, or waits for that. *result is then that of
 * page_file_write(). false also if none was started. */
bool page_saver_end(struct page_saver *saver, bool wait, int *result);

#endif
