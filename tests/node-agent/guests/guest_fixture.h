/* A guest as inject/ is one: a ring, and the handshake that hands it over. */
#ifndef GUEST_FIXTURE_H
#define GUEST_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/handshake.h"
#include "proto/ring/record_ring.h"

/* Sizes that suit a test. */
extern const struct record_ring_sizes guest_fixture_sizes;

/* A connected socket, or -1. */
int guest_fixture_connect(const char *path);

/* Sends size bytes with descriptors. Returns what sendmsg() does. */
long guest_fixture_send(int socket_fd, const void *data, size_t size, const int *fds,
			uint32_t nr_fds);

/* A hello as a guest of this process sends it. */
struct guest_hello guest_fixture_hello(uint8_t instance);

/* The whole handshake. Returns the status (enum handshake_status), or -1: no answer. */
int guest_fixture_handshake(const char *path, int ring_fd, uint8_t instance);

/* A connection whose last close() takes an hour: it lingers, and the other end takes nothing. Returns the end that
 * lingers; -1: it could not be made. */
int guest_fixture_lingering(int *other_end);

#endif
