/* The guests that an agent has taken in, or tells of, and that the aggregator has not stored yet, in a file beside the
 * agent's socket. The file outlives an agent that is killed. The next agent finds the guests there, and tells of those
 * that are gone: nobody else knows that they ever ran. Single-threaded: only the agent loop calls it. */
#ifndef GUEST_REGISTER_H
#define GUEST_REGISTER_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

/* guests at a time, shared by users (fair_shares.h); further ones are not kept */
#define GUEST_REGISTER_MAX     1024u
#define GUEST_REGISTER_SUFFIX  ".guests" /* behind the socket's path */
#define GUEST_REGISTER_COMMAND 160u      /* bytes, with the end; a longer one is cut */

struct guest_register;

struct guest_register_entry {
	uint32_t is_used; /* 0: free; written last */
	uint32_t uid;
	int32_t pid;          /* as the agent saw it; 0: not visible */
	uint64_t start_ticks; /* of pid */
	struct guest_hello hello;
	char command[GUEST_REGISTER_COMMAND];
};

/* Opens SOCKET.guests (mode 0600) or makes it; what an agent before us left in it stays. 0; -EPERM: there is something
 * that is no file of ours; other -errno. On error *reg is NULL. */
int guest_register_open(const char *socket_path, struct guest_register **reg);

/* Removes the file if nobody is in it. Accepts NULL, as all below do. */
void guest_register_close(struct guest_register *reg);

/* Calls back for each that the agent before us left; the entry is borrowed for the call. */
typedef void (*guest_register_left)(void *context, const struct guest_register_entry *entry);
void guest_register_each(const struct guest_register *reg, guest_register_left left, void *context);

/* Keeps a guest, once, until it is stored. Reads its command from /proc; pid 0: it is not known, or has ended. 0;
 * -EEXIST: it is kept already; -ENOSPC: there is no place for it. */
int guest_register_add(struct guest_register *reg, pid_t pid, uid_t uid,
			const struct guest_hello *hello);

#define GUEST_REGISTER_LATER (UINT64_MAX - 1) /* no number of a message */

/* The message seq tells the aggregator of the guest: the guest stays until that message is stored. With
 * GUEST_REGISTER_LATER, a message will that counts guests of this user. A guest that is not here: nothing happens. */
void guest_register_told(struct guest_register *reg, uid_t uid,
			 const uint8_t instance[static HANDSHAKE_INSTANCE_SIZE], uint64_t seq);

#define GUEST_REGISTER_ALL ((uid_t)-1) /* no user */

/* The message seq counts this user's guests that were to be told of later; GUEST_REGISTER_ALL: those of all users. */
void guest_register_counted(struct guest_register *reg, uid_t uid, uint64_t seq);

/* The aggregator has stored all messages up to seq. */
void guest_register_stored(struct guest_register *reg, uint64_t seq);

#endif
