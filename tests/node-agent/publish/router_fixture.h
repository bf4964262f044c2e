/* The other end of a publisher: a ROUTER that a test drives by hand, or lets answer by itself. */
#ifndef ROUTER_FIXTURE_H
#define ROUTER_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/batch/message.h"

struct router_fixture;

/* Binds endpoint ("tcp://127.0.0.1:*" picks a port); asserts on failure. */
struct router_fixture *router_fixture_create(const char *endpoint);
void router_fixture_destroy(struct router_fixture *router);
const char *router_fixture_endpoint(const struct router_fixture *router);

/* For publishers over inproc://. Borrowed until destroy. */
void *router_fixture_context(const struct router_fixture *router);
void router_fixture_bind(struct router_fixture *router, const char *endpoint); /* one more */

/* Receives and decodes the next frame. Borrowed until the next call. NULL: none within wait_ms. */
const struct message *router_fixture_receive(struct router_fixture *router, int wait_ms);

/* Answers whoever sent the last frame. */
void router_fixture_send(struct router_fixture *router, const struct message *message);
void router_fixture_welcome(struct router_fixture *router, uint64_t durable_seq,
			    uint32_t window_frames, uint64_t window_bytes);
void router_fixture_ack(struct router_fixture *router, uint64_t seq);
void router_fixture_refuse(struct router_fixture *router, uint32_t code);

#endif
