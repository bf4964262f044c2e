#include "frame_queue.h"

#include <unistd.h>

uint64_t frame_budget_share(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) / FRAME_BUDGET_SHARE *
	       (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t cost_of(const struct held_frame *frame)
{
	return frame->size + sizeof(*frame);
}

void held_frame_release(struct held_frame *frame)
{
	if (frame && frame->release)
		frame->release(frame);
}

bool frame_queue_push(struct frame_queue *queue, struct frame_budget *budget,
		      struct held_frame *frame)
{
	if (queue->first && queue->bytes + budget->bytes + cost_of(frame) > budget->max_bytes) {
		budget->dropped++;
		held_frame_release(frame);
		return false;
	}
	frame->next = NULL;
	if (queue->last)
		queue->last->next = frame;
	else
		queue->first = frame;
	queue->last = frame;
	queue->bytes += cost_of(frame);
	budget->bytes += cost_of(frame);
	return true;
}

void frame_queue_return(struct frame_queue *queue, struct frame_budget *budget,
			struct held_frame *frame)
{
	frame->next = queue->first;
	queue->first = frame;
	if (!queue->last)
		queue->last = frame;
	queue->bytes += cost_of(frame);
	budget->bytes += cost_of(frame);
}

struct held_frame *frame_queue_pop(struct frame_queue *queue, struct frame_budget *budget)
{
	struct held_frame *frame = queue->first;

	if (!frame)
		return NULL;
	queue->first = frame->next;
	if (!queue->first)
		queue->last = NULL;
	frame->next = NULL;
	queue->bytes -= cost_of(frame);
	budget->bytes -= cost_of(frame);
	return frame;
}

struct held_frame *frame_queue_lend(struct frame_queue *queue, struct frame_budget *budget)
{
	struct held_frame *frame = frame_queue_pop(queue, budget);

	if (frame)
		budget->bytes += cost_of(frame);
	return frame;
}

void frame_budget_end(struct frame_budget *budget, struct held_frame *frame)
{
	budget->bytes -= cost_of(frame);
	held_frame_release(frame);
}

void frame_queue_clear(struct frame_queue *queue, struct frame_budget *budget)
{
	struct held_frame *frame;

	while ((frame = frame_queue_pop(queue, budget)) != NULL)
		held_frame_release(frame);
}
