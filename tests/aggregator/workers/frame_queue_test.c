#include "aggregator/workers/frame_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define BYTES 1000u

static uint32_t nr_frames; /* that live */

static void release(struct held_frame *frame)
{
	nr_frames--;
	free(frame);
}

static struct held_frame *make(uint64_t seq)
{
	struct held_frame *frame = calloc(1, sizeof(*frame));

	assert_non_null(frame);
	frame->release = release;
	frame->size = BYTES;
	frame->seq = seq;
	nr_frames++;
	return frame;
}

#define COST (BYTES + sizeof(struct held_frame))

static void frames_leave_in_the_order_in_which_they_came(void **state)
{
	struct frame_budget budget = {.max_bytes = 100 * COST};
	struct frame_queue queue = {0};

	(void)state;
	assert_null(frame_queue_pop(&queue, &budget));
	for (uint64_t seq = 1; seq <= 3; seq++)
		assert_true(frame_queue_push(&queue, &budget, make(seq)));
	struct held_frame *first = frame_queue_pop(&queue, &budget);
	assert_int_equal(first->seq, 1);
	frame_queue_return(&queue, &budget, first);
	assert_int_equal(budget.bytes, 3 * COST);
	for (uint64_t seq = 1; seq <= 3; seq++) {
		struct held_frame *frame = frame_queue_pop(&queue, &budget);

		assert_int_equal(frame->seq, seq);
		held_frame_release(frame);
	}
	assert_null(frame_queue_pop(&queue, &budget));
	frame_queue_return(&queue, &budget, make(4)); /* also as the only one */
	assert_true(frame_queue_push(&queue, &budget, make(5)));
	assert_int_equal(queue.last->seq, 5);
	frame_queue_clear(&queue, &budget);
	assert_int_equal(budget.bytes, 0);
	assert_int_equal(queue.bytes, 0);
	assert_int_equal(nr_frames, 0);
}

static uint32_t fill(struct frame_queue *queue, struct frame_budget *budget)
{
	uint32_t count = 0;

	while (frame_queue_push(queue, budget, make(1)))
		count++;
	return count;
}

static void there_is_always_room_for_another_queue(void **state)
{
	struct frame_budget budget = {.max_bytes = 120 * COST};
	struct frame_queue queues[4] = {0};

	(void)state;
	assert_int_equal(fill(&queues[0], &budget), 60);
	assert_int_equal(fill(&queues[1], &budget), 30);
	assert_int_equal(fill(&queues[2], &budget), 15);
	assert_int_equal(budget.dropped, 3);
	assert_int_equal(nr_frames, 105); /* dropped frames are released */
	frame_queue_clear(&queues[0], &budget);
	assert_int_equal(fill(&queues[1], &budget), 23); /* 53 of 120, and 52 are free */
	for (uint32_t i = 0; i < 4; i++)
		frame_queue_clear(&queues[i], &budget);
	assert_int_equal(budget.bytes, 0);
	assert_int_equal(nr_frames, 0);
}

static void lent_frames_take_room_until_their_end(void **state)
{
	struct frame_budget budget = {.max_bytes = 2 * COST};
	struct frame_queue queue = {0};

	(void)state;
	assert_null(frame_queue_lend(&queue, &budget));
	assert_true(frame_queue_push(&queue, &budget, make(1)));
	struct held_frame *frame = frame_queue_lend(&queue, &budget);
	assert_int_equal(frame->seq, 1);
	assert_int_equal(budget.bytes, COST);
	assert_int_equal(queue.bytes, 0);
	frame_budget_end(&budget, frame);
	assert_int_equal(budget.bytes, 0);
	assert_int_equal(nr_frames, 0);
}

static void an_empty_queue_takes_any_frame(void **state)
{
	struct frame_budget budget = {.max_bytes = BYTES};
	struct frame_queue queues[2] = {0};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(frame_queue_push(&queues[i], &budget, make(1)));
		assert_false(frame_queue_push(&queues[i], &budget, make(2)));
		frame_queue_clear(&queues[i], &budget);
	}
	assert_int_equal(budget.dropped, 2);
	assert_int_equal(nr_frames, 0);
}

static void a_frame_of_the_caller_is_left_to_it(void **state)
{
	struct held_frame frame = {.size = BYTES};

	(void)state;
	held_frame_release(&frame);
	held_frame_release(NULL);
	assert_int_equal(frame.size, BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_leave_in_the_order_in_which_they_came),
		cmocka_unit_test(there_is_always_room_for_another_queue),
		cmocka_unit_test(lent_frames_take_room_until_their_end),
		cmocka_unit_test(an_empty_queue_takes_any_frame),
		cmocka_unit_test(a_frame_of_the_caller_is_left_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
