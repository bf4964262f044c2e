/* The swarm: all nodes in one loop, from their connections to their goodbyes. Single-threaded, but for ZeroMQ. */
#ifndef SWARM_H
#define SWARM_H

#include <stdio.h>

#include "node.h"
#include "watched_cost.h"

struct key_set;

/* A part of the swarm's life: how long it took, and what the watched process cost meanwhile. */
struct swarm_phase {
	uint64_t wall_ns;
	struct watched_cost cost; /* memory: at its end */
};

struct swarm {
	const struct swarm_options *options;
	struct workload *workload;
	void *zmq_context;
	int epoll_fd;
	struct node **nodes;
	struct node_sums sums;
	struct swarm_phase connects; /* to the last acknowledgement of a definition */
	struct swarm_phase speaks;   /* from there to the last acknowledgement of an event */
	struct swarm_phase leaves;
	uint64_t definition_bytes; /* in connects */
};

/* Makes all nodes. options and keys (NULL: none) are borrowed until swarm_fini(). 0 or -errno, which was said on the
 * standard error; swarm_fini() is needed in any case. */
int swarm_init(struct swarm *swarm, const struct swarm_options *options,
	       const struct key_set *keys);
void swarm_fini(struct swarm *swarm);

/* Lets the nodes live. 0; -ETIMEDOUT: not all were heard in time; another -errno. */
int swarm_run(struct swarm *swarm);

/* Writes one line of JSON: what was said, and what it cost. */
void swarm_print(const struct swarm *swarm, FILE *file);

#endif
