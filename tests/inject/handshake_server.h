/* A server that answers one guest with the bytes of a test, in a thread of its own. A program of it is linked with
 * --wrap=mmap,--wrap=open,--wrap=setsockopt. */
#ifndef HANDSHAKE_SERVER_H
#define HANDSHAKE_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "inject/agent_handshake.h"
#include "proto/handshake.h"
#include "proto/ring/record_ring.h"

/* Faults of system calls, for the thread that sets them. */
struct handshake_faults {
	int mmap_error, create_error; /* of mappings, and of making a file; 0: they succeed */
	bool proc_is_gone;            /* no file of /proc can be opened */
};
extern __thread struct handshake_faults handshake_faults;

struct handshake_server {
	char folder[64], path[96];
	int listener;
	const void *answer;
	size_t answer_size;
	struct guest_hello hello;
	struct guest_absence absence; /* what came in place of a hello; hello has its first bytes */
	int mapped;                   /* result of record_ring_map() */
	struct stat file; /* that tells of the offer, when the hello was read; st_nlink 0: none */
	pthread_t thread;
};

extern const struct record_ring_sizes handshake_sizes;
extern const struct guest_welcome handshake_keeping; /* asks the guest to keep its ring */
extern struct agent_link handshake_made;             /* by handshake_server_shake() */

/* Binds a socket in a new folder, and serves. answer NULL: the server hangs up. */
void handshake_server_start(struct handshake_server *server, const void *answer, size_t size);
void handshake_server_stop(struct handshake_server *server);

/* Serves one more guest, after the thread has ended. */
void handshake_server_serve(struct handshake_server *server);

/* The paths of the directory of offers, and of the file of the guest whose hello was read. */
void handshake_server_offers(const struct handshake_server *server, char path[static 128]);
void handshake_server_file(const struct handshake_server *server, char path[static 256]);

/* Shakes hands as a guest: the result of agent_handshake(). */
int handshake_server_shake(struct handshake_server *server, struct record_ring **ring,
			   uint16_t *window);

/* Returns the lowest free descriptor: the same before and after a handshake if none stayed open. */
int handshake_server_lowest_free(void);

#endif
