/* Encoded frames that are not yet acknowledged, in order of their sequence numbers, which have no
 * gaps. Pure. Single-threaded. */
#ifndef SEND_WINDOW_H
#define SEND_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct send_window;

/* NULL: out of memory. send_window_destroy() accepts NULL. */
struct send_window *send_window_create(void);
void send_window_destroy(struct send_window *window);

/* Copies a frame; it gets the sequence number send_window_last_seq() + 1. 0 or -ENOMEM. */
int send_window_push(struct send_window *window, const uint8_t *frame, size_t size);

/* Forgets everything up to seq. 0; -ERANGE: seq is below what was acknowledged or above the last:
 * nothing changes. */
int send_window_ack(struct send_window *window, uint64_t seq);

/* A frame that is there. Borrowed until it is acknowledged. NULL, *size 0: it isn't there. */
const uint8_t *send_window_frame(const struct send_window *window, uint64_t seq, size_t *size);

uint64_t send_window_last_seq(const struct send_window *window);  /* ever pushed; 0: none */
uint64_t send_window_acked_seq(const struct send_window *window); /* 0: none */
uint64_t send_window_size(const struct send_window *window);      /* bytes */

#endif
