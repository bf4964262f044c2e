/* The guest's side of proto/handshake.h. Blocks for at most a second in all; the first time on the thread that loads
 * the guest, later on its own. */
#ifndef AGENT_HANDSHAKE_H
#define AGENT_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

struct record_ring;
struct record_ring_sizes;

/* What a guest needs to hand its memory to the next agent. Plain data. */
struct agent_link {
	char path[108]; /* of the agent's socket */
	/* Every offer repeats it, whatever has become of /proc or the environment since: the file that tells of the
	 * first offer has its name from it. */
	struct guest_hello hello;
	bool wanted;     /* the agent asked to keep the memory */
	bool answered;   /* an agent said that it has the memory */
	pid_t agent_pid; /* that listened last; 0: not visible from here */
	int ring_fd;     /* owned; -1: none is kept */
	uint64_t device,
		inode; /* what ring_fd must be: its number may have become another file's */
};

/* Connects to the agent's socket at `path`, makes a ring of these sizes and hands it over. No descriptor stays open
 * but link->ring_fd, close-on-exec and with a high number, if the agent asks for it or has not answered, and there
 * is one to spare. An agent that is there and does not answer in time, or has no place just now, may have the ring
 * already or take it later: that is no error, and link->answered is false. Its guest records, and
 * agent_handshake_again() asks once more. The caller owns *ring. *window: the first capture window's number. Returns
 * 0; -ECONNREFUSED, -ENOENT and others of connect(): no agent; -EFBIG, -ENOMEM, -EAGAIN (RLIMIT_MEMLOCK) and others
 * of record_ring_create(): no ring; -EPROTO: an answer that makes no sense; -EACCES: the agent refused. On error
 * *ring is NULL and *window 0. */
int agent_handshake(const char *path, const struct record_ring_sizes *sizes,
		    struct agent_link *link, struct record_ring **ring, uint16_t *window);

/* The inode of this process's pid namespace; 0: not known. */
uint64_t agent_handshake_pid_namespace(void);

/* Hands the same memory to whoever listens on the same path now, and takes the answer. An agent that has it already
 * says so. Returns 0; -EAGAIN: no answer, or not now; others as above; -EBADF: the descriptor is gone, and will be:
 * link->ring_fd is -1 then. If the agent does not want it to be kept, it is closed. */
int agent_handshake_again(struct agent_link *link);

/* Hands the same memory over, but waits for nothing: neither for room in the agent's queue nor for an answer. 0: the
 * memory lies in that queue, also after this process's end. */
int agent_handshake_offer(struct agent_link *link);

#endif
