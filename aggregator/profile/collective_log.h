/* Calls of collective libraries that came since the last commit, in order, and how many communicators each process has
 * defined; and the kernels that may carry such calls, which the store joins with them (store_joins.h). Ids are the
 * store's. Part of the collection; single-threaded. */
#ifndef COLLECTIVE_LOG_H
#define COLLECTIVE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/collective.h"
#include "proto/record.h"

/* Of a process that has no communicator yet, so many of NCCL's kernels, the newest, wait for it. */
#define COLLECTIVE_LOG_EARLY 4096u
/* A kernel of any other name counts if a call has asked for it: of a process the newest so many, at most. */
#define COLLECTIVE_LOG_ASKED 4096u

struct collective_log;

struct collective_log_communicator {
	uint32_t process;
	struct communicator communicator;
};

/* The kernel that carries a call, alone or with others of its group. */
struct collective_gpu {
	uint64_t start_ns, ns;   /* CUPTI's clock */
	int64_t clock_offset_ns; /* CLOCK_MONOTONIC - CUPTI's clock, when the record came */
	uint32_t device_id;      /* CUDA ordinal */
	bool known, clock_known;
};

struct collective_log_call {
	uint32_t process;
	struct collective call;    /* stack_id: a node of the store's */
	struct collective_gpu gpu; /* only of what was read from a store */
};

struct collective_log_kernel {
	uint32_t process, correlation_id;
	uint64_t position; /* the process's n-th, from 1 */
	struct collective_gpu gpu;
};

/* Of a process, what the store has to know beside its calls. */
struct collective_log_joins {
	uint64_t kernels, saved; /* the last position, and as of collective_log_saved() */
	bool ended;              /* since then */
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

/* A kernel of the process, with valid times and by a launch of its own: kept if it is one of NCCL's (is_nccl) or a call
 * has asked for it. clock_offset_ns NULL: not known. 0 or -ENOMEM: unchanged. */
int collective_log_kernel(struct collective_log *log, uint32_t process,
			  const struct gpu_record *record, bool is_nccl,
			  const int64_t *clock_offset_ns);

/* No kernel and no call of the process will come any more. */
void collective_log_end(struct collective_log *log, uint32_t process);

/* What came since collective_log_saved(). Borrowed until the next change. */
const struct collective_log_communicator *
collective_log_communicators(const struct collective_log *log, uint32_t *count);
const struct collective_log_call *collective_log_calls(const struct collective_log *log,
						       uint32_t *count);
const struct collective_log_kernel *collective_log_kernels(const struct collective_log *log,
							   uint32_t *count);
/* Processes by id, from 1; NULL: of none above. */
const struct collective_log_joins *collective_log_joins(const struct collective_log *log,
							uint32_t process);
void collective_log_saved(struct collective_log *log);

/* From the store: the process has so many. 0 or -ENOMEM. */
int collective_log_load(struct collective_log *log, uint32_t process, uint32_t defined);

/* From the store: of the process so many kernels were counted; a call that waits for its kernel; and of the call that
 * was added last, its kernel. 0 or -ENOMEM. */
int collective_log_load_kernels(struct collective_log *log, uint32_t process, uint64_t kernels);
int collective_log_ask(struct collective_log *log, uint32_t process, uint32_t correlation_id);
void collective_log_set_gpu(struct collective_log *log, const struct collective_gpu *gpu);

#endif
