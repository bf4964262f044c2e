/* Queues read positions of one ring until they are acknowledged. Single-threaded. */
#ifndef RELEASE_QUEUE_H
#define RELEASE_QUEUE_H

#include <stdint.h>

struct record_ring;
struct release;

struct release_queue {
	struct release *first, *last; /* owns */
};

void release_queue_fini(struct release_queue *queue); /* accepts zeroed memory */

/* Remembers the ring's read position under seq, which is not below that of the last push. 0 or -ENOMEM. */
int release_queue_push(struct release_queue *queue, const struct record_ring *ring, uint64_t seq);

/* Releases the newest position whose seq is acknowledged, and forgets those before it. */
void release_queue_pop(struct release_queue *queue, struct record_ring *ring, uint64_t acked_seq);

#endif
