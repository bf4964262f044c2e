/* The guest's side of proto/handshake.h. A call blocks for at most a second in all. The first call is on the thread
 * that loads the guest, later ones are on the guest's own thread. */
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
	pid_t agent_pid; /* of the agent that listened last; 0: not visible from here */
	int ring_fd;     /* owned; -1: none is kept */
	int tables_fd; /* owned: the memory of unwind tables that the agent gave (table_arena.h); -1: none */
	uint64_t device,
		inode; /* what ring_fd must be: its number may have become another file's */
};

/* Connects to the agent's socket at `path`, makes a ring of these sizes and hands it over. The caller owns *ring.
 * *window: the first capture window's number. Besides link->tables_fd, link->ring_fd alone stays open, close-on-exec
 * and with a high number. It does so if the agent asks for it or has not answered, and if there is a number to spare.
 * An agent may listen and not answer in time, or have no place just now. It may have the ring already or take it
 * later, so that is no error: link->answered is false, the guest records, and agent_handshake_again() asks once more.
 * Returns 0; -ECONNREFUSED, -ENOENT and others of connect(): no agent; -EFBIG, -ENOMEM, -EAGAIN (RLIMIT_MEMLOCK) and
 * others of record_ring_create(): no ring; -EPROTO: an answer that makes no sense; -EACCES: the agent refused. On
 * error *ring is NULL and *window 0. */
int agent_handshake(const char *path, const struct record_ring_sizes *sizes,
		    struct agent_link *link, struct record_ring **ring, uint16_t *window);

/* Tells the agent that this process gets no ring, because a limit is too low. error: -EFBIG for RLIMIT_FSIZE, -ENOMEM
 * for RLIMIT_AS; needed_bytes: what would do. Without an agent it tells nobody. */
void agent_handshake_refuse(const char *path, int error, uint64_t needed_bytes);

/* Closes link->tables_fd, if it is open. */
void agent_handshake_close_tables(struct agent_link *link);

/* The inode of this process's pid namespace; 0: not known. */
uint64_t agent_handshake_pid_namespace(void);

/* Hands the same memory to the agent that listens on the same path now, and takes the answer. An agent that has the
 * memory already says so. Closes link->ring_fd if the agent does not want it to be kept. Returns 0; -EAGAIN: the agent
 * did not answer, or has no place now; -EBADF: the descriptor is gone for good, and link->ring_fd is -1; others as
 * above. */
int agent_handshake_again(struct agent_link *link);

/* Hands the same memory over and waits for nothing: neither for room in the agent's queue nor for an answer. Returns 0:
 * the memory lies in that queue, also after this process's end; else an error as above. */
int agent_handshake_offer(struct agent_link *link);

#endif
