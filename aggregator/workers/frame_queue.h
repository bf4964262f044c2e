/* Frames that came and are to be handled in their order, by profile. All queues share a budget of bytes. A queue may
 * hold as much as the others leave free: so one profile alone may have half of the budget, and n of them each one (n +
 * 1)th, and there is always room for another. An empty queue takes any frame. A queue and its budget are used by one
 * thread at a time. */
#ifndef FRAME_QUEUE_H
#define FRAME_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_session;

/* What came of a frame that carries data (profile_turn.h). */
enum frame_outcome {
	FRAME_WAITS = 0,
	FRAME_APPLIED,
	FRAME_REPEATED,   /* its message was applied before */
	FRAME_AFTER_GAP,  /* messages before it are missing */
	FRAME_REFUSED,    /* for `reason` */
	FRAME_NO_SESSION, /* its sender has said no HELLO */
	FRAME_UNKNOWN,    /* of an unknown type or version */
	FRAME_BAD,        /* malformed, as `fault` says */
};

#define FRAME_FAULT_MAX 128u

struct held_frame {
	struct held_frame *next;                   /* the queue's */
	void (*release)(struct held_frame *frame); /* frees it; NULL: it is its maker's */
	const uint8_t *bytes;
	size_t size;
	uint64_t sender, serial;          /* peer_table_of() knows the peer by them */
	uint64_t heard_ns;                /* CLOCK_MONOTONIC */
	bool has_data;                    /* it is a session's, in sequence */
	bool was_tried;                   /* it waited for a commit (hello_service.h) */
	struct agent_session *session;    /* of its sender; borrowed; NULL: none */
	const struct agent_session *over; /* that its message has superseded; NULL: none */
	enum frame_outcome outcome;
	uint32_t code;             /* of FRAME_REFUSED, an enum refuse_code */
	uint64_t seq, awaited_seq; /* of its message; and that of the next one */
	const char *reason;        /* of FRAME_REFUSED; static storage */
	char fault[FRAME_FAULT_MAX];
};

void held_frame_release(struct held_frame *frame); /* accepts NULL */

struct frame_budget {
	uint64_t bytes,
		max_bytes; /* in all queues; their limit, from which it is derived what one may have */
	uint64_t dropped; /* frames for which there was no room */
};

#define FRAME_BUDGET_SHARE 8u /* one byte of the host's memory in so many */

/* Returns that share, in bytes. */
uint64_t frame_budget_share(void);

struct frame_queue {                     /* zeroed: empty */
	struct held_frame *first, *last; /* owns */
	uint64_t bytes;
};

/* Takes the frame, if there is room for it. Returns false, with the frame released and counted: there is none. */
bool frame_queue_push(struct frame_queue *queue, struct frame_budget *budget,
		      struct held_frame *frame);

/* Puts a frame that was taken from the queue at its head again. */
void frame_queue_return(struct frame_queue *queue, struct frame_budget *budget,
			struct held_frame *frame);

/* Takes the first frame, which the caller then owns; NULL: the queue is empty. */
struct held_frame *frame_queue_pop(struct frame_queue *queue, struct frame_budget *budget);

/* The same, but the frame's bytes stay in the budget until frame_budget_end(), which releases the frame. */
struct held_frame *frame_queue_lend(struct frame_queue *queue, struct frame_budget *budget);
void frame_budget_end(struct frame_budget *budget, struct held_frame *frame);

/* Releases all frames. */
void frame_queue_clear(struct frame_queue *queue, struct frame_budget *budget);

#endif
