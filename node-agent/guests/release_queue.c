#include "release_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ring/record_ring.h"

struct release {
	struct release *next;
	uint64_t seq;
	struct record_ring_position position;
};

static struct release *unlink_first(struct release_queue *queue)
{
	struct release *release = queue->first;

	queue->first = release->next;
	if (!queue->first)
		queue->last = NULL;
	return release;
}

static void destroy(struct release *release)
{
	free(release->position.launch);
	free(release);
}

void release_queue_fini(struct release_queue *queue)
{
	while (queue->first)
		destroy(unlink_first(queue));
}

int release_queue_push(struct release_queue *queue, const struct record_ring *ring, uint64_t seq)
{
	struct release *release = calloc(1, sizeof(*release));
	int r = release ? record_ring_position(ring, &release->position) : -ENOMEM;

	if (r) {
		free(release);
		return r;
	}
	release->seq = seq;
	if (queue->last)
		queue->last->next = release;
	else
		queue->first = release;
	queue->last = release;
	return 0;
}

void release_queue_pop(struct release_queue *queue, struct record_ring *ring, uint64_t acked_seq)
{
	while (queue->first && queue->first->seq <= acked_seq) {
		struct release *release = unlink_first(queue);

		if (!queue->first || queue->first->seq > acked_seq)
			record_ring_release(ring, &release->position);
		destroy(release);
	}
}
