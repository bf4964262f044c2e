/* Keeps a list of guests in a file beside the agent's socket. It holds guests that the agent has accepted or reported,
 * until the aggregator has stored them. The file outlives an agent that is killed. The next agent finds the guests
 * there and reports those that are gone, since nothing else shows that they ever ran. Only the agent loop calls it. */
#ifndef GUEST_REGISTER_H
#define GUEST_REGISTER_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

/* most guests at a time, shared by users (fair_shares.h); further ones are not kept */
#define GUEST_REGISTER_MAX     1024u
#define GUEST_REGISTER_SUFFIX  ".guests" /* follows the socket's path */
#define GUEST_REGISTER_COMMAND 160u      /* bytes, with the end; a longer one is cut */

struct guest_register;

struct guest_register_entry {
	uint32_t is_used; /* 0: free; written last */
	uint32_t uid;
	int32_t pid;          /* by the agent's view; 0: not visible */
	uint64_t start_ticks; /* the start of pid */
	struct guest_hello hello;
	char command[GUEST_REGISTER_COMMAND];
};

/* Opens SOCKET.guests (mode 0600) or makes it. Entries of an earlier agent stay. 0; -EPERM: the path is not a file of
 * ours; other -errno. On error *reg is NULL. */
int guest_register_open(const char *socket_path, struct guest_register **reg);

/* Closes the register, and removes the file if it holds no guest. Accepts NULL, as do all functions below. */
void guest_register_close(struct guest_register *reg);

/* Calls back for each guest that an earlier agent left; the entry is borrowed for the call. */
typedef void (*guest_register_left)(void *context, const struct guest_register_entry *entry);
void guest_register_each(const struct guest_register *reg, guest_register_left left, void *context);

/* Keeps a guest, once, until it is stored. Reads its command from /proc. pid 0: the pid is not known, or the process
 * has ended. 0; -EEXIST: the guest is kept already; -ENOSPC: there is no place for it. */
int guest_register_add(struct guest_register *reg, pid_t pid, uid_t uid,
		       const struct guest_hello *hello);

#define GUEST_REGISTER_LATER (UINT64_MAX - 1) /* no number of a message */

/* Notes that the message seq reports the guest: the guest stays until that message is stored. GUEST_REGISTER_LATER: a
 * later message will count guests of this user. A guest that is not in the register changes nothing. */
void guest_register_told(struct guest_register *reg, uid_t uid,
			 const uint8_t instance[static HANDSHAKE_INSTANCE_SIZE], uint64_t seq);

#define GUEST_REGISTER_ALL ((uid_t)-1) /* no user */

/* Notes that the message seq counts this user's guests that were to be reported later. GUEST_REGISTER_ALL: it counts
 * those of all users. */
void guest_register_counted(struct guest_register *reg, uid_t uid, uint64_t seq);

/* Removes the guests whose messages, up to seq, the aggregator has stored. */
void guest_register_stored(struct guest_register *reg, uint64_t seq);

#endif
