/* Contexts, primary and created, and each thread's stack of current ones. Any thread.
 * A context's memory is never freed, so that a stale handle is refused and not followed. */
#ifndef SIM_CONTEXT_H
#define SIM_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sim_device;
struct sim_stream;

struct sim_context {
	uint64_t magic;
	struct sim_context *next; /* all that ever were */
	uint32_t context_id;      /* of the process, from 1 */
	int ordinal;
	const struct sim_device *device;
	bool primary;
	struct sim_context *parent; /* of a green context; NULL: of the device alone */
	uint32_t multiprocessors;   /* of a green context */

	pthread_mutex_t lock; /* below */
	struct sim_stream *streams;
	struct sim_stream *default_stream;
	_Atomic uint32_t next_stream_id; /* of its parts, too */
	uint64_t retired_ns; /* when the last operation of the destroyed streams ends */
};

/* A new context on a visible device, reported as CONTEXT_CREATED. NULL: out of memory. */
struct sim_context *sim_context_create(int ordinal);
/* A green context, whose parent stays longer than it does. NULL: out of memory. */
struct sim_context *sim_context_create_part(struct sim_context *parent, uint32_t multiprocessors);
/* What CUPTI's callbacks, and its records of streams and waits, take it for: the parent of a green context, else
 * itself. */
struct sim_context *sim_context_whole(struct sim_context *context); /* NULL: NULL */
/* Reports CONTEXT_DESTROY_STARTING, then destroys its streams. */
void sim_context_destroy(struct sim_context *context);

/* The device's primary context, created by the first retain and destroyed by the last release.
 * NULL: out of memory. */
struct sim_context *sim_context_primary_retain(int ordinal);
bool sim_context_primary_release(int ordinal); /* false: was not retained */
bool sim_context_primary_active(int ordinal);

/* Calls visit for each live context. */
void sim_context_each(void (*visit)(struct sim_context *context));

/* Gives times to what can have them by now on its streams. Returns whether something still waits. */
bool sim_context_settle(struct sim_context *context);

/* NULL: handle is no live context. */
struct sim_context *sim_context_check(void *handle);

/* This thread's current context, NULL: none. set replaces the top of the stack (NULL: pops it). */
struct sim_context *sim_context_current(void);
void sim_context_set_current(struct sim_context *context);
bool sim_context_push(struct sim_context *context); /* false: stack full */
struct sim_context *sim_context_pop(void);          /* NULL: empty */

/* Waits for all that was submitted to the context and its parts. */
void sim_context_synchronize(struct sim_context *context);

/* The same for all contexts that there are. */
void sim_context_synchronize_all(void);

#endif
