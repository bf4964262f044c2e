/* What one thread keeps of its API calls: sums by function, and the calls that it is in. Written by that thread alone,
 * without a lock; read by the helper thread at any time. Hangs on launch_thread.h; mapped at the thread's first call,
 * used again by another thread once the helper has taken over what an ended one left behind. */
#ifndef API_THREAD_H
#define API_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "api_select.h"

#define API_THREAD_DEPTH    16u /* calls within calls; of deeper ones the outermost are forgotten */
#define API_THREAD_FAILURES 256u  /* pairs of function and error */
#define API_THREADS_MAX     4096u /* that call at once, or ended in the last second */

struct api_sums { /* of one function; version is odd while the thread writes the others */
	_Atomic uint64_t version;
	_Atomic uint64_t count, total_ns, min_ns, max_ns, errors;
};

struct api_failure {
	_Atomic uint64_t key; /* (row + 1) << 32 | error; 0: free */
	_Atomic uint64_t count;
};

struct api_call { /* in progress */
	uint32_t row, correlation_id;
	uint64_t start_ns;
};

enum api_thread_state {
	API_THREAD_FREE = 0,
	API_THREAD_OWNED = 1,
	API_THREAD_ENDED = 2, /* its sums are still to be taken over */
};

struct api_thread {
	struct api_thread *next; /* constant once it is in the list */
	_Atomic uint32_t state;  /* enum api_thread_state */
	uint32_t depth;
	struct api_call calls[API_THREAD_DEPTH];
	_Atomic uint32_t nr_used;
	uint16_t used[API_SELECT_ROWS]; /* rows with a count, in the order of their first call */
	struct api_failure failures[API_THREAD_FAILURES];
	struct api_sums sums[API_SELECT_ROWS];
};

/* A copy of one function's sums, all of one moment. */
struct api_snapshot {
	uint64_t count, total_ns, min_ns, max_ns, errors;
};

/* A table for a thread that has none: one that a thread before it is through with, or a new one. NULL: there is no
 * room. errno is kept. */
struct api_thread *api_thread_take(void);

/* Its thread ends: leaves it to the helper thread. */
void api_thread_end(struct api_thread *thread);

/* A call begins; it ends: returns whether it had begun. A call within, of which no end came, is forgotten. */
void api_thread_enter(struct api_thread *thread, uint32_t row, uint32_t correlation_id,
		      uint64_t now_ns);
bool api_thread_leave(struct api_thread *thread, uint32_t row, uint32_t correlation_id,
		      uint64_t *start_ns);

/* Adds a call that took ns and returned error (0: none). false: the error found no room, the rest is counted. */
bool api_thread_count(struct api_thread *thread, uint32_t row, uint64_t ns, uint32_t error);

/* All threads' tables that ever were; follow next. Any thread. */
struct api_thread *api_thread_first(void);

/* For the helper thread. */
void api_thread_read(const struct api_thread *thread, uint32_t row, struct api_snapshot *snapshot);
/* Empties a table whose thread has ended, and gives it to others. */
void api_thread_free(struct api_thread *thread);

#endif
