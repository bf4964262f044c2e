/* Calls of collective libraries that came since the last commit, in order, and how many communicators each process has defined. Ids are the
 * store's. Part of the collection; single-threaded. */
#ifndef COLLECTIVE_LOG_H
#define COLLECTIVE_LOG_H

#include <stdint.h>

#include "proto/collective.h"

struct collective_log;

struct collective_log_communicator {
	uint32_t process;
	struct communicator communicator;
};

struct collective_log_call {
	uint32_t process;
	struct collective call; /* stack_id: a node of the store's */
};

/* NULL: out of memory. destroy() accepts NULL. */
struct collective_log *collective_log_create(void);
void collective_log_destroy(struct collective_log *log);

/* Communicators that the process has defined so far, ever. */
uint32_t collective_log_defined(const struct collective_log *log, uint32_t process);

/* A communicator, new (the next id) or known; a call. 0 or -ENOMEM: unchanged. */
int collective_log_put(struct collective_log *log, uint32_t process,
		       const struct communicator *communicator);
int collective_log_add(struct collective_log *log, uint32_t process, const struct collective *call);

/* What came since collective_log_saved(). Borrowed until the next change. */
const struct collective_log_communicator *
collective_log_communicators(const struct collective_log *log, uint32_t *count);
const struct collective_log_call *collective_log_calls(const struct collective_log *log,
						       uint32_t *count);
void collective_log_saved(struct collective_log *log);

/* From the store: the process has so many. 0 or -ENOMEM. */
int collective_log_load(struct collective_log *log, uint32_t process, uint32_t defined);

#endif
