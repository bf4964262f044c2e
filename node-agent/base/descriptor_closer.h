/* Closes descriptors from other users, in worker threads. The close() of a socket with unsent data, or of a file on a
 * user's own file system, can take as long as that user likes.
 *   - A lingering socket, also one in an unread message, is ended by a signal (SIGURG) while other descriptors wait.
 *   - Nothing ends a file system that does not answer. So a user holds one worker at most, and sends nothing more until
 *     the close of the last message's descriptors has begun. Root and our own user may hold all that are left.
 *   - As many users as there are workers, all with files that hang, still hold all workers. Then our sockets stay open,
 *     and no guest is accepted until a file system answers.
 * Threads: only the agent loop calls it; the workers touch nothing else. */
#ifndef DESCRIPTOR_CLOSER_H
#define DESCRIPTOR_CLOSER_H

#include <stdint.h>
#include <sys/types.h>

#define DESCRIPTOR_CLOSER_WORKERS 32u

struct descriptor_closer;

/* Creates the closer, with room for max waiting descriptors (above 0). The calls below start workers as they are
 * needed, with the caller's rights. Catches SIGURG unless the program does. NULL: out of memory. */
struct descriptor_closer *descriptor_closer_create(uint32_t max);

/* Waits, at most wait_ms, until all descriptors are closed. Descriptors that are still open then close with the
 * process, and their memory is not freed. Accepts NULL. */
void descriptor_closer_destroy(struct descriptor_closer *closer, uint32_t wait_ms);

/* Returns the number of this user's descriptors that it takes at present: all for which it has room. It takes none
 * while some of the user's descriptors wait, unless the user is root or our own. */
uint32_t descriptor_closer_room(struct descriptor_closer *closer, uid_t uid);

/* Takes fd, whose close() this user can delay. Never blocks. The closer must have room (asserted). Give a socket that
 * we accepted with our own user's id: the descriptors in its messages can only linger. */
void descriptor_closer_add(struct descriptor_closer *closer, int fd, uid_t uid);

#endif
