/* Closes descriptors that came from strangers, in threads of its own: close() of a socket with unsent data, or of a
 * file of a user's own file system, takes as long as that user likes. A socket is told not to linger first, and
 * messages that nobody read are taken apart, since they hold descriptors, too. Threads: only the agent loop calls
 * it; the workers touch nothing else. */
#ifndef DESCRIPTOR_CLOSER_H
#define DESCRIPTOR_CLOSER_H

#include <stdint.h>

#define DESCRIPTOR_CLOSER_MAX     1024u /* descriptors that wait */
#define DESCRIPTOR_CLOSER_WORKERS 16u   /* more of them that cannot be closed hold up the others */

struct descriptor_closer;

/* Workers are started by the calls below, as far as they are needed, with the rights of whoever calls. NULL: out of
 * memory. */
struct descriptor_closer *descriptor_closer_create(void);

/* Waits until all are closed, at most wait_ms; what is left then closes with the process, and its memory is left
 * behind. Accepts NULL. */
void descriptor_closer_destroy(struct descriptor_closer *closer, uint32_t wait_ms);

/* How many descriptors it takes at the moment. */
uint32_t descriptor_closer_room(struct descriptor_closer *closer);

/* Takes fd, never blocks. There must be room, asserted. */
void descriptor_closer_add(struct descriptor_closer *closer, int fd);

#endif
