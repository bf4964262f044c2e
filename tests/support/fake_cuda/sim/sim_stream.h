/* Streams: in-order queues of operations on the device clock. Streams do not
 * disturb one another. Any thread. */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim_open.h"
#include "sim_trace.h"

struct sim_context;
struct sim_graph;
struct sim_kernel;

#define SIM_QUEUE_DEPTH 1024u /* operations outstanding on a stream before the next one waits */

struct sim_stream {
	uint64_t magic;
	struct sim_context *context;
	uint32_t stream_id;
	int32_t priority;      /* lower numbers go first */
	bool non_blocking;     /* these two are only told, not acted upon */
	uint64_t thread_token; /* of the thread whose per-thread default stream this is; 0: ordinary
				*/
	struct sim_stream *next;   /* under the context's lock */
	struct sim_graph *capture; /* what is submitted becomes its nodes; NULL: is run */
	uint64_t capture_id;       /* equal in all streams that take part; 0: none */
	bool capture_origin;       /* began the capture and must end it */

	pthread_mutex_t lock; /* below */
	uint64_t ready_ns;    /* when the last operation ends */
	uint64_t nr_operations;
	uint64_t queue_ns[SIM_QUEUE_DEPTH]; /* when operation n % SIM_QUEUE_DEPTH ends */
	struct sim_truth_table truth;
	struct sim_open_queue open; /* what waits for a kernel whose end is not known */
};

/* NULL: out of memory. Not in the context's list and not reported: the context's own default
 * stream. */
struct sim_stream *sim_stream_create_with_id(struct sim_context *context, uint32_t stream_id);
/* A stream that an application asked for, reported as STREAM_CREATED. priority is clamped to -5 to 0.
 * NULL: out of memory. */
struct sim_stream *sim_stream_create(struct sim_context *context, int32_t priority,
				     bool non_blocking);
/* Its operations run on; the memory is freed. */
void sim_stream_destroy(struct sim_stream *stream);

/* The stream behind a CUstream: NULL is the context's default stream, or with per_thread the
 * calling thread's own; 1 and 2 name those two explicitly. NULL: no stream, or out of memory. */
struct sim_stream *sim_stream_resolve(struct sim_context *context, void *handle, bool per_thread);

/* Submits operation: kind, name, bytes and the like are the caller's, identity and times are filled
 * in here. kernel gives a kernel's duration, NULL: a copy or memset, whose bytes do. Reports it to
 * the tracer. Waits while the stream's queue is full, as the driver does: a program cannot run
 * ahead of its device without end. Returns 0 or -ENOMEM (nothing ran). */
int sim_stream_run(struct sim_stream *stream, struct sim_operation *operation,
		   const struct sim_kernel *kernel);

/* Counts and reports operation, whose times are known, without running anything: the whole of a
 * graph launch. Returns 0 or -ENOMEM. */
int sim_stream_note(struct sim_stream *stream, struct sim_operation *operation);

/* Waits until it is known. */
uint64_t sim_stream_ready_ns(struct sim_stream *stream);
bool sim_stream_is_known(struct sim_stream *stream);
/* Gives times to what can have them by now. Returns whether something still waits. */
bool sim_stream_settle(struct sim_stream *stream);
void sim_stream_synchronize(struct sim_stream *stream);
/* What is submitted later starts at end_ns at the earliest. */
void sim_stream_wait_until(struct sim_stream *stream, uint64_t end_ns);

/* Returns when the last operation ends whose times are known, now that more may be. *waits is set if an operation of at
 * most this number (sim_open_last()) is not among them. */
uint64_t sim_stream_known_ns(struct sim_stream *stream, uint64_t open_number, bool *waits);

/* Kernels submitted by the process so far. */
uint64_t sim_stream_kernels(void);

#endif
