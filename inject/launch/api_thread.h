/* Keeps one thread's API calls: the sums by function, and the calls in progress. Only that thread writes, without a
 * lock; the helper thread reads at any time. launch_thread.h points to it. It is mapped at the thread's first call.
 * When the thread has ended and the helper thread has taken its sums over, another thread may use it. */
#ifndef API_THREAD_H
#define API_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "api_select.h"

/* calls within calls; if there are more, the outermost are forgotten */
#define API_THREAD_DEPTH    16u
#define API_THREAD_FAILURES 256u /* pairs of function and error */
/* threads that call at the same time or ended in the last second */
#define API_THREADS_MAX 4096u

struct api_sums { /* sums of one function; version is odd while the thread writes the others */
	_Atomic uint64_t version;
	_Atomic uint64_t count, total_ns, min_ns, max_ns, errors;
};

struct api_failure {
	_Atomic uint64_t key; /* (row + 1) << 32 | error; 0: free */
	_Atomic uint64_t count;
};

struct api_call { /* a call in progress */
	uint32_t row, correlation_id;
	uint64_t start_ns;
};

enum api_thread_state {
	API_THREAD_FREE = 0,
	API_THREAD_OWNED = 1,
	API_THREAD_ENDED = 2, /* the helper thread has not taken its sums over yet */
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

/* A copy of one function's sums, all from one moment. */
struct api_snapshot {
	uint64_t count, total_ns, min_ns, max_ns, errors;
};

/* Returns a table for a thread that has none: one that an earlier thread no longer needs, or a new one. NULL: there is
 * no room. Keeps errno. */
struct api_thread *api_thread_take(void);

/* Leaves the table to the helper thread, because its thread ends. */
void api_thread_end(struct api_thread *thread);

/* Note that a call begins, and that it ends. The second returns whether the beginning was noted, and gives the time of
 * it. Calls within this call whose ends did not come are forgotten. */
void api_thread_enter(struct api_thread *thread, uint32_t row, uint32_t correlation_id,
		      uint64_t now_ns);
bool api_thread_leave(struct api_thread *thread, uint32_t row, uint32_t correlation_id,
		      uint64_t *start_ns);

/* Adds a call that took ns and returned error (0: none). Returns false if the error found no room; the call is counted
 * all the same. */
bool api_thread_count(struct api_thread *thread, uint32_t row, uint64_t ns, uint32_t error);

/* Returns the first of all tables that ever were; `next` leads to the others. Any thread may call. */
struct api_thread *api_thread_first(void);

/* Copies one function's sums. The helper thread calls it. */
void api_thread_read(const struct api_thread *thread, uint32_t row, struct api_snapshot *snapshot);
/* Empties a table whose thread has ended, and gives it to other threads. The helper thread calls it. */
void api_thread_free(struct api_thread *thread);

#endif
