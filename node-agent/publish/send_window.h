/* Keeps encoded frames that are not acknowledged yet, in order of their sequence numbers, which have no gaps. Pure.
 * Single-threaded. */
#ifndef SEND_WINDOW_H
#define SEND_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct send_window;

/* Creates an empty window; NULL: out of memory. send_window_destroy() accepts NULL. */
struct send_window *send_window_create(void);
void send_window_destroy(struct send_window *window);

/* Copies a frame, which gets the sequence number send_window_last_seq() + 1. now_ns: for send_window_oldest_ns(). 0 or
 * -ENOMEM. */
int send_window_push(struct send_window *window, const uint8_t *frame, size_t size,
		     uint64_t now_ns);

/* Forgets all frames up to seq. 0; -ERANGE: seq is below the last acknowledged or above the last pushed number; nothing
 * changes. */
int send_window_ack(struct send_window *window, uint64_t seq);

/* Returns the bytes of the frames from the first to the last of these numbers that are in the window. */
uint64_t send_window_bytes(const struct send_window *window, uint64_t first, uint64_t last);

/* Returns the frame with this number, borrowed until it is acknowledged. NULL, *size 0: it is not in the window. */
const uint8_t *send_window_frame(const struct send_window *window, uint64_t seq, size_t *size);

/* the last one ever pushed; 0: none */
uint64_t send_window_last_seq(const struct send_window *window);
uint64_t send_window_acked_seq(const struct send_window *window); /* 0: none */
uint64_t send_window_size(const struct send_window *window);      /* bytes */

/* Returns when the oldest frame that is kept was pushed; 0: none is kept. */
uint64_t send_window_oldest_ns(const struct send_window *window);

#endif
