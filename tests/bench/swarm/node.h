/* A simulated node: the processes, and an agent's own publisher and batch builder, which speak for them. All of the
 * protocol is the product's. Single-threaded: the swarm's loop calls it. */
#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "latency.h"
#include "workload.h"

struct key_set;
struct node;

enum node_state {
	NODE_CONNECTING, /* the definitions are being sent, or not yet acknowledged */
	NODE_RUNNING,
	NODE_SPOKEN,  /* all events are made, but perhaps not acknowledged */
	NODE_LEAVING, /* BYE is said, but perhaps not acknowledged */
	NODE_LEFT,    /* with all acknowledged */
	NODE_DEAD,    /* killed, as it was asked */
	NODE_FAILED,  /* the aggregator has refused it for good */
};

/* What all nodes together have said. Each adds to it. */
struct node_sums {
	uint64_t launches, records, collectives, samples;
	uint64_t frames, bytes; /* once each, however often they were sent */
	uint64_t waits;         /* times at which a paced node was due and its window full */
	uint64_t lag_ns;        /* the most that a node came too late to its events */
	struct latency acks;    /* from a message to its acknowledgement */
};

/* Makes node number index, which connects at once. Everything but index is borrowed until node_destroy() (accepts
 * NULL); keys NULL: none. 0 or -errno; on error *node is NULL, and the reason was said on the standard error. */
int node_create(const struct workload *workload, uint32_t index, void *zmq_context,
		const struct key_set *keys, struct node_sums *sums, struct node **node);
void node_destroy(struct node *node);

/* As of the publisher: a descriptor for epoll, and when to step although it is quiet, by CLOCK_MONOTONIC. */
int node_fd(const struct node *node);
uint64_t node_deadline_ns(const struct node *node);

/* Receives, sends, and makes the events that are due, if any may be made yet. 0; -ENOMEM or another -errno that no
 * node survives. A node that was refused for good is NODE_FAILED. */
int node_step(struct node *node, uint64_t now_ns);

enum node_state node_state(const struct node *node);

/* Whether everything that it said is acknowledged, as far as that can come. */
bool node_is_heard(const struct node *node);

/* From NODE_CONNECTING, when all is acknowledged, to NODE_RUNNING. */
void node_begin(struct node *node);

/* From NODE_SPOKEN to NODE_LEAVING: tells the end of all processes. 0 or -errno. */
int node_leave(struct node *node, uint64_t now_ns);

/* Writes a line of JSON for each GPU: what was told of it. Of a node that died or failed, "moments" are the
 * truths of which the profile may hold one. */
void node_print_truth(const struct node *node, FILE *file);

#endif
