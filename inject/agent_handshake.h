/* The guest's side of proto/handshake.h. On the thread that loads the guest; blocks for at most a
 * second in all. */
#ifndef AGENT_HANDSHAKE_H
#define AGENT_HANDSHAKE_H

#include <stdint.h>

struct record_ring;

/* Connects to the agent's socket at `path`, makes a ring of the default sizes and hands it over. No
 * descriptor stays open.
 * The caller owns *ring. *window: the first capture window's number.
 * Returns 0; -ECONNREFUSED, -ENOENT and others of connect(): no agent; -EFBIG, -ENOMEM and others
 * of record_ring_create(): no ring; -ETIMEDOUT: no answer; -EPROTO: an answer that makes no sense,
 * or none; -EACCES: the agent refused. On error *ring is NULL and *window 0. */
int agent_handshake(const char *path, struct record_ring **ring, uint16_t *window);

#endif
