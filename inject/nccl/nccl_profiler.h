/* Records NCCL's calls, which NCCL itself reports, because the guest is a profiler plugin (nccl_plugin.h has the
 * interface's versions). Each collective, send and receive becomes a collective_record in the ring, with the
 * correlation id of the launch that carries it.
 *
 * It relies on the order in which NCCL reports (docs/collectives.md has it in full). NCCL reports a plan's tasks right
 * after it has launched the plan's kernel, on the thread that launched, and the Group event first. All ranks report
 * collectives in the same order.
 *
 * The functions run on any thread of the application or of NCCL. They wait for a lock only at a communicator's first
 * call, and allocate only a thread's own state (launch_thread.h). They keep errno. */
#ifndef NCCL_PROFILER_H
#define NCCL_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/collective.h"

/* communicators of a process at the same time; the calls of further ones are lost */
#define NCCL_PROFILER_COMMUNICATORS 4096u
/* ranks of a communicator whose sends and receives are numbered; those with further ones have function_sequence 0 */
#define NCCL_PROFILER_PEERS 256u

struct definition_writer;
struct nccl_communicator;
struct record_ring;

struct nccl_profiler_parts { /* borrowed for good */
	struct record_ring *ring;
	struct definition_writer *definitions;
	/* Returns whether calls are recorded now. */
	bool (*is_recording)(void);
};

/* Records events from now on, whenever parts->is_recording() says so. Until then, NCCL's calls are only numbered. Call
 * it once. */
void nccl_profiler_start(const struct nccl_profiler_parts *parts);

/* Tells that nccl_profiler_start() may be called later, and that communicators must be known by then. */
void nccl_profiler_expect(void);

/* Returns whether NCCL is to report anything. */
bool nccl_profiler_is_wanted(void);

/* Returns a new communicator of this process. Facts that are not known yet are COLLECTIVE_NOT_KNOWN (nr_ranks and rank)
 * or 0 (hash), until nccl_profiler_learn(). NULL: there is no room. Its owner gives it to nccl_profiler_forget(), which
 * accepts NULL. */
struct nccl_communicator *nccl_profiler_meet(uint64_t hash, uint32_t rank, uint32_t nr_ranks);
void nccl_profiler_learn(struct nccl_communicator *communicator, uint64_t hash, uint32_t rank);
void nccl_profiler_forget(struct nccl_communicator *communicator);

/* Returns a handle for an API event, which says when the event began, and whether it is captured into a graph. Never
 * NULL. */
void *nccl_profiler_called(bool captured);

/* Call nccl_profiler_launches() when the calling thread is about to launch a plan on a stream. Call
 * nccl_profiler_posted() when the plan has been posted, on the thread that has just launched it or on another. */
void nccl_profiler_launches(const void *stream);
void nccl_profiler_posted(void);

/* A task of the plan that was posted last on this thread. */
struct nccl_task {
	/* enum collective_function; COLLECTIVE_FUNCTIONS: not known */
	uint32_t function;
	uint32_t data_type; /* enum collective_type */
	uint32_t reduce_op; /* enum collective_op */
	uint32_t peer;      /* COLLECTIVE_NOT_KNOWN: none */
	uint64_t count;
	uint64_t function_sequence; /* NCCL's count; 0: NCCL does not count, so the guest does */
	const void *called;         /* from nccl_profiler_called(); NULL: not known */
};

/* Takes a task of a communicator. If communicator is NULL, the task is lost. */
void nccl_profiler_take(struct nccl_communicator *communicator, const struct nccl_task *task);

/* Translate NCCL's names, such as "AllReduce" and "ncclFloat32". COLLECTIVE_FUNCTIONS, COLLECTIVE_TYPE_NONE: the name
 * is unknown or NULL. */
uint32_t nccl_profiler_function(const char *name);
uint32_t nccl_profiler_type(const char *name);

#endif
