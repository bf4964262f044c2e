/* Calls of collective libraries since the last commit, in order, and the number of communicators that each process has
 * defined. Also the kernels that may do the work of such calls; the store joins the two (store_joins.h). Ids are the
 * store's. Part of the collection; single-threaded. */
#ifndef COLLECTIVE_LOG_H
#define COLLECTIVE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/collective.h"

/* A process without a communicator keeps this many of its newest NCCL kernels. */
#define COLLECTIVE_LOG_EARLY 4096u
/* Kernels with other names are kept if a call has asked for them. A process remembers this many of its newest calls. */
#define COLLECTIVE_LOG_ASKED 4096u

struct collective_log;

struct collective_log_communicator {
	uint32_t process;
	struct communicator communicator;
};

/* The kernel that does the work of a call, or of all calls of its group. */
struct collective_gpu {
	uint64_t start_ns, ns;   /* CUPTI's clock */
	int64_t clock_offset_ns; /* CLOCK_MONOTONIC - CUPTI's clock, when the record came */
	uint32_t device_id;      /* CUDA ordinal */
	/* of the total that holds the kernel (fold_table.h), beside process and device; all 0 unless total_known */
	uint32_t context_id, stream_id, tid, node, name;
	bool known, clock_known, total_known;
};

struct collective_log_call {
	uint32_t process;
	struct collective call; /* stack_id: a node in the store */
	/* The rest is set only by collective_log_load_call(). */
	struct collective_gpu gpu;
	uint64_t row;       /* the store's id; 0: none yet */
	uint64_t waited_ns; /* what all ranks together waited in the collective, once it is folded */
	bool folded;        /* it is in the folded rows (collective_folds.h) */
};

struct collective_log_kernel {
	uint32_t process, correlation_id;
	uint64_t position; /* number of the kernel in its process, from 1 */
	struct collective_gpu gpu;
};

/* What the store needs of a process beside its calls. */
struct collective_log_joins {
	uint64_t kernels, saved; /* the last position; the last one at collective_log_saved() */
	bool ended;              /* the process has ended since collective_log_saved() */
};

/* NULL: out of memory. destroy() accepts NULL. */
struct collective_log *collective_log_create(void);
void collective_log_destroy(struct collective_log *log);

/* The number of communicators that the process has defined so far. */
uint32_t collective_log_defined(const struct collective_log *log, uint32_t process);

/* Adds or replaces a communicator: its id is known, or the next one. Adds a call. 0 or -ENOMEM: unchanged. */
int collective_log_put(struct collective_log *log, uint32_t process,
		       const struct communicator *communicator);
int collective_log_add(struct collective_log *log, uint32_t process, const struct collective *call);

/* Returns whether a kernel of the process is kept: it is NCCL's (is_nccl), or a call has asked for it. */
bool collective_log_wants(const struct collective_log *log, uint32_t process,
			  uint32_t correlation_id, bool is_nccl);

/* Adds a kernel of the process, with valid times and a launch of its own, if the log wants it. 0 or -ENOMEM:
 * unchanged. */
int collective_log_kernel(struct collective_log *log, uint32_t process, uint32_t correlation_id,
			  const struct collective_gpu *gpu, bool is_nccl);

/* Marks a process as ended: it sends neither kernels nor calls any more. */
void collective_log_end(struct collective_log *log, uint32_t process);

/* The additions since collective_log_saved(). Borrowed until the next change. */
const struct collective_log_communicator *
collective_log_communicators(const struct collective_log *log, uint32_t *count);
const struct collective_log_call *collective_log_calls(const struct collective_log *log,
						       uint32_t *count);
const struct collective_log_kernel *collective_log_kernels(const struct collective_log *log,
							   uint32_t *count);
/* Returns the entry of a process id, from 1; NULL: no process has so high an id. */
const struct collective_log_joins *collective_log_joins(const struct collective_log *log,
							uint32_t process);
void collective_log_saved(struct collective_log *log);

/* Loads the number of communicators that the process has defined. 0 or -ENOMEM. */
int collective_log_load(struct collective_log *log, uint32_t process, uint32_t defined);

/* Load from the store the number of the process's kernels; a call that waits for its kernel; a call with all that is
 * known of it, which asks for no kernel. 0 or -ENOMEM. */
int collective_log_load_kernels(struct collective_log *log, uint32_t process, uint64_t kernels);
int collective_log_ask(struct collective_log *log, uint32_t process, uint32_t correlation_id);
int collective_log_load_call(struct collective_log *log, const struct collective_log_call *call);

#endif
