/* Calls of NCCL, told by NCCL itself, for which the guest is a profiler plugin (nccl_plugin.h has the interface's
 * versions): each collective, send and receive becomes a collective_record in the ring, with the correlation id of the
 * launch that carries it.
 *
 * What is relied upon (docs/collectives.md has it in full): NCCL tells of a plan's tasks right after it has launched
 * the plan's kernel, on the thread that did, the Group event first; and on all ranks in the same order, as far as
 * collectives are concerned.
 *
 * Threads: any of the application's, and NCCL's. No lock is waited for but at a communicator's first call, nothing is
 * allocated but a thread's own state (launch_thread.h), errno is kept. */
#ifndef NCCL_PROFILER_H
#define NCCL_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/collective.h"

#define NCCL_PROFILER_COMMUNICATORS                                                                \
	4096u /* of a process at the same time; of what comes beyond, calls are lost */

struct definition_writer;
struct nccl_communicator;
struct record_ring;

struct nccl_profiler_parts { /* borrowed for good */
	struct record_ring *ring;
	struct definition_writer *definitions;
	/* Whether calls are recorded now. */
	bool (*is_recording)(void);
};

/* From now on events are recorded where parts say so; before, calls are only numbered. Once. */
void nccl_profiler_start(const struct nccl_profiler_parts *parts);

/* Somebody may come and start it: communicators are to be known until then. */
void nccl_profiler_expect(void);

/* Whether NCCL is to tell of anything. */
bool nccl_profiler_is_wanted(void);

/* A communicator of this process, as far as it is known: nr_ranks and rank COLLECTIVE_NOT_KNOWN, hash 0 until
 * nccl_profiler_learn(). NULL: no room. Its owner gives it to nccl_profiler_forget() (accepts NULL). */
struct nccl_communicator *nccl_profiler_meet(uint64_t hash, uint32_t rank, uint32_t nr_ranks);
void nccl_profiler_learn(struct nccl_communicator *communicator, uint64_t hash, uint32_t rank);
void nccl_profiler_forget(struct nccl_communicator *communicator);

/* Of an API event: a handle that says when it began, and whether it is captured into a graph; never NULL. */
void *nccl_profiler_called(bool captured);

/* The calling thread is about to launch a plan on a stream; then the plan has been posted, by the thread that has just
 * launched it or by one that has not. */
void nccl_profiler_launches(const void *stream);
void nccl_profiler_posted(void);

/* A task of the plan that was posted last on this thread. */
struct nccl_task {
	/* enum collective_function; COLLECTIVE_FUNCTIONS: one that is not known */
	uint32_t function;
	uint32_t data_type; /* enum collective_type */
	uint32_t reduce_op; /* enum collective_op */
	uint32_t peer;      /* COLLECTIVE_NOT_KNOWN: none */
	uint64_t count;
	uint64_t function_sequence; /* as NCCL counts; 0: it does not, and we do */
	const void *called;         /* of nccl_profiler_called(); NULL: not known */
};

/* communicator NULL: lost. */
void nccl_profiler_take(struct nccl_communicator *communicator, const struct nccl_task *task);

/* By NCCL's names, "AllReduce", "ncclFloat32"; COLLECTIVE_FUNCTIONS, COLLECTIVE_TYPE_NONE: unknown. NULL is. */
uint32_t nccl_profiler_function(const char *name);
uint32_t nccl_profiler_type(const char *name);

#endif
