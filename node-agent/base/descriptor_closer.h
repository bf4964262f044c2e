/* Closes descriptors that came from strangers, in threads of its own: close() of a socket with unsent data, or of a
 * file of a user's own file system, takes as long as that user likes. While others wait, a signal (SIGURG) ends the
 * lingering of sockets, also of those in messages that nobody read. Nothing ends what a file system does not answer:
 * so a user holds one thread at most, and sends nothing more until what came with the last message was begun. Root and
 * our own user have all that is left. As many users as there are threads, all of whose files hang, still hold them all:
 * then our sockets stay open, and no guest is taken in until a file system answers.
 * Threads: only the agent loop calls it; the workers touch nothing else. */
#ifndef DESCRIPTOR_CLOSER_H
#define DESCRIPTOR_CLOSER_H

#include <stdint.h>
#include <sys/types.h>

#define DESCRIPTOR_CLOSER_WORKERS 32u

struct descriptor_closer;

/* For max descriptors (above 0) that wait. Workers are started by the calls below, as far as they are needed, with the
 * rights of whoever calls. Catches SIGURG unless the program does. NULL: out of memory. */
struct descriptor_closer *descriptor_closer_create(uint32_t max);

/* Waits until all are closed, at most wait_ms; what is left then closes with the process, and its memory is left
 * behind. Accepts NULL. */
void descriptor_closer_destroy(struct descriptor_closer *closer, uint32_t wait_ms);

/* How many descriptors of this user it takes at the moment: as many as it has room for at all, but none of a user other
 * than root and our own while some of that user's wait. */
uint32_t descriptor_closer_room(struct descriptor_closer *closer, uid_t uid);

/* Takes fd, whose close() this user can hold up; never blocks. There must be room at all, asserted. A socket that we
 * accepted is our own user's: what is in its messages can only linger. */
void descriptor_closer_add(struct descriptor_closer *closer, int fd, uid_t uid);

#endif
