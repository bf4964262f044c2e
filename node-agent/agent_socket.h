/* The agent's Unix socket: takes guests in, and answers clients (guest_control.h). Single-threaded: only the agent loop
 * calls it. */
#ifndef AGENT_SOCKET_H
#define AGENT_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct agent_socket;

/* Binds the path for guests of any user, or of our own user and root. Opens the register of guests beside it.
 * 0 or -errno. On error *error may be one line that says what failed; the caller owns it (free()). */
int agent_socket_open(struct agent *agent, const char *path, bool any_user, char **error);

/* Takes in no further guest, and removes the path. */
void agent_socket_close(struct agent_socket *socket);

/* Disconnects peers whose time is up. Returns when to call again; UINT64_MAX: no peer is in its handshake. */
uint64_t agent_socket_step(struct agent_socket *socket, uint64_t now_ns);

/* Returns the number of peers that were refused or disconnected so far. */
uint64_t agent_socket_refused(const struct agent_socket *socket);

#endif
